package mcphttp

import (
	"net/http"

	"github.com/mrtr-go/sdk/internal/readiness"
)

// Retire tells load balancers that this server is about to stop: [Handler.ServeReady]
// answers 503 from now on. Everything is served as before, since calls that are under
// way go on to come here.
func (h *Handler) Retire() { h.retired.Store(true) }

// Ready reports whether new clients should be sent here: until [Handler.Retire] or
// [Handler.Shutdown].
func (h *Handler) Ready() bool { return !h.retired.Load() && !h.calls.draining() }

// ServeReady answers a load balancer that asks whether new clients should be sent here:
// 200 with "ready", or 503 with "not ready" where [Handler.Ready] is false. It checks no
// host and no origin. Mount it on a path of its own:
//
//	mux.HandleFunc("/ready", handler.ServeReady)
//
// wstransport.Handler has the same three methods. A server that has both lets the load
// balancer ask one of them, and retires both.
func (h *Handler) ServeReady(w http.ResponseWriter, _ *http.Request) {
	readiness.Answer(w, h.Ready())
}
