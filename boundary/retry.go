package boundary

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/errormethods"
	"github.com/mrtr-go/sdk/internal/snapshot"
)

// attempt runs the handler, and runs it again while the rules at [Handler] allow
// it. Each attempt gets its own copy of the input, which the one before may have
// changed.
func attempt[In, Out any](ctx context.Context, c *call, o HandlerOptions, h mcp.ToolHandlerFor[In, Out], req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
	if o.Attempts == 1 || !c.definition().readOnly() || req.Params.RequestState != "" {
		return h(ctx, req, in)
	}
	kept := snapshot.Of(in)
	pause := o.Pause
	for n := 1; ; n++ {
		res, out, err := h(ctx, req, in)
		if err == nil || n == o.Attempts || !c.mayRetry(ctx, err) {
			return res, out, err
		}
		if !sleep(ctx, pause) {
			return res, out, err
		}
		in = snapshot.Of(kept)
		pause *= 2
	}
}

// mayRetry reports whether the error allows another attempt and the call has had no
// effect and asked nothing.
func (c *call) mayRetry(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	retryable, ok := carried[errormethods.Retryable](err)
	if !ok || !retryable.ToolErrorRetryable() {
		return false
	}
	if quiet, ok := carried[errormethods.Quiet](err); ok && quiet.ToolErrorQuiet() {
		return false
	}
	if effect, ok := carried[errormethods.Effect](err); ok && effect.ToolErrorEffect() != "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.applied && !c.asked
}

// sleep is false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
