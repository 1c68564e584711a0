package wstransport

import "time"

// WithCloseGrace shortens the wait for the answer to a close frame.
func (l Limits) WithCloseGrace(grace time.Duration) Limits {
	l.closeGrace = grace
	return l
}

// HasCloseGrace reports whether the grace was shortened.
func (l Limits) HasCloseGrace() bool { return l.closeGrace != 0 }
