package mcphttp

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionRequestKey marks requests that the handler makes of go-sdk's handler itself. The
// caller's getServer does not hear of them: they concern sessions that exist.
type sessionRequestKey struct{}

func exceptSessionRequests(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		if r.Context().Value(sessionRequestKey{}) != nil {
			return nil
		}
		return getServer(r)
	}
}

// sessionRequest makes a request that concerns a session.
func sessionRequest(ctx context.Context, method, session string, body []byte) *http.Request {
	ctx = context.WithValue(context.WithoutCancel(ctx), sessionRequestKey{}, true)
	r, _ := http.NewRequestWithContext(ctx, method, "/", io.NopCloser(bytes.NewReader(body))) // fails on a bad method or address alone
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set(sessionHeader, session)
	return r
}

// endSession closes a session in go-sdk, and waits for its handlers.
func (h *Handler) endSession(s *session) {
	h.stateful.ServeHTTP(discard{}, sessionRequest(s.ctx, http.MethodDelete, s.id, nil))
}

// exists reports whether go-sdk knows a session. It refuses an empty body of one
// that it knows, and a session that it does not know before it reads the body.
func (h *Handler) exists(ctx context.Context, session string) bool {
	var answer status
	h.stateful.ServeHTTP(&answer, sessionRequest(ctx, http.MethodPost, session, nil))
	return answer != http.StatusNotFound
}

// discard takes the response to a request of our own.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// status takes such a response and keeps its status.
type status int

func (*status) Header() http.Header         { return http.Header{} }
func (*status) Write(p []byte) (int, error) { return len(p), nil }
func (s *status) WriteHeader(code int)      { *s = status(code) }
