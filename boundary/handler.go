package boundary

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HandlerOptions configure [Handler]. A nil *HandlerOptions is the zero value:
// nothing is retried.
type HandlerOptions struct {
	// Attempts is how often a read-only tool may run for one call. Zero means
	// once.
	Attempts int

	// Pause is the time before the second attempt; it doubles with each further
	// one. Zero means none.
	Pause time.Duration
}

func (o *HandlerOptions) normalized() HandlerOptions {
	var n HandlerOptions
	if o != nil {
		n = *o
	}
	if n.Attempts < 0 || n.Pause < 0 {
		panic(fmt.Sprintf("boundary: HandlerOptions with %d attempts and a pause of %s", n.Attempts, n.Pause))
	}
	n.Attempts = max(n.Attempts, 1)
	return n
}

// Handler is the layer that must sit inside go-sdk's typed handling, around the
// function itself:
//
//	mcp.AddTool(server, tool, boundary.Handler(lookUp, &boundary.HandlerOptions{Attempts: 3}))
//
// It runs a read-only tool again after an error that says it may succeed
// (ToolErrorRetryable), and it checks the output against the tool's schema while
// the error can still be told from the tool's own. Both need the outer layer:
// without [Install] or [Middleware] on the server it does neither.
//
// A call is never run again when the tool is not read-only, has had an effect
// ([Applied], or an error that tells of one), has asked the user anything, or
// was declined; nor is a result that asks. Nor is a request that carries a
// requestState: the first attempt may have used up what the state stands for, and
// the second would say that it is gone in place of what went wrong. Each attempt
// gets its arguments fresh.
//
// Handler panics on negative options, as mcp.AddTool does on a bad tool.
func Handler[In, Out any](h mcp.ToolHandlerFor[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	o := opts.normalized()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		c := callFrom(ctx)
		if c == nil {
			return h(ctx, req, in)
		}
		res, out, err := attempt(ctx, c, o, h, req, in)
		if err == nil {
			err = c.provenOutput(res, out)
		}
		return res, out, err
	}
}
