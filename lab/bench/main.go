// Command bench measures mrtr beside its peers, and prints the table of
// docs/performance.md:
//
//	go -C lab/bench run .
//
// Servers are processes of their own. Two that are compared take turns in short blocks of
// calls, in changing order, and a ratio is that of one round, so that whatever else the
// machine does weighs on both. Processor time is that of the server's process, in user mode
// and in the kernel. Every call is checked by its text. A row says where the peer is not as
// it comes.
//
// Work that needs no second process is measured by the benchmarks of its package:
//
//	go test -bench . ./mrtr ./store
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

func main() {
	p := full
	isQuick := flag.Bool("quick", false, "show that every row works; no verdicts")
	only := flag.String("only", "", "measure only the rows whose name matches this pattern")
	flag.Parse()
	if *isQuick {
		p = quick
	}
	if err := run(p, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the rows that match, and prints each when it is measured.
func run(p pace, only string, out io.Writer) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	w, err := newWorkshop(p)
	if err != nil {
		return err
	}
	defer w.close()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupted)
	go func() {
		<-interrupted // the servers end with this process, the folder would stay
		w.close()
		os.Exit(1)
	}()
	account := describe(p)
	matched := 0
	for _, r := range rows() {
		if !pattern.MatchString(r.name) {
			continue
		}
		if matched++; matched == 1 {
			fmt.Fprintln(out, tableHead)
		}
		f, err := r.measure(w)
		if isMissing(err) {
			f, err = finding{missing: err.Error()}, nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintln(out, r.line(f, p.short))
	}
	if matched == 0 {
		return fmt.Errorf("no row matches %q", only)
	}
	fmt.Fprintf(out, "\n%s\n", account())
	return nil
}
