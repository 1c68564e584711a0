package mcphttp

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
