// Command bench measures the cost of mrtr and of its peers, holds
// it against the targets that were set, and draws the pictures of
// docs/performance.md:
//
//	go -C bench run .
//
// Every subject is a process of its own, and compared subjects take turns: a few
// calls of each in every round, so that whatever else the machine does weighs on
// all alike. Processor time is the subject's own (getrusage), which other processes
// disturb far less than the clock. Instructions are counted under valgrind. A
// verdict is given only where another run would give the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

// settings are the command line.
type settings struct {
	pace     pace
	quick    bool
	million  bool
	only     string
	json     bool
	pictures string // the folder, "" for none
}

func main() {
	var s settings
	flag.BoolVar(&s.quick, "quick", false, "show that every row works, in less than a minute; no verdicts, no pictures")
	flag.BoolVar(&s.million, "million", false, "hold 1,000,000 calls and resume each once, and nothing else; takes 10 GB")
	flag.StringVar(&s.only, "only", "", "measure only the rows whose section or name matches this pattern")
	flag.BoolVar(&s.json, "json", false, "print JSON in place of tables")
	flag.StringVar(&s.pictures, "pictures", "../docs", "the folder for the pictures")
	flag.Parse()
	if s.pace = full; s.quick {
		s.pace, s.pictures = quick, ""
	}
	r, err := run(s, os.Stderr)
	if err == nil {
		err = print(r, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures.
func run(s settings, progress io.Writer) (_ *report, err error) {
	pattern, err := regexp.Compile(s.only)
	if err != nil {
		return nil, err
	}
	rows, curves := chooseRows(rows(), pattern), chooseCurves(curves(), pattern)
	if s.million {
		rows, curves = aloneRows(rows), nil
	}
	if len(rows)+len(curves) == 0 {
		return nil, fmt.Errorf("no row matches %q", s.only)
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
	begun := time.Now()
	m := describeMachine(s.pace)
	found, err := w.measure(s.pace, wantedBy(rows, curves, s.million))
	if err != nil {
		return nil, err
	}
	m.finish(begun)
	r := makeReport(m, rows, curves, found, s.quick)
	return &r, nil
}

// print prints the report and draws its pictures.
func print(r *report, s settings, out io.Writer) error {
	if s.pictures != "" {
		if err := r.draw(s.pictures); err != nil {
			return err
		}
	}
	if s.json {
		return r.writeJSON(out)
	}
	return r.writeTables(out)
}
