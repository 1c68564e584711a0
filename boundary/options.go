// Package boundary makes every call of a go-sdk server's tools, prompts and resources
// end in exactly one well-formed result. A call without one costs more than its own answer: a model's
// API rejects a conversation in which a tool_use has no tool_result.
//
//	err := boundary.Install(server, nil) // after the server's other middleware
//
// Each call of a tool then ends as a complete result, an input_required result, an
// error result (isError) in words that the agent can act on, or a JSON-RPC error
// that the tool intended. Questions and intended errors pass unchanged. Complete and
// error results get a [Report] in their _meta, and errors their hints as a last text.
//
// # The layers
//
// [Layers] names them; each has a file of its name. From the outside in:
//
//   - isolation turns a panic, runtime.Goexit and a missed [Options.Deadline] into
//     error results. The cause and the stack go to the log. A handler that misses
//     its deadline is left behind, with its context cancelled; [Options.MaxAbandoned]
//     bounds how many. It writes one record per call, with sizes and digests in place
//     of values.
//   - sizelimit keeps the end of a result that is too large.
//   - normalize replaces a result that cannot be sent, or breaks the tool's output
//     schema, by an error result, and reads errors.
//   - tiers refuses and hides the tools of a denied [Tier].
//   - arguments judges the arguments by the tool's schema: all problems at once, by
//     JSON pointer, without the values.
//
// For a modern client, a result of a resultType that the boundary does not know, such as a
// task, passes all of them as it is, if it marshals and is not too large.
//
// [Handler] wraps a single tool, for retries and an earlier check of its output.
//
// Prompts and resources get the same isolation, deadlines and limits, and the same
// checks of their results. They have no error results: a failure is a JSON-RPC
// error, with code -32603 for a fault, -31000 for an error that the client can cure, and the
// code that the handler chose. A result that is too large is refused, not shortened.
//
// So it is with everything else that a client can call: completions, subscriptions,
// custom methods, and the lists. A completion of more than 100 values is cut to these. An
// item of a list that cannot be sent is left out and logged as an error. Only
// subscriptions/listen has no deadline.
//
// A handler's result is encoded within the deadline. After that the boundary calls none of
// its code, and whatever it does to its result changes nothing.
// A result that several calls return needs [Unshared].
//
// # Errors
//
// Return [Validation], [Selector], [Execution] or [Protocol] from a tool, wrapped or
// not, or carry any of these methods on an error of your own. They use builtin types
// alone, so no import is needed. If several errors of a chain have a method, the
// outermost one is asked.
//
//	ToolErrorType() string               its type in the Report; "execution" without it
//	ToolErrorCode() string               a finer code of your own
//	ToolErrorExpected() bool             the agent can correct it: WARN; else a fault: ERROR
//	ToolErrorQuiet() bool                nobody's mistake, such as a decline: INFO
//	ToolErrorHints() []string            sentences on what to try next
//	ToolErrorOperation() string          the operation that failed
//	ToolErrorSelector() (selector string, candidates []string)
//	ToolErrorFields() map[string][]string  problems of the arguments, by JSON pointer
//	ToolErrorEffect() string             "applied", "unknown" or "undone"; "none" if the tool did not run
//	ToolErrorRetryable() bool            another attempt may succeed
//	ToolErrorCause() string              for the log of a fault, in place of the chain
//	ToolErrorProtocol() (code int64, message string, data []byte)
//
// The client reads the text of Error, wrapping included. Keep a secret cause behind
// Unwrap, where the log of a fault finds it.
//
// The errors of the network, of files, of a database (database/sql's, and any with a
// method SQLState) and of a context name hosts, paths and queries. One of these, wrapped
// or joined, is a fault: the client reads one sentence of the boundary's, and the log has
// the cause. To say something to the client yourself, wrap it in an error with
// ToolErrorType, ToolErrorExpected, ToolErrorQuiet or ToolErrorProtocol, as the types
// above are. The boundary's own deadline reads the same whether the handler heeded it or
// not, unless the handler returned such an error.
//
// # Not caught
//
// Go cannot recover a panic in a goroutine that the handler started, the runtime's
// fatal errors (concurrent map writes, stack overflow, out of memory, deadlock),
// os.Exit and log.Fatal. They still end the process. So does a
// mcp.CreateMessageParams with a nil message that a tool returns for a legacy client:
// go-sdk reads it on a goroutine of its own before any middleware. A handler that never
// returns keeps its goroutine.
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
