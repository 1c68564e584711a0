package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"github.com/mrtr-go/sdk/internal/wire"
)

const showAbout = `Plays calls in memory, with a server and a client for each, and prints the
messages between them and the events on the server. Without flags it plays one
call and then prints the table of all styles.

  weather-demo                                  start here
  weather-demo -style steps                     one style, both eras and places
  weather-demo -style H -location Springfield   a style by its letter
  weather-demo -ask                             answer the questions yourself
  weather-demo -trace -style once               the messages, states decoded
  weather-demo -json                            the figures, for programs`

// show plays the selected calls; without flags, one call and then the table.
func show(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("show", flag.ContinueOnError)
	style := f.String("style", "", "play this `style` only, by its name or letter, such as native or E")
	location := f.String("location", "", "the `place` to ask about (default: Lisbon and Springfield)")
	only := f.String("era", "", "play clients of this `era` only: modern (2026-07-28) or legacy (2025-11-25)")
	ask := f.Bool("ask", false, "answer the questions of one call yourself (default: -style native -era modern -location Springfield)")
	trace := f.Bool("trace", false, "print the messages of one call, with the state decoded (default: -style native -era modern -location Lisbon)")
	asJSON := f.Bool("json", false, "print the figures of each call as JSON")
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	s := selection{styles: everyStyle(), eras: []era{modern, legacy}, locations: []string{"Lisbon", "Springfield"}}
	if err := s.narrow(*style, *only, *location); err != nil {
		return err
	}
	answers := firstChoices
	if *ask {
		s.preferOne("Springfield", *location != "")
		answers = wire.Answers{"*": newPrompter(ctx, t).answer}
	}
	switch {
	case *asJSON && (*ask || *trace):
		return usageError{"-json goes with neither -ask nor -trace"}
	case *asJSON:
		return s.json(ctx, t.out)
	case *trace:
		s.preferOne("Lisbon", *location != "")
		return s.traces(ctx, t.out, answers)
	case *ask || *style != "":
		return s.sequences(ctx, t.out, answers)
	}
	return s.overview(ctx, t.out)
}

func (s selection) json(ctx context.Context, w io.Writer) error {
	var out struct {
		Runs []*run `json:"runs"`
	}
	err := s.each(func(sc plannedCall) error {
		sc.answers = firstChoices
		r, err := sc.play(ctx)
		out.Runs = append(out.Runs, r)
		return err
	})
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// sequences plays the calls and prints the events as they happen.
func (s selection) sequences(ctx context.Context, w io.Writer, answers wire.Answers) error {
	p := painterFor(w)
	return s.each(func(sc plannedCall) error {
		fmt.Fprintf(w, "%s\n\n", p.bold(sc.title()))
		seq := sequence{w: w, paint: p, calls: map[any]bool{}}
		sc.answers, sc.watch = answers, seq.moment
		r, err := sc.play(ctx)
		if err == nil {
			fmt.Fprintf(w, "\n  %s\n\n", p.dim(r.summary()))
		}
		return err
	})
}
