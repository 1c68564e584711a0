package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mrtr-go/sdk/internal/wire"
)

const showAbout = `Plays a call in memory, with a server and a client of its own, and tells what
passed between them and what happened on the server. Without a style the table
of all styles follows.

  weather-demo                                  start here
  weather-demo -style steps                     one style, both eras and places
  weather-demo -style H -location Springfield   a letter will do
  weather-demo -ask                             answer the questions yourself
  weather-demo -trace -style once               the wire, with states decoded
  weather-demo -json                            for programs`

// show plays one call and tells what happened, then tabulates every style.
func show(ctx context.Context, args []string, t terminal) error {
	f := flag.NewFlagSet("show", flag.ContinueOnError)
	style := f.String("style", "", "only this `style`, by its name or letter, such as native or E")
	location := f.String("location", "", "the `place` to ask about (default Lisbon and Springfield)")
	only := f.String("era", "", "only clients of this `era`, modern or legacy (default both)")
	ask := f.Bool("ask", false, "answer the questions yourself (default -era modern -location Springfield and -style native, for old clients sse_shim)")
	trace := f.Bool("trace", false, "print the wire frames, with the state decoded beside them (default -style native -era modern -location Lisbon)")
	asJSON := f.Bool("json", false, "print the runs for programs")
	if _, err := parse(f, args, t); err != nil {
		return err
	}
	s := selection{styles: everyStyle(), eras: []era{modern, legacy}, locations: []string{"Lisbon", "Springfield"}}
	if err := s.narrow(*style, *only, *location); err != nil {
		return err
	}
	answers := firstChoices
	if *ask {
		if *style == "" && s.eras[0] == legacy {
			s.styles = s.styles[1:] // the first asks no old client
		}
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
	err := s.each(func(sc scene) error {
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

// sequences plays the calls and writes down what happens when it does.
func (s selection) sequences(ctx context.Context, w io.Writer, answers wire.Answers) error {
	p := painterFor(w)
	return s.each(func(sc scene) error {
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

// isTerminal reports whether somebody may be looking at this, or typing it.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
