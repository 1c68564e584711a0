package boundary

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/internal/usage"
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
	u := usage.Of("boundary", "HandlerOptions")
	usage.Default(u, "Attempts", &n.Attempts, 1)
	usage.Default(u, "Pause", &n.Pause, 0)
	if err := u.Err(); err != nil {
		panic(err)
	}
	return n
}

// Handler wraps a typed handler, inside go-sdk's own handling of its input and
// output:
//
//	mcp.AddTool(server, tool, boundary.Handler(lookUp, &boundary.HandlerOptions{Attempts: 3}))
//
// It runs a read-only tool again after an error that carries ToolErrorRetryable,
// and it checks the output against the tool's schema before go-sdk does, so that
// the log has the reason. On a server without [Install] it does neither. In any case
// it is [Unshared].
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
			res, out, err := h(ctx, req, in)
			return snapshot.Result(res), out, err
		}
		c.reach(ran)
		res, out, err := attempt(ctx, c, o, h, req, in)
		if err == nil {
			err = c.checkOutput(res, out)
		}
		return snapshot.Result(res), out, err
	}
}

// Unshared wraps the handler of a raw tool, a prompt or a resource that may return one
// result to several calls, as from a cache:
//
//	server.AddResource(resource, boundary.Unshared(cached))
//
// go-sdk writes to a result before any middleware sees it, which is a data race where
// calls share the result. It gets a copy of its own for each call.
func Unshared[Req mcp.Request, Res mcp.Result](h func(context.Context, Req) (Res, error)) func(context.Context, Req) (Res, error) {
	return func(ctx context.Context, req Req) (Res, error) {
		res, err := h(ctx, req)
		return snapshot.Result(res), err
	}
}

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
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, out, err
		}
		in = snapshot.Of(kept)
		pause *= 2
	}
}

// mayRetry reports whether the error allows another attempt and the call has had no
// effect and asked nothing.
func (c *call) mayRetry(ctx context.Context, err error) bool {
	if _, left := c.state(); left != untouched || ctx.Err() != nil {
		return false
	}
	return said(err, callerror.Retryable.ToolErrorRetryable) && !said(err, callerror.Quiet.ToolErrorQuiet) &&
		said(err, callerror.Effect.ToolErrorEffect) == ""
}
