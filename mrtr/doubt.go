package mrtr

import (
	"context"
	"sync"
)

// doubts remembers which doubts the observer has been told: a client that repeats a round gets
// the same answer again, but operators hear of each doubt once.
type doubts struct {
	mu   sync.Mutex
	told map[string]struct{}
}

// maxDoubts bounds the memory. When it is full, all doubts are forgotten and may be told again.
const maxDoubts = 10_000

// first reports whether the observer has not been told this doubt yet, and remembers it.
func (d *doubts) first(call, what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := call + " " + what
	if _, known := d.told[key]; known {
		return false
	}
	if d.told == nil || len(d.told) == maxDoubts {
		d.told = map[string]struct{}{}
	}
	d.told[key] = struct{}{}
	return true
}

// doubt tells the observer of effects that may or may not have happened.
func (c *Call) doubt(ctx context.Context, effects ...string) {
	if c.rt.observer == nil {
		return
	}
	for _, effect := range effects {
		if c.rt.doubts.first(c.ID(), "effect "+effect) {
			c.observe(ctx, Event{Kind: EffectInDoubt, Effect: effect})
		}
	}
}

// doubtRound tells the observer that a request was answered with an unknown outcome. A repeat
// of it is an ordinary RoundRepeated.
func (c *Call) doubtRound(ctx context.Context, err error, unknown []string) {
	if c.rt.observer == nil {
		return
	}
	e := Event{Kind: RoundUnknown, Reason: "its instance fell silent", Err: err}
	if !c.rt.doubts.first(c.ID(), "round") {
		e.Kind = RoundRepeated
	}
	c.doubt(ctx, unknown...)
	c.observe(ctx, e)
}

// doubtUndoings tells the observer of effects that an earlier run of the turn began to undo
// and never finished undoing.
func (c *Call) doubtUndoings(ctx context.Context) {
	if c.rt.observer == nil {
		return
	}
	for i := range c.st.done {
		e := &c.st.done[i]
		if e.kind != undoneEntry || !e.unknown || c.st.undoing(e.key) != e {
			continue
		}
		if effect := effectName(e.key); c.rt.doubts.first(c.ID(), "undoing "+effect) {
			c.observe(ctx, Event{Kind: StopFailed, Effect: effect, Reason: "the server was cut off while it was undone"})
		}
	}
}
