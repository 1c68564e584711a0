package mcphttp

import (
	"cmp"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits replace those of [usual] that are not zero.
type Limits struct {
	Initialize                          int64
	Sessions, SessionsOfOne, CallsOfOne int
	Silence, Body, Write, Heartbeat     time.Duration
}

// NewLimited is [NewHandler] with other limits.
func NewLimited(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions, l Limits) (*Handler, error) {
	return newHandler(getServer, opts, limits{
		cmp.Or(l.Initialize, usual.initialize), cmp.Or(l.Sessions, usual.sessions), cmp.Or(l.SessionsOfOne, usual.sessionsOfOne), cmp.Or(l.CallsOfOne, usual.callsOfOne),
		cmp.Or(l.Silence, usual.silence), cmp.Or(l.Body, usual.body), cmp.Or(l.Write, usual.write), cmp.Or(l.Heartbeat, usual.heartbeat),
	})
}

// NewRouterOver is [NewRouter] over another network.
func NewRouterOver(network http.RoundTripper, instances map[string]*url.URL, opts *RouterOptions) (*Router, error) {
	return newRouter(instances, opts, network)
}

// OpenSessions counts the legacy sessions that a handler would close.
func OpenSessions(h *Handler) int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.open)
}

// SessionOf is the id of the one session that is open.
func SessionOf(h *Handler) string {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	for id := range h.sessions.open {
		return id
	}
	return ""
}

// LeanCalls counts the calls that went past go-sdk's HTTP layer.
func LeanCalls(h *Handler) uint64 { return h.lean.Taken() }

// Posts counts those of sessions whose handlers run.
func Posts() (n int) {
	life.posts.Range(func(any, any) bool { n++; return true })
	return n
}
