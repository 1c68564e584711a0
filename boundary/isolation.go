package boundary

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// isolation runs what is inside on a goroutine of its own. Recovering a panic
// would not need one; outliving runtime.Goexit and leaving a handler behind do.
func (b *boundary) isolation(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		if n, refused := b.abandoned.refuses(countedAs(c.tool, b.catalog.lists(c.tool))); refused {
			return c.fail(b, &problem{
				kind:  "unavailable",
				text:  fmt.Sprintf("Tool %q was not run: this server is waiting for earlier calls of it that do not return.", c.tool),
				cause: fmt.Sprintf("%d abandoned handlers are still running", n),
			}), nil
		}
		limit := b.opts.deadline(c)
		var cancel context.CancelFunc
		if limit > 0 {
			ctx, cancel = context.WithTimeoutCause(ctx, limit, errDeadline)
		} else {
			ctx, cancel = context.WithCancel(ctx)
		}
		defer cancel()

		run := start(func() (*mcp.CallToolResult, error) { return next(ctx, c) })
		e, returned := run.wait(ctx)
		if !returned {
			as := countedAs(c.tool, c.definition() != nil)
			b.abandoned.add(as)
			run.whenDone(func(late ending[*mcp.CallToolResult]) {
				b.abandoned.done(as)
				b.logLate(c, late)
			})
			return c.fail(b, overdue(ctx, c, limit)), nil
		}
		if p := e.problem(c.tool); p != nil {
			return c.fail(b, p), nil
		}
		return e.res, e.err
	}
}

func (b *boundary) logLate(c *call, late ending[*mcp.CallToolResult]) {
	if p := late.problem(c.tool); p != nil {
		b.opts.Logger.Error("abandoned tool call ended", "tool", c.loggedTool(), "requestId", c.requestID, "cause", clipped(p.cause, maxLoggedText), "stack", string(p.stack))
		return
	}
	b.opts.Logger.Warn("abandoned tool call ended", "tool", c.loggedTool(), "requestId", c.requestID, "durationMs", milliseconds(time.Since(c.start)))
}

// contain keeps the panics of everything that is not a tool call: a prompt, a
// resource, a notification's handler. There is no deadline, since
// subscriptions/listen waits for as long as its client does.
func (b *boundary) contain(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	run := start(func() (mcp.Result, error) { return next(ctx, method, req) })
	e := <-run.done
	p := e.problem(method)
	if p == nil && e.err == nil && isNil(e.res) && !isNotification(method) {
		p = &problem{cause: errNoResult.Error()}
	}
	if p == nil {
		return e.res, e.err
	}
	b.opts.Logger.LogAttrs(ctx, slog.LevelError, "request failed",
		slog.String("method", method), slog.String("cause", p.cause), slog.String("stack", string(p.stack)))
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}

func isNotification(method string) bool { return strings.HasPrefix(method, "notifications/") }
