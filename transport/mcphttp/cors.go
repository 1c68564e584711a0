package mcphttp

import "net/http"

// exposed are the response headers that the script of a page may read.
const exposed = "Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate"

// WithCORS lets pages of [HandlerOptions.AllowedOrigins] use next: it answers their
// preflight requests and adds the headers of the CORS protocol to the responses.
// The handler does so for itself. A server that authenticates in front of it needs
// WithCORS in front of that, because a preflight carries no token, and a page
// cannot read a refusal without these headers:
//
//	http.Handle("/mcp", h.WithCORS(auth.RequireBearerToken(verify, nil)(h)))
//
// Cookies are not allowed across origins: a page sends its token in a header.
func (h *Handler) WithCORS(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.guard.Check(r) == nil && h.preflight(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
}

// preflight adds the headers to the response to a page of a listed origin, and
// reports whether that was all that the request asked for. The request has passed
// the guard.
func (h *Handler) preflight(w http.ResponseWriter, r *http.Request) bool {
	if !h.guard.Lists() {
		return false
	}
	header := w.Header()
	header.Set("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !h.guard.Listed(origin) {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	// A tool may name headers of its own (Mcp-Param-...), and the origin is trusted.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		header.Set("Access-Control-Allow-Headers", asked)
	}
	header.Set("Access-Control-Max-Age", "7200")
	w.WriteHeader(http.StatusNoContent)
	return true
}
