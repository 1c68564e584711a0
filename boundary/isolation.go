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
		ended := isolated(ctx, b, c, next)
		if ended.failed != nil {
			return c.errorResult(ended.failed), nil
		}
		return ended.res, ended.err
	}
}

// isolated runs f on a goroutine of its own, under the call's deadline, unless too
// many handlers were left behind. No code of the handler's runs after it returned.
func isolated[T any](ctx context.Context, b *boundary, c *call, f func(context.Context, *call) (T, error)) outcome[T] {
	client := c.client()
	if n, refused := b.abandoned.refuses(client, c.countedAs(b.catalog.knows(c))); refused {
		return outcome[T]{failed: &failure{
			kind:  "unavailable",
			text:  c.subject() + " was not run: this server is waiting for earlier calls of it that do not return.",
			cause: fmt.Sprintf("%d abandoned handlers are still running", n),
		}}
	}
	limit := b.opts.deadline(c)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errDeadline)
	defer cancel()

	run := start(ctx, c, f)
	ended, ok := run.wait(ctx)
	if ok {
		return ended
	}
	as := c.countedAs(c.definition() != nil || b.catalog.knows(c))
	b.abandoned.add(client, as)
	go func() {
		late := <-run
		b.abandoned.done(client, as)
		b.logLate(c, late.failed)
	}()
	return outcome[T]{failed: overdue(ctx, c, limit)}
}

func (b *boundary) logLate(c *call, f *failure) {
	attrs := []slog.Attr{slog.String(c.kind.attr, c.loggedTool()), slog.String("requestId", c.requestID)}
	level := slog.LevelWarn
	if f != nil {
		level = slog.LevelError
		attrs = append(attrs, slog.String("cause", truncated(f.cause, maxLoggedText)), slog.String("stack", string(f.stack)))
	} else {
		attrs = append(attrs, slog.Float64("durationMs", milliseconds(time.Since(c.start))))
	}
	b.sink.log(context.Background(), level, "abandoned "+c.kind.attr+" call ended", attrs...)
}

// contain turns panics in requests that run none of the author's handlers, and in
// handlers of notifications, into internal errors. There is no deadline, since
// subscriptions/listen stays open for as long as its client listens.
func (b *boundary) contain(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	run := start(ctx, nil, func(ctx context.Context, _ *call) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil && list != nil && method == methodListTools {
			return b.listed(list, req), nil
		}
		return res, err
	})
	ended := <-run
	isNotification := strings.HasPrefix(method, "notifications/")
	if ended.failed == nil && ended.err == nil && isNil(ended.res) && !isNotification {
		ended.failed = &failure{cause: errNoResult.Error()}
	}
	if ended.failed == nil {
		return ended.res, ended.err
	}
	b.sink.log(ctx, slog.LevelError, "request failed",
		slog.String("method", method), slog.String("cause", ended.failed.cause), slog.String("stack", string(ended.failed.stack)))
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: internalErrorText}
}

// listed is the list of tools that the client of a request gets.
func (b *boundary) listed(list *mcp.ListToolsResult, req mcp.Request) *mcp.ListToolsResult {
	list = b.withoutDenied(list)
	if r, ok := req.(*mcp.ListToolsRequest); ok && isLegacy(r.Session) {
		list = b.withoutForeignOutputs(list)
	}
	return list
}
