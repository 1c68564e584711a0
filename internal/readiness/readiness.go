// Package readiness answers a load balancer that asks whether new clients should come:
// 200 with "ready", or 503 with "not ready". Each transport answers by it, so that a
// load balancer asks all of them in one way.
package readiness

import "net/http"

// Answer writes the answer. It must not be cached, since it changes when the server is
// about to stop.
func Answer(w http.ResponseWriter, ready bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	text := "ready\n"
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "not ready\n"
	}
	_, _ = w.Write([]byte(text)) // the asker may be gone
}
