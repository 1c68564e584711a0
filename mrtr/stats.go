package mrtr

// Stats are the numbers of one moment, for a gauge or a page of an operator's.
type Stats struct {
	// Rounds are the requests that are being served. A call of a legacy client counts
	// while its rounds run, and not while its user is asked.
	Rounds int
	// Held are the handlers that wait for an answer, and HeldBytes the memory that
	// [Options.MaxFrameBytes] bounds. Running are the linear handlers that run now.
	Held, HeldBytes, Running int
	// Draining tells that [Runtime.Drain] was called, and Closed that the runtime is
	// closed.
	Draining, Closed bool
}

// Stats counts what the runtime does now.
func (rt *Runtime) Stats() Stats {
	t := rt.frames
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{
		Rounds: int(rt.rounds.Load()),
		Held:   t.parked.len, HeldBytes: t.all.bytes, Running: t.running.len,
		Draining: t.takesNoFrames, Closed: t.closed,
	}
}
