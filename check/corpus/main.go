package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

var languages = []*language{python, typescript, golang}

func main() {
	full := flag.Bool("full", false, "try every rule on the servers with a mistake too")
	only := flag.String("only", "", "prove the servers whose names contain this `text` alone")
	designs := flag.Int("designs", 3, "put each mistake behind so many designs; 0 is every one that can have it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *only, *full, *designs); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, only string, full bool, designs int) error {
	began := time.Now()
	var chosen []server
	for _, s := range servers(languages, designs) {
		if strings.Contains(s.name(), only) {
			chosen = append(chosen, s)
		}
	}
	programs, end, err := startAll(languages)
	if err != nil {
		return err
	}
	defer end()
	results := judge(ctx, programs, chosen, full, 2*runtime.GOMAXPROCS(0))
	write(out, results)
	fmt.Fprintf(out, "%s\n", time.Since(began).Round(time.Second))
	return nil
}

func startAll(languages []*language) (programs map[*language]*program, end func(), err error) {
	programs = map[*language]*program{}
	end = func() {
		for _, p := range programs {
			p.end()
		}
	}
	for _, l := range languages {
		p, err := start(l)
		if err != nil {
			end()
			return nil, nil, err
		}
		programs[l] = p
	}
	return programs, end, nil
}

// write prints each server that was judged otherwise than it must be, and the score.
func write(out io.Writer, results []judged) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, j := range results {
		ability := "alone"
		if j.able {
			ability = "all"
		}
		switch s := j.server; {
		case s.correct() && len(j.condemned()) > 0 || j.err != nil || s.correct() && len(j.failed) > 0:
			fmt.Fprintf(table, "%s\t%s\twanted %s\tgot %s\n", s.name(), ability, orNone(s.mistake.rules), j.got())
			for _, f := range j.failed {
				fmt.Fprintf(table, "\t\t\t%s\n", f.String())
			}
		case !s.correct() && !j.found():
			fmt.Fprintf(table, "%s\t%s\twanted %s\tgot %s\n", s.name(), ability, s.mistake.rules, j.got())
		}
	}
	_ = table.Flush()
	for _, able := range []bool{true, false} {
		fmt.Fprintln(out, scoreOf(results, able))
	}
}

func orNone(rules string) string {
	if rules == "" {
		return "none"
	}
	return rules
}

// score counts the servers of the corpus.
type score struct {
	able                                          bool
	mistakes, found, correct, condemned, unproved int
}

func scoreOf(results []judged, able bool) score {
	s := score{able: able}
	for _, j := range results {
		if j.able != able {
			continue
		}
		if j.err != nil {
			s.unproved++
		}
		if j.server.correct() {
			s.correct++
			if len(j.condemned()) > 0 {
				s.condemned++
			}
			continue
		}
		s.mistakes++
		if j.found() {
			s.found++
		}
	}
	return s
}

func (s score) recall() float64 { return float64(s.found) / float64(max(s.mistakes, 1)) }

func (s score) String() string {
	what := "a URL and a count of effects alone"
	if s.able {
		what = "all abilities"
	}
	return fmt.Sprintf("with %s: the right rule failed for %d of %d servers with a mistake (recall %.1f %%); %d of %d correct servers condemned by the specification; %d not proved",
		what, s.found, s.mistakes, 100*s.recall(), s.condemned, s.correct, s.unproved)
}
