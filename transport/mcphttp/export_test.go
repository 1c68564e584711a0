package mcphttp

import ()

// OpenSessions counts the legacy sessions that a handler would close.
func OpenSessions(h *Handler) int {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	return len(h.sessions.open)
}

// LeanCalls counts the calls that went past go-sdk's HTTP layer.
func LeanCalls(h *Handler) uint64 { return h.lean.Taken() }
