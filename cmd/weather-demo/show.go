package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
)

const showAbout = `Plays calls in memory, with a server and a client for each, and prints the
messages between them and the events on the server. Without flags it shows one
call on two servers, and what happens to a charge.

  weather-demo                                  start here
  weather-demo -style basic                     the smallest handler, explained
  weather-demo -style multiround                the next one, on three servers
  weather-demo -style steps                     one style, both eras and places
  weather-demo -style H -location Springfield   a style by its letter
  weather-demo -ask                             answer the questions yourself
  weather-demo -trace -style once               the messages, states decoded
  weather-demo -json                            the figures, for programs`

// show plays the selected calls; without flags, it gives an overview.
func show(ctx context.Context, c command, args []string, t terminal) error {
	f := c.flags()
	style := f.String("style", "", "play this `style` only, by its name or letter, such as native or E; basic and multiround are the smallest handlers, explained as they run")
	location := f.String("location", "", "the `place` to ask about (default: Lisbon and Springfield)")
	only := f.String("era", "", "play clients of this `era` only: modern (2026-07-28) or legacy (2025-11-25)")
	ask := f.Bool("ask", false, "answer the questions of one call yourself (default: -style native -era modern -location Springfield)")
	trace := f.Bool("trace", false, "print the messages of one call, with the state decoded (default: -style native -era modern -location Lisbon)")
	asJSON := f.Bool("json", false, "print the figures of each call as JSON")
	if _, err := c.parse(f, args, t); err != nil {
		return err
	}
	if explained := smallest[*style]; explained != nil {
		if f.NFlag() > 1 {
			return usageError{"-style " + *style + " goes with no other flag"}
		}
		return explained(ctx, printerFor(t.out))
	}
	s := selection{styles: weather.Styles(), eras: []era{modern, legacy}, locations: []string{"Lisbon", "Springfield"}}
	if err := s.narrow(*style, *only, *location); err != nil {
		return err
	}
	p, answers := printerFor(t.out), weather.FirstChoices
	if *ask {
		s.preferOne("Springfield", *location != "")
		answers = wire.Answers{"*": newPrompter(ctx, t).answer}
	}
	switch {
	case *asJSON && (*ask || *trace):
		return usageError{"-json goes with neither -ask nor -trace"}
	case *asJSON:
		return s.json(ctx, p)
	case *trace:
		s.preferOne("Lisbon", *location != "")
		return s.traces(ctx, p, answers)
	case f.NFlag() > 0:
		return s.sequences(ctx, p, answers)
	}
	return overview(ctx, p)
}

func (s selection) json(ctx context.Context, w io.Writer) error {
	var out struct {
		Runs []*run `json:"runs"`
	}
	err := s.each(func(sc plannedCall) error {
		sc.answers = weather.FirstChoices
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
func (s selection) sequences(ctx context.Context, p printer, answers wire.Answers) error {
	return s.each(func(sc plannedCall) error {
		sc.answers, sc.watch = answers, newSequence(p, "server").moment
		return sc.print(ctx, p, "\n  %s\n\n")
	})
}

// traces prints every message of the selected calls.
func (s selection) traces(ctx context.Context, p printer, answers wire.Answers) error {
	return s.each(func(sc plannedCall) error {
		sc.answers, sc.watch = answers, tracer{p}.moment
		return sc.print(ctx, p, "%s\n\n")
	})
}

// print plays a call between its title and its summary.
func (s plannedCall) print(ctx context.Context, p printer, summary string) error {
	fmt.Fprintf(p, "%s\n\n", p.bold(s.title()))
	r, err := s.play(ctx)
	if err == nil {
		fmt.Fprintf(p, summary, p.dim(r.summary()))
	}
	return err
}

// selection is which calls to play.
type selection struct {
	styles    []options.Option
	eras      []era
	locations []string
}

// narrow applies the flags of the command line. A place may be unknown: the call
// then ends in the tool's error.
func (s *selection) narrow(style, only, location string) error {
	if style != "" {
		o, err := findStyle(style, sortedKeys(smallest)...)
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

// preferOne reduces the selection to one call.
func (s *selection) preferOne(location string, named bool) {
	s.styles, s.eras = s.styles[:1], s.eras[:1]
	if !named {
		s.locations = []string{location}
	}
}

// findStyle finds a style by its name or letter. others are the names that would fit too.
func findStyle(name string, others ...string) (options.Option, error) {
	names := others
	for _, o := range weather.Styles() {
		if strings.EqualFold(name, o.Letter) || name == o.Name || name == o.Tool() {
			return o, nil
		}
		names = append(names, o.Name)
	}
	return options.Option{}, usageError{unknown("style", name, names)}
}

// each calls f with every call of the selection.
func (s selection) each(f func(plannedCall) error) error {
	for _, o := range s.styles {
		for _, e := range s.eras {
			for _, location := range s.locations {
				if err := f(plannedCall{option: o, era: e, location: location}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// printer prints text, in colour on a terminal.
type printer struct {
	io.Writer
	paint
}

func printerFor(w io.Writer) printer {
	return printer{w, paint(isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")}
}

// paint colours text if it is true: on terminals, unless NO_COLOR is set or TERM is dumb.
type paint bool

func (p paint) with(code, s string) string {
	if !p || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) bold(s string) string   { return p.with("1", s) }
func (p paint) dim(s string) string    { return p.with("2", s) }
func (p paint) good(s string) string   { return p.with("32", s) }
func (p paint) bad(s string) string    { return p.with("31", s) }
func (p paint) effect(s string) string { return p.with("33", s) }

// lineWidth is the widest line that any command prints, except the code of compare.
const lineWidth = 80

// wrap breaks a text into lines of at most width runes, between words where
// possible. It returns at least one line.
func wrap(text string, width int) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines, line = append(lines, line), ""
			}
			if line != "" {
				line += " "
			}
			line += word
			for utf8.RuneCountInString(line) > width {
				r := []rune(line)
				lines, line = append(lines, string(r[:width])), string(r[width:])
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func shorten(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
