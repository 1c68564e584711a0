package boundary

import "context"

// The effects that an error can tell of.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
)

// Applied records that the tool has had an effect which should not happen twice.
// An error of this call after it says effect "applied", and is never retried.
// Outside a boundary it does nothing.
func Applied(ctx context.Context) {
	if c := callFrom(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.applied = true
	}
}

// effect is what an error has to say about the effect of a tool that is not
// read-only. What the error itself says counts; else a result that could not be
// delivered means the effect happened, and a fault leaves it open. A refusal
// before the tool ran, and an expected error, claim nothing.
func (c *call) effect(p *problem) string {
	if p.effect != "" {
		return p.effect
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.entered || c.def.readOnly():
		return ""
	case c.applied || p.undelivered:
		return effectApplied
	case !p.expected:
		return effectUnknown
	}
	return ""
}

// unknownEffect is for a call that was cut off: what it was about to do may have
// happened.
func (c *call) unknownEffect() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.entered || c.def.readOnly() {
		return ""
	}
	if c.applied {
		return effectApplied
	}
	return effectUnknown
}
