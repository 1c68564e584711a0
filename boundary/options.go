package boundary

import (
	"log/slog"
	"time"
)

const (
	defaultDeadline       = 5 * time.Minute
	defaultLegacyDeadline = 60 * time.Minute
	defaultMaxAbandoned   = 64
	defaultMaxPerClient   = 16
	defaultMaxResultBytes = 1 << 20
	minResultBytes        = 1 << 10
)

// Options configure [Install]. A nil *Options is the zero value, which works. A
// negative limit is a [*UsageError]; a very large one is as good as none.
type Options struct {
	// Logger receives one record per call: a result at INFO, an error that the
	// agent can correct at WARN, a fault at ERROR. Nil means slog.Default().
	Logger *slog.Logger

	// Deadline is how long a tool, a prompt or a resource may run for one request. Zero means five
	// minutes.
	Deadline time.Duration

	// LegacyDeadline replaces Deadline on a session that asked for a revision
	// before 2026-07-28. There a tool waits for its user's answers inside the
	// one request, while a modern tool returns and is called again. Zero means
	// an hour.
	LegacyDeadline time.Duration

	// ToolDeadlines overrides both for single tools, by name. Zero is not
	// allowed here.
	ToolDeadlines map[string]time.Duration

	// PromptDeadlines and ResourceDeadlines do the same for prompts, by name, and
	// resources, by URI.
	PromptDeadlines, ResourceDeadlines map[string]time.Duration

	// MaxAbandoned is how many handlers of one tool may be left running after
	// their calls ended, by a deadline or by the client: from then on the tool is
	// refused to everybody. Once as many are left of all tools together, a client
	// that left one of a tool is refused that tool. Zero means 64.
	MaxAbandoned int

	// MaxAbandonedPerClient is how many handlers one client may leave running. From
	// then on it is refused each tool of which it left one, and other clients are
	// not. A client is a principal (TokenInfo.UserID) or, without one, a session; all
	// clients that have neither count as one. Zero means 16, or MaxAbandoned if that
	// is less.
	MaxAbandonedPerClient int

	// MaxResultBytes bounds the content and the structured content of a result as
	// JSON, with its _meta beyond the first kilobyte, and the message and data of a
	// JSON-RPC error. The boundary's own [Report], which is bounded anyway, and the
	// envelope are not counted. Zero means 1 MiB; the least is 1 KiB.
	MaxResultBytes int

	// Deny lists the tiers whose tools this process does not offer: they are
	// left out of tools/list and refused if called. A tool whose tier cannot be
	// told, because other middleware fails tools/list or hides the tool from it,
	// is refused too.
	Deny []Tier
}

func (o *Options) normalized() (Options, error) {
	var n Options
	if o != nil {
		n = *o
	}
	if n.Logger == nil {
		n.Logger = slog.Default()
	}
	if n.Deadline < 0 || n.LegacyDeadline < 0 || n.MaxAbandoned < 0 || n.MaxAbandonedPerClient < 0 {
		return Options{}, misuse("Deadline, LegacyDeadline, MaxAbandoned and MaxAbandonedPerClient must not be negative")
	}
	if n.Deadline == 0 {
		n.Deadline = defaultDeadline
	}
	if n.LegacyDeadline == 0 {
		n.LegacyDeadline = defaultLegacyDeadline
	}
	if n.MaxAbandoned == 0 {
		n.MaxAbandoned = defaultMaxAbandoned
	}
	if n.MaxAbandonedPerClient == 0 {
		n.MaxAbandonedPerClient = min(defaultMaxPerClient, n.MaxAbandoned)
	}
	if n.MaxResultBytes == 0 {
		n.MaxResultBytes = defaultMaxResultBytes
	}
	if n.MaxResultBytes < minResultBytes {
		return Options{}, misuse("MaxResultBytes is %d, must be at least %d", n.MaxResultBytes, minResultBytes)
	}
	for option, deadlines := range map[string]map[string]time.Duration{
		"ToolDeadlines": n.ToolDeadlines, "PromptDeadlines": n.PromptDeadlines, "ResourceDeadlines": n.ResourceDeadlines,
	} {
		for name, d := range deadlines {
			if d <= 0 {
				return Options{}, misuse("%s[%q] is %s, must be positive", option, name, d)
			}
		}
	}
	for _, t := range n.Deny {
		if t != ReadOnly && t != Write && t != Destructive {
			return Options{}, misuse("Deny holds %q, which is not a tier", string(t))
		}
	}
	return n, nil
}
