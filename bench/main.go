// Command bench measures mrtr and the code it is compared with, and prints the
// tables of docs/performance.md:
//
//	go -C bench run .
//
// The benchmarks are ordinary ones, in this folder and in the packages they
// measure. Each runs briefly in a process of its own, in many rounds: in order in
// one round and in reverse order in the next, so that other load on the machine
// affects both sides of a comparison. Whole calls are made in turns in one
// process, since they differ by little. A ratio is taken within a round; the
// tables show the median of the rounds and, in brackets, its 95% confidence
// interval.
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
