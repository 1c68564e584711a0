package boundary

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// attempt runs the handler, and again as long as the rules at [Handler] allow.
func attempt[In, Out any](ctx context.Context, c *call, o HandlerOptions, h mcp.ToolHandlerFor[In, Out], req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
	if o.Attempts == 1 || !c.definition().readOnly() || req.Params.RequestState != "" {
		return h(ctx, req, in)
	}
	// The first attempt may change what in points to.
	snapshot, err := json.Marshal(in)
	if err != nil {
		return h(ctx, req, in)
	}
	pause := o.Pause
	for n := 1; ; n++ {
		res, out, err := h(ctx, req, in)
		if err == nil || n == o.Attempts || !c.mayRetry(ctx, err) {
			return res, out, err
		}
		var fresh In
		if json.Unmarshal(snapshot, &fresh) != nil || !sleep(ctx, pause) {
			return res, out, err
		}
		in = fresh
		pause *= 2
	}
}

func (c *call) mayRetry(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	retryable, ok := carried[carriesRetryable](err)
	if !ok || !retryable.ToolErrorRetryable() {
		return false
	}
	if quiet, ok := carried[carriesQuiet](err); ok && quiet.ToolErrorQuiet() {
		return false
	}
	if effect, ok := carried[carriesEffect](err); ok && effect.ToolErrorEffect() != "" {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.applied && !c.asked
}

// noticeAsking is sending middleware: it notes that the call at hand asked its
// client something, after which running the handler again would ask again.
func noticeAsking(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch method {
		case "elicitation/create", "sampling/createMessage", "roots/list":
			if c := callFrom(ctx); c != nil {
				c.mu.Lock()
				c.asked = true
				c.mu.Unlock()
			}
		}
		return next(ctx, method, req)
	}
}

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
