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

// isolation runs the inner layers and the tool on a goroutine of their own. A
// panic could be recovered without one; to survive runtime.Goexit and to leave a
// handler behind at its deadline needs it.
func (b *boundary) isolation(next endpoint) endpoint {
	return func(ctx context.Context, c *call) (*mcp.CallToolResult, error) {
		if n, refused := b.abandoned.refuses(countedAs(c.tool, b.catalog.lists(c.tool))); refused {
			return c.errorResult(b, &failure{
				kind:  "unavailable",
				text:  fmt.Sprintf("Tool %q was not run: this server is waiting for earlier calls of it that do not return.", c.tool),
				cause: fmt.Sprintf("%d abandoned handlers are still running", n),
			}), nil
		}
		limit := b.opts.deadline(c)
		ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
		defer cancel()

		run := start(func() (*mcp.CallToolResult, error) { return next(ctx, c) })
		ended, ok := run.wait(ctx)
		if !ok {
			as := countedAs(c.tool, c.definition() != nil)
			b.abandoned.add(as)
			go func() {
				late := <-run
				b.abandoned.done(as)
				b.logLate(c, late)
			}()
			return c.errorResult(b, overdue(ctx, c, limit)), nil
		}
		if f := ended.failure(c.tool); f != nil {
			return c.errorResult(b, f), nil
		}
		return ended.res, ended.err
	}
}

func (b *boundary) logLate(c *call, late outcome[*mcp.CallToolResult]) {
	if f := late.failure(c.tool); f != nil {
		b.opts.Logger.Error("abandoned tool call ended", "tool", c.loggedTool(), "requestId", c.requestID, "cause", truncated(f.cause, maxLoggedText), "stack", string(f.stack))
		return
	}
	b.opts.Logger.Warn("abandoned tool call ended", "tool", c.loggedTool(), "requestId", c.requestID, "durationMs", milliseconds(time.Since(c.start)))
}

// contain turns panics outside tool calls, in prompts, resources and handlers of
// notifications, into internal errors. There is no deadline, since
// subscriptions/listen stays open for as long as its client listens.
func (b *boundary) contain(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	run := start(func() (mcp.Result, error) { return next(ctx, method, req) })
	ended := <-run
	f := ended.failure(method)
	isNotification := strings.HasPrefix(method, "notifications/")
	if f == nil && ended.err == nil && isNil(ended.res) && !isNotification {
		f = &failure{cause: errNoResult.Error()}
	}
	if f == nil {
		return ended.res, ended.err
	}
	b.opts.Logger.LogAttrs(ctx, slog.LevelError, "request failed",
		slog.String("method", method), slog.String("cause", f.cause), slog.String("stack", string(f.stack)))
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}
