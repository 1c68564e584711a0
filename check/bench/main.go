// Command bench measures the cost of mrtr and of its peers, holds it against the
// targets that were set, and prints the table of docs/performance.md:
//
//	go -C check/bench run .
//
// Every subject is a process of its own, and compared subjects take turns: a few
// calls of each in every round, so that whatever else the machine does weighs on
// all alike. Processor time is the subject's own (getrusage), which other processes
// disturb far less than the clock. Instructions are counted under valgrind. A
// verdict is given only if another run would give the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
)

func main() {
	p := full
	isQuick := flag.Bool("quick", false, "show that every row works, in less than a minute; no verdicts")
	million := flag.Bool("million", false, "hold 1,000,000 calls and resume each once, and nothing else; takes 10 GB")
	only := flag.String("only", "", "measure only the rows whose section or name matches this pattern")
	flag.Parse()
	if *isQuick {
		p = quick
	}
	r, err := run(p, *only, *million, os.Stderr)
	if err == nil {
		r.write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// choose keeps the rows whose section and name match, or those of them that are measured
// in a run of their own.
func choose(pattern *regexp.Regexp, million bool) []row {
	return slices.DeleteFunc(rows(), func(r row) bool {
		return !pattern.MatchString(r.section+": "+r.name) || million && r.alone == ""
	})
}

// run measures the rows that match.
func run(p pace, only string, million bool, progress io.Writer) (_ *report, err error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	rows := choose(pattern, million)
	if len(rows) == 0 {
		return nil, fmt.Errorf("no row matches %q", only)
	}
	w, err := newWorkshop(progress)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	go func() {
		<-interrupted // subjects end with this process, the folder would stay
		w.close()
		os.Exit(1)
	}()
	account := describe(p)
	found, err := w.measure(p, wantedBy(rows, million))
	if err != nil {
		return nil, err
	}
	return makeReport(account(), rows, found, p.short), nil
}
