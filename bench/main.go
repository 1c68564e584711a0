// Command bench measures what mrtr costs, beside what it is compared with, and
// prints the table that docs/performance.md quotes:
//
//	go -C bench run .
//
// The benchmarks are ordinary ones, in this folder and in the packages they
// measure. Each is run in a process of its own, for a moment, many rounds over:
// forwards in one round and backwards in the next, so that whatever else the
// machine does weighs on both sides of a comparison alike. Whole calls, whose
// differences are small beside what they cost, are made in turns in one
// process. A ratio is taken within a round; what is printed is the median of
// the rounds and, in brackets, between which two values it lies with 95%
// confidence.
//
// Nothing fails on a figure.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 20, "how often everything is measured")
	moment := flag.String("benchtime", "150ms", "how long each time, as go test has it")
	only := flag.String("only", "", "measure only the figures whose section or name matches this pattern")
	raw := flag.String("raw", "", "also write what the benchmarks printed to this file, for benchstat")
	from := flag.String("from", "", "measure nothing: make the table of such a file")
	flag.Parse()
	if err := run(*rounds, *moment, *only, *raw, *from); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(rounds int, moment, only, raw, from string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	chosen := choose(pattern)
	if len(chosen) == 0 {
		return fmt.Errorf("no figure matches %q", only)
	}
	if from != "" {
		printed, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return report(os.Stdout, chosen, string(printed))
	}
	if rounds < 1 {
		return fmt.Errorf("%d rounds measure nothing", rounds)
	}
	var printed strings.Builder
	var out io.Writer = &printed
	if raw != "" {
		file, err := os.Create(raw)
		if err != nil {
			return err
		}
		defer file.Close()
		out = io.MultiWriter(&printed, file)
	}
	begun := time.Now()
	describeMachine(out, rounds, moment)
	if err := measure(out, os.Stderr, contendersOf(chosen), rounds, moment); err != nil {
		return err
	}
	fmt.Fprintf(out, "load-after: %s\nminutes: %.0f\n", load(), time.Since(begun).Minutes())
	return report(os.Stdout, chosen, printed.String())
}
