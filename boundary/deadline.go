package boundary

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settle is how long a handler whose context has ended may still take to return,
// so that one that respects its context can report its own error.
const settle = 100 * time.Millisecond

var errDeadline = errors.New("the tool's deadline has passed")

// deadline is how long the tool may run for this call.
func (o *Options) deadline(c *call) time.Duration {
	single := o.ToolDeadlines
	switch c.kind {
	case promptCall:
		single = o.PromptDeadlines
	case resourceCall:
		single = o.ResourceDeadlines
	}
	if d, ok := single[c.tool]; ok {
		return d
	}
	if c.legacy {
		return o.LegacyDeadline
	}
	return o.Deadline
}

// overdue is the failure of a call whose handler did not return in time, after its
// deadline or after the client cancelled it.
func overdue(ctx context.Context, c *call, limit time.Duration) *failure {
	if context.Cause(ctx) == errDeadline {
		return &failure{
			kind:  "timeout",
			text:  fmt.Sprintf("%s did not finish within %s.", c.subject(), limit),
			cause: errDeadline.Error(),
		}
	}
	return &failure{kind: "cancelled", text: fmt.Sprintf("The call of %s %q was cancelled.", c.kind.attr, c.loggedTool()), expected: true, quiet: true, effect: c.unknownEffect()}
}
