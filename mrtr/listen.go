package mrtr

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
)

// A Listener hears of every round: when it begins, what happens in it, and how it ends. The
// round waits for it, and does not hold its locks meanwhile, so it must be quick, and safe for
// concurrent use. Its panics are ignored. Logs, traces, metrics and audits are listeners; see
// package observe.
type Listener interface {
	// Began is called for each request whose state has opened. The round and its handler run
	// in the context that it returns.
	Began(ctx context.Context, r Round) context.Context
	// Heard is called for each thing that happens in a round, and for a held handler between
	// two rounds.
	Heard(ctx context.Context, r Round, e Entry)
	// Ended is called for each request, also for one that was refused before it began.
	Ended(ctx context.Context, r Round, o Outcome)
}

// A Tracer is a Listener whose rounds have places in a trace. That of round one is sealed into
// the state, so that later rounds have it in [Round.Trace], at whatever instance they run.
type Tracer interface {
	Listener
	// Trace is the place of the round whose context Began made; "" seals none.
	Trace(ctx context.Context) string
}

// Round describes a round for a Listener.
type Round struct {
	Call       string // the call's id; "" before its state has opened
	Intent     string // all calls that could be one have the same; "" for one that is a call of its own
	Number     int
	Method     string // tools/call, prompts/get, resources/read
	Name       string // of the tool or prompt, or the resource's address
	Principal  string
	Version    string // of the handler that the call began with
	Client     era.Client
	Request    mcp.Request
	Task       bool          // it runs for a task
	Kept       bool          // by a [Keeper]
	HasEffects bool          // effects are remembered in this call
	Waited     time.Duration // since the questions of the round before went out
	Trace      string        // what the [Tracer] had sealed in round one
}

// Entry is one thing that happens in a round.
type Entry struct {
	Kind   EntryKind
	Key    string
	Doubt  bool          // of an effect: nobody knows whether it happened, or was undone
	How    string        // of an answer: [HowAccepted] and so on
	Words  string        // of an answer: identifies the words that were shown
	Reason string        // why
	Took   time.Duration // of an effect that ended, or an operation of a layer
	Err    error
}

// EntryKind says what an [Entry] is about.
type EntryKind string
