package options

import "sync"

// Audit is the effect: a log with one line for each lookup. How many lines a
// call leaves is what tells a safe style from an unsafe one.
type Audit struct {
	// Out takes the lines, where somebody else keeps them.
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

// Lines are the lines so far.
func (a *Audit) Lines() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.lines...)
}
