package main

import (
	"fmt"
	"io"
	"os"

	"github.com/mrtr-go/sdk/prove"
)

// progress is one line on a terminal that says how far the proof is.
type progress struct {
	to          io.Writer
	tried, fail int
}

func (p *progress) next(f prove.Finding) {
	p.tried++
	if f.Outcome == prove.Fail {
		p.fail++
	}
	fmt.Fprintf(p.to, "\r\x1b[K%d rules, %d failed: %s", p.tried, p.fail, f.Rule.Name)
}

func (p *progress) clear() { fmt.Fprint(p.to, "\r\x1b[K") }

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
