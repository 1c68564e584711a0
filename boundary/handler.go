package boundary

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HandlerOptions configure [Handler]. A nil *HandlerOptions is the zero value:
// nothing is retried. Negative values are a [*UsageError].
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
		panic(misuse("HandlerOptions with %d attempts and a pause of %s", n.Attempts, n.Pause))
	}
	n.Attempts = max(n.Attempts, 1)
	return n
}

// Handler wraps a typed handler, inside go-sdk's own handling of its input and
// output:
//
//	mcp.AddTool(server, tool, boundary.Handler(lookUp, &boundary.HandlerOptions{Attempts: 3}))
//
// It runs a read-only tool again after an error that carries ToolErrorRetryable,
// and it checks the output against the tool's schema before go-sdk does, so that
// the log has the reason. On a server without [Install] it does neither.
//
// Each attempt gets its own copy of the arguments. A tool is not run again if it is
// not read-only, has had an effect ([Applied], or an error that reports one), has
// asked the user anything, was declined or returned a result. Nor is it for a
// request that carries a requestState: the first attempt may have used the state up,
// and the error of the second would hide the real one.
//
// Handler panics with a [*UsageError] on negative options, as mcp.AddTool panics on
// a bad tool.
func Handler[In, Out any](h mcp.ToolHandlerFor[In, Out], opts *HandlerOptions) mcp.ToolHandlerFor[In, Out] {
	o := opts.normalized()
	return func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		c := callFrom(ctx)
		if c == nil {
			return h(ctx, req, in)
		}
		c.mu.Lock()
		c.ran = true
		c.mu.Unlock()
		res, out, err := attempt(ctx, c, o, h, req, in)
		if err == nil {
			err = c.checkOutput(res, out)
		}
		return res, out, err
	}
}
