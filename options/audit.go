package options

import "sync"

// Audit is the tool's effect: one line for each lookup. A safe style leaves one
// line for each completed call, an unsafe one leaves more.
type Audit struct {
	// Out gets each line, if it is set. Then Lines stays empty.
	Out func(line string)

	mu    sync.Mutex
	lines []string
}

// Record writes one line.
func (a *Audit) Record(place string) {
	line := "looked up " + place
	if a.Out != nil {
		a.Out(line)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
}

// Lines is a copy of the lines so far.
func (a *Audit) Lines() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.lines...)
}
