package mcphttp

import "net/http"

// Retire tells load balancers that this server is about to stop: [Handler.ServeReady]
// answers 503 from now on. Everything is served as before, since calls that are under
// way go on to come here.
func (h *Handler) Retire() { h.retired.Store(true) }

// ServeReady answers the question of a load balancer whether new clients should be sent
// here: 200 with "ready", or 503 with "not ready" after [Handler.Retire] and
// [Handler.Shutdown]. It checks no host and no origin. Mount it on a path of its own:
//
//	mux.HandleFunc("/ready", handler.ServeReady)
func (h *Handler) ServeReady(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if h.retired.Load() || h.calls.draining() {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("not ready\n")) // the asker may be gone
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}
