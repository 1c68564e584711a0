package boundary

import (
	"fmt"
	"log/slog"
	"time"
)

const (
	defaultDeadline       = 5 * time.Minute
	defaultLegacyDeadline = 60 * time.Minute
	defaultMaxAbandoned   = 64
	defaultMaxResultBytes = 1 << 20
	minResultBytes        = 1 << 10
)

// Options configure a boundary. A nil *Options is the zero value, and the zero
// value works.
type Options struct {
	// Logger receives one record a call; nil means slog.Default(). A result is
	// logged at INFO, an error the agent can correct at WARN, a fault at ERROR.
	Logger *slog.Logger

	// Deadline is how long a tool may run for one request. Zero means five
	// minutes, negative no limit.
	Deadline time.Duration

	// LegacyDeadline is the same for a session that asked for a revision before
	// 2026-07-28. There a tool waits for its user's answers inside the one
	// request, while a modern one has returned and is called again: it has to
	// hold all the time that people take over a call's questions. Zero means an
	// hour, negative no limit.
	LegacyDeadline time.Duration

	// ToolDeadlines overrides both for single tools, by name.
	ToolDeadlines map[string]time.Duration

	// MaxAbandoned is the number of handlers left running after their calls
	// ended at which a tool that has one of them is refused. Zero means 64. Tools
	// that have none go on: with every tool of a server hanging there is at most
	// one more for each. Calls already under way when the number is reached can
	// still exceed it. It makes no difference whether a deadline or the client
	// ended a call: the handler that was left holds as much.
	MaxAbandoned int

	// MaxResultBytes bounds the content and the structured content of a result,
	// as JSON; its _meta and its envelope come on top. Zero means 1 MiB,
	// negative no limit; the least limit is 1 KiB.
	MaxResultBytes int

	// Deny lists the tiers whose tools this process does not offer: they are
	// absent from tools/list and refused if called. So is every tool whose tier
	// the process cannot tell, because the server's other middleware fails
	// tools/list or keeps the tool out of it.
	Deny []Tier

	// BareKeys adds error_type, expected and suggestion to the _meta of error
	// results, for agents that read those.
	BareKeys bool
}

func (o *Options) normalized() (Options, error) {
	var n Options
	if o != nil {
		n = *o
	}
	if n.Logger == nil {
		n.Logger = slog.Default()
	}
	n.Logger = slog.New(calmHandler{n.Logger.Handler()})
	if n.Deadline == 0 {
		n.Deadline = defaultDeadline
	}
	if n.LegacyDeadline == 0 {
		n.LegacyDeadline = defaultLegacyDeadline
	}
	switch {
	case n.MaxAbandoned < 0:
		return Options{}, fmt.Errorf("boundary: MaxAbandoned is %d, must not be negative", n.MaxAbandoned)
	case n.MaxAbandoned == 0:
		n.MaxAbandoned = defaultMaxAbandoned
	}
	switch {
	case n.MaxResultBytes == 0:
		n.MaxResultBytes = defaultMaxResultBytes
	case n.MaxResultBytes > 0 && n.MaxResultBytes < minResultBytes:
		return Options{}, fmt.Errorf("boundary: MaxResultBytes is %d, must be at least %d", n.MaxResultBytes, minResultBytes)
	}
	for name, d := range n.ToolDeadlines {
		if d == 0 {
			return Options{}, fmt.Errorf("boundary: ToolDeadlines[%q] is zero: use a negative duration for no limit", name)
		}
	}
	for _, t := range n.Deny {
		if t != ReadOnly && t != Write && t != Destructive {
			return Options{}, fmt.Errorf("boundary: Deny holds %q, which is no tier", string(t))
		}
	}
	return n, nil
}
