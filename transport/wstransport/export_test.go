package wstransport

import "time"

// WithCloseGrace shortens the wait for the answer to a close frame.
func (l Limits) WithCloseGrace(grace time.Duration) Limits {
	l.closeGrace = grace
	return l
}

// HasCloseGrace reports whether the grace was shortened.
func (l Limits) HasCloseGrace() bool { return l.closeGrace != 0 }

// Unread is how many bytes wait for the clients of a handler to read.
func (h *Handler) Unread() (bytes int64) {
	for _, c := range h.conns() {
		bytes += c.unread.Load()
	}
	return bytes
}
