package boundary

import (
	"log/slog"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
)

const minResultBytes = 1 << 10

// A UsageError is a mistake in the code that uses this package. [Install] returns
// it, and [Handler] panics with it.
type UsageError = usage.Error

func misuse(format string, args ...any) error { return usage.New("boundary", format, args...) }

// Options configure [Install]. A nil *Options is the zero value, which works. A
// negative limit is a [*UsageError]; a very large one is as good as none.
type Options struct {
	// Logger receives one record per call: a result at INFO, an error that the
	// agent can correct at WARN, a fault at ERROR. Nil means slog.Default().
	Logger *slog.Logger

	// Deadline is how long a tool, a prompt, a resource or anything else may run for one
	// request. Zero means five minutes.
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
	// then on that client alone is refused each tool that it left a handler of. A
	// client is a principal (TokenInfo.UserID) or, without one, a session; all clients
	// that have neither count as one. Zero means 16, or MaxAbandoned if that is less.
	MaxAbandonedPerClient int

	// MaxResultBytes bounds the content and the structured content of a result as
	// JSON, with its _meta beyond the first kilobyte, and the message and data of a
	// JSON-RPC error. The boundary's own [Report], which is bounded anyway, and the
	// envelope are not counted. Zero means 1 MiB; the least is 1 KiB.
	MaxResultBytes int

	// Deny lists the tiers whose tools this process does not offer: they are
	// left out of tools/list and refused if called. A tool of unknown tier, because
	// other middleware fails tools/list or hides the tool from it, is refused too.
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
	u := usage.Of("boundary", "Options")
	usage.Default(u, "Deadline", &n.Deadline, 5*time.Minute)
	usage.Default(u, "LegacyDeadline", &n.LegacyDeadline, time.Hour)
	usage.Default(u, "MaxAbandoned", &n.MaxAbandoned, 64)
	usage.Default(u, "MaxAbandonedPerClient", &n.MaxAbandonedPerClient, min(16, n.MaxAbandoned))
	usage.Default(u, "MaxResultBytes", &n.MaxResultBytes, 1<<20)
	if err := u.Err(); err != nil {
		return Options{}, err
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
