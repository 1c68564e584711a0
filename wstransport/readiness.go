package wstransport

import (
	"net/http"

	"github.com/mrtr-go/sdk/internal/readiness"
)

// Retire tells load balancers that this server is about to stop: [Handler.ServeReady]
// answers 503 from now on. Everything is served as before, new connections included,
// since a client whose connection broke may come back for a call that is under way.
func (h *Handler) Retire() { h.retired.Store(true) }

// Ready reports whether new clients should be sent here: until [Handler.Retire] or
// [Handler.Shutdown].
func (h *Handler) Ready() bool { return !h.retired.Load() && !h.isClosing() }

// ServeReady answers a load balancer that asks whether new clients should be sent here:
// 200 with "ready", or 503 with "not ready" where [Handler.Ready] is false. It is a plain
// HTTP answer without an upgrade, and checks no host and no origin. Mount it on a path of
// its own:
//
//	mux.HandleFunc("/ready", handler.ServeReady)
//
// mcphttp.Handler has the same three methods.
func (h *Handler) ServeReady(w http.ResponseWriter, _ *http.Request) {
	readiness.Answer(w, h.Ready())
}
