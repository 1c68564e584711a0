package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

// progress says how far the proof is: on a terminal in one line that is drawn over and over,
// elsewhere in a line now and then.
type progress struct {
	to     io.Writer
	redraw bool
	level  prove.Level // of the rules that decide

	mu          sync.Mutex
	tried, fail int
	last        string
}

// start returns what ends it.
func (p *progress) start() (stop func()) {
	if p.redraw {
		return func() { fmt.Fprint(p.to, clearLine) }
	}
	return nowAndThen(func(after time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(p.to, "mrtr prove: %s after %s\n", p, after.Round(time.Second))
	})
}

// often is enough to see that a CI is not stuck.
const often = 10 * time.Second

// nowAndThen has something said every ten seconds, until it is stopped.
func nowAndThen(say func(after time.Duration)) (stop func()) {
	ticker, done := time.NewTicker(often), make(chan struct{})
	var said sync.WaitGroup
	said.Go(func() {
		for begin := time.Now(); ; {
			select {
			case now := <-ticker.C:
				say(now.Sub(begin))
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		said.Wait()
	}
}

func (p *progress) next(f prove.Finding) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried++
	if f.Outcome == prove.Fail && p.level.Covers(f.Rule.Level) {
		p.fail++
	}
	p.last = f.Rule.Name
	if p.redraw {
		fmt.Fprint(p.to, clearLine, p)
	}
}

func (p *progress) String() string {
	if p.last == "" {
		return "no rule yet"
	}
	return fmt.Sprintf("%d rules, %d failed: %s", p.tried, p.fail, p.last)
}

const clearLine = "\r\x1b[K"

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
