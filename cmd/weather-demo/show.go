package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/mrtr-go/sdk/options"
)

// show plays one call and tells what happened, then tabulates every style.
func show(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("show", flag.ContinueOnError)
	style := f.String("style", "", "only this `style`, such as native or E")
	location := f.String("location", "", "the `place` to ask about (if empty, Lisbon and Springfield)")
	only := f.String("era", "", "only clients of this `era`: modern or legacy")
	trace := f.Bool("trace", false, "print the wire frames, with the state decoded beside them")
	asJSON := f.Bool("json", false, "print the runs for programs")
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	s := selection{styles: everyStyle(), eras: []era{modern, legacy}, locations: []string{"Lisbon", "Springfield"}}
	if err := s.narrow(*style, *only, *location); err != nil {
		return err
	}
	switch {
	case *asJSON:
		return s.json(ctx, t.out)
	case *trace:
		return s.trace(ctx, t.out)
	case *style != "":
		return s.sequences(ctx, t.out)
	}
	return s.overview(ctx, t.out)
}

// selection is which calls to play.
type selection struct {
	styles    []options.Option
	eras      []era
	locations []string
}

func (s *selection) narrow(style, only, location string) error {
	if style != "" {
		o, err := findStyle(style)
		if err != nil {
			return err
		}
		s.styles = []options.Option{o}
	}
	switch only {
	case "":
	case string(modern), string(legacy):
		s.eras = []era{era(only)}
	default:
		return usageError{unknown("era", only, []string{string(modern), string(legacy)})}
	}
	if location != "" {
		s.locations = []string{location}
	}
	return nil
}

func findStyle(name string) (options.Option, error) {
	var names []string
	for _, o := range everyStyle() {
		if strings.EqualFold(name, o.Letter) || name == o.Name || name == o.Tool() {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return options.Option{}, usageError{unknown("style", name, names)}
}

// each plays every call of the selection.
func (s selection) each(ctx context.Context, f func(*recorded) error) error {
	for _, o := range s.styles {
		for _, e := range s.eras {
			for _, location := range s.locations {
				r, err := playRecorded(ctx, o, e, location)
				if err != nil {
					return fmt.Errorf("%s: %w", o.Tool(), err)
				}
				if err := f(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s selection) json(ctx context.Context, w io.Writer) error {
	var out struct {
		Runs []*run `json:"runs"`
	}
	if err := s.each(ctx, func(r *recorded) error { out.Runs = append(out.Runs, r.run); return nil }); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func (s selection) sequences(ctx context.Context, w io.Writer) error {
	p := painterFor(w)
	return s.each(ctx, func(r *recorded) error {
		fmt.Fprintln(w, p.bold(r.title()))
		fmt.Fprintln(w)
		sequence{w, p}.write(r.moments)
		fmt.Fprintf(w, "\n  %s\n\n", p.dim(r.summary()))
		return nil
	})
}

// overview is what somebody sees who has never heard of any of this.
func (s selection) overview(ctx context.Context, w io.Writer) error {
	p := painterFor(w)
	first := selection{s.styles[:1], s.eras[:1], s.locations[:1]}
	fmt.Fprint(w, intro)
	if err := first.sequences(ctx, w); err != nil {
		return err
	}
	rows, err := tabulate(ctx, s)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, tableIntro, strings.Join(s.locations, " and "))
	writeTable(w, p, rows)
	fmt.Fprint(w, outro)
	return nil
}

const intro = `A tool that needs to ask its user cannot wait for the answer: it returns the
question and a sealed state, and the client calls it again, from the top.

`

const tableIntro = `The same tool in every style. Figures are for %s; audits
should be 1 for each call, and B and N are here to show how they come to be 2.

`

const outro = `
Try next:
  weather-demo -location Springfield -style steps   two questions, step by step
  weather-demo -style coroutine -era legacy         a client from before
  weather-demo -trace -style native                 what is on the wire
  weather-demo multiround                           each round on another server
  weather-demo help                                 everything else
`
