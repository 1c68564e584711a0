package boundary

import (
	"context"
	"encoding/json"
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

// provenOutput checks what go-sdk is about to make of out. It is silent where
// go-sdk would put something else in its place: a nil pointer becomes a zero
// value, and an input_required result has no output.
func (c *call) provenOutput(res *mcp.CallToolResult, out any) error {
	def := c.definition()
	if !def.hasOutput() || isNil(out) || res != nil && (res.InputRequests != nil || res.IsError) {
		return nil
	}
	data, err := json.Marshal(out)
	if err == nil {
		if err = def.checkOutput(data); err == nil {
			c.mu.Lock()
			c.outputChecked = true
			c.mu.Unlock()
			return nil
		}
	}
	return &outputError{err}
}

// outputError is an output that cannot be sent. The tool has run.
type outputError struct{ cause error }

func (e *outputError) Error() string           { return undeliverableText }
func (e *outputError) Unwrap() error           { return e.cause }
func (e *outputError) ToolErrorType() string   { return "invalid_output" }
func (e *outputError) ToolErrorExpected() bool { return false }
