package mcphttp

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
	"github.com/mrtr-go/sdk/internal/progress"
)

// requestKey is for the context of a request with whose end its calls end.
type requestKey struct{}

func endsCalls(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context()))
}

// lifetimes let the handlers of a legacy request end with their request. go-sdk does so
// for modern requests alone. A middleware finds the request of a call: without a
// session in the values of its context, and in a session by the post that a header
// names.
type lifetimes struct {
	posts *posts
	mu    sync.Mutex
	bound map[weak.Pointer[mcp.Server]]bool
}

// bind binds the calls of each server that getServer names to their requests, once, and
// orders what their clients are told of them.
func (t *lifetimes) bind(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		server := getServer(r)
		if server != nil {
			progress.Order(server)
		}
		if server != nil && r.Header.Get(versionHeader) < era.FirstModern {
			t.install(server)
		}
		return server
	}
}

func (t *lifetimes) install(server *mcp.Server) {
	p := weak.Make(server)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bound[p] {
		return
	}
	t.bound[p] = true
	runtime.AddCleanup(server, t.forget, p)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
				ctx, cancel := context.WithCancelCause(ctx)
				defer cancel(nil)
				defer context.AfterFunc(request, func() { cancel(context.Cause(request)) })()
				return next(ctx, method, req)
			}
			if p := t.posts.of(req); p != nil && !strings.HasPrefix(method, "notifications/") {
				ctx, done := p.begin(ctx)
				defer done()
				return next(ctx, method, req)
			}
			return next(ctx, method, req)
		}
	})
}

func (t *lifetimes) forget(p weak.Pointer[mcp.Server]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.bound, p)
}
