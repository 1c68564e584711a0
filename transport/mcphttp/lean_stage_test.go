package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// stage is a front, with a server behind it, where a request meets its fate.
type stage struct {
	fate
	start time.Time

	mu      sync.Mutex
	account account // guarded by mu
}

func (s *stage) now() time.Duration { return time.Since(s.start) }

type fatedKey struct{}

// isFated tells the request with a fate from the one before it, by which the front learns
// of the server and the arguments.
func isFated(ctx context.Context) bool { return ctx.Value(fatedKey{}) != nil }

// wait is the outermost middleware.
func (s *stage) wait(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if isFated(ctx) {
			time.Sleep(s.waits)
		}
		return next(ctx, method, req)
	}
}

// handle is the innermost middleware. The handler has its result at once, and takes its
// time to return it.
func (s *stage) handle(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if !isFated(ctx) {
			return next(ctx, method, req)
		}
		h := s.begin(ctx, method)
		defer h.end()
		over := ctx.Done()
		if s.heeds == ignores {
			over = nil
		} else if ctx.Err() != nil {
			return s.stopped(ctx)
		}
		result, err := next(ctx, method, req)
		h.saw(result, err)
		for i, part := range s.works {
			select {
			case <-over:
				return s.stopped(ctx)
			case <-time.After(part):
			}
			if s.tells {
				told := req.GetSession().(*mcp.ServerSession).NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "p", Progress: float64(i)})
				h.Told = append(h.Told, fmt.Sprint(told))
			}
		}
		return result, err
	}
}

// play lets the fate of a request happen, on one of the ways.
func (f fate) play(t *testing.T, p post, stock bool, wrap func(http.Handler) http.Handler) account {
	s := &stage{fate: f}
	synctest.Test(t, func(t *testing.T) {
		s.start = time.Now()
		server := leanSubjectWith(&mcp.ServerOptions{KeepAlive: f.keepAlive})
		server.AddReceivingMiddleware(s.handle)
		h := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{StockFront: stock, Heartbeat: f.heartbeat}))(t)
		front := wrap(h)
		serve(front, p)
		server.AddReceivingMiddleware(s.wait)

		var all sync.WaitGroup
		send := func(ctx context.Context) *received {
			before := leanCalls(h, stock)
			w := newReceived(s.start)
			s.account.Received = append(s.account.Received, w)
			all.Go(func() {
				front.ServeHTTP(w, p.request().WithContext(context.WithValue(ctx, fatedKey{}, true)))
				w.finish()
			})
			synctest.Wait()
			w.lean = leanCalls(h, stock) > before
			return w
		}
		if f.shutsDown > 0 {
			all.Go(func() {
				time.Sleep(f.shutsDown)
				ctx, cancel := context.WithTimeout(t.Context(), f.patience)
				defer cancel()
				s.account.Shutdown = fmt.Sprint(h.Shutdown(ctx))
				s.account.ShutDown = s.now()
			})
		}
		ctx, hangUp := context.WithCancelCause(t.Context())
		defer hangUp(nil)
		if f.gone {
			hangUp(f.why)
		}
		client := send(ctx)
		if f.hangsUp > 0 {
			time.Sleep(f.hangsUp)
			client.leave()
			hangUp(f.why)
		}
		if f.again > 0 {
			time.Sleep(f.again)
			serve(front, p) // what the front knows of arguments is too old
			send(t.Context())
		}
		all.Wait()
		over := s.now()
		require.NoError(t, h.Shutdown(t.Context()))
		require.Equal(t, over, s.now(), "a call did not give its place back")
	})
	return s.account
}

func leanCalls(h *mcphttp.Handler, stock bool) uint64 {
	if stock {
		return 0
	}
	return mcphttp.LeanCalls(h)
}
