package boundary

import "context"

// The effects that an error can report.
const (
	effectApplied = "applied"
	effectUnknown = "unknown"
	effectNone    = "none" // nothing to report, as of an error of middleware that ran no tool
)

// Applied records that the tool has had an effect which must not happen twice.
// A later error of this call reports effect "applied", and the tool is not run
// again. Outside a boundary Applied does nothing.
func Applied(ctx context.Context) {
	if c := callFrom(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.applied = true
	}
}

// effect is the effect to report with a failure of a tool that is not read-only.
// The error's own word counts first. A result that could not be delivered means
// that the effect happened; a fault leaves it unknown. A refusal before the tool
// ran, and an expected error, report none.
func (c *call) effect(f *failure) string {
	if f.effect != "" {
		return f.effect
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.entered || c.def.readOnly():
		return ""
	case f.beforeHandler && !c.applied:
		return ""
	case c.applied || f.undelivered:
		return effectApplied
	case !f.expected:
		return effectUnknown
	}
	return ""
}

// unknownEffect is the effect to report for a call that was cut off, unless the
// tool did not run or is read-only.
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
