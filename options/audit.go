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

// Record writes the line of a lookup.
func (a *Audit) Record(place string) { a.write("looked up " + place) }

// Charge writes the line of a charge, for tools that act when all is answered.
func (a *Audit) Charge(place string) { a.write("charged the card for " + place) }

func (a *Audit) write(line string) {
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
