package mcphttp

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// requestKey is for the context of a request with whose end its calls end.
type requestKey struct{}

func endsCalls(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context()))
}

// ties cancel the calls of legacy requests without a session when their request
// ends. go-sdk does so for modern requests alone, and nothing can be sent to a
// session that has no id. The values of a request's context reach its calls, so a
// middleware finds the request there.
type ties struct {
	mu   sync.Mutex
	tied map[weak.Pointer[mcp.Server]]bool
}

// tie ties the calls of each server that getServer names, once.
func (t *ties) tie(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	t.tied = map[weak.Pointer[mcp.Server]]bool{}
	return func(r *http.Request) *mcp.Server {
		server := getServer(r)
		if server != nil && r.Context().Value(requestKey{}) != nil {
			t.install(server)
		}
		return server
	}
}

func (t *ties) install(server *mcp.Server) {
	p := weak.Make(server)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tied[p] {
		return
	}
	t.tied[p] = true
	runtime.AddCleanup(server, t.forget, p)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			request, ok := ctx.Value(requestKey{}).(context.Context)
			if !ok {
				return next(ctx, method, req)
			}
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(request, func() { cancel(context.Cause(request)) })()
			return next(ctx, method, req)
		}
	})
}

func (t *ties) forget(p weak.Pointer[mcp.Server]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tied, p)
}
