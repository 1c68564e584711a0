package boundary

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settle is how long a handler whose context has ended may still take to return.
// One that minds its context gets to say its own last words.
const settle = 100 * time.Millisecond

var errDeadline = errors.New("the tool's deadline has passed")

// deadline is the time that the call's tool may run; negative means no limit.
func (o *Options) deadline(c *call) time.Duration {
	if d, ok := o.ToolDeadlines[c.tool]; ok {
		return d
	}
	if c.legacy() {
		return o.LegacyDeadline
	}
	return o.Deadline
}

func overdue(ctx context.Context, c *call, limit time.Duration) *problem {
	if context.Cause(ctx) == errDeadline {
		return &problem{
			kind:  "timeout",
			text:  fmt.Sprintf("Tool %q did not finish within %s.", c.tool, limit),
			cause: errDeadline.Error(),
		}
	}
	return &problem{kind: "cancelled", text: fmt.Sprintf("The call of tool %q was cancelled.", c.tool), expected: true, quiet: true, effect: c.unknownEffect()}
}
