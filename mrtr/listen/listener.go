// Package listen is for those who write a listener: a log, a tracer, metrics, an audit. It has the
// interface, and the rounds, entries and ends that a listener is told of.
//
// The author of a tool needs none of it, and an operator who wants a log or events takes package
// observe, which is a listener. What [mrtr.Runtime.Stats] and Waiting count is described here too.
//
// [mrtr.Runtime.Stats]: https://pkg.go.dev/github.com/mrtr-go/sdk/mrtr#Runtime.Stats
package listen

import "context"

// A Listener hears of every round: when it begins, what happens in it, and how it ends. The
// round waits for it, and does not hold its locks meanwhile, so it must be quick, and safe for
// concurrent use. Its panics are ignored.
type Listener interface {
	// Began is called for each request whose state has opened. The round and its handler run
	// in the context that it returns.
	Began(ctx context.Context, r Round) context.Context
	// Heard is called for each thing that happens in a round, and for a held handler between
	// two rounds.
	Heard(ctx context.Context, r Round, e Entry)
	// Ended is called for each request, also for one that was refused before it began.
	Ended(ctx context.Context, r Round, e End)
}

// A Tracer is a Listener whose rounds have places in a trace. That of round one is sealed into
// the state, so that later rounds have it in [Round.Trace], at whatever instance they run.
type Tracer interface {
	Listener
	// Trace is the place of the round whose context Began made; "" seals none.
	Trace(ctx context.Context) string
}

// An End is how a request ended: with questions, with a result, with an error, or refused. The call
// is complete if Err is nil and it neither asks nor was stopped.
type End struct {
	Asks       []string // the keys of the questions that go out, where they are known
	StateBytes int      // of the state that goes out with them, as sealed; 0 for an end of the call
	Stopped    bool     // by mrtr.Stop
	Err        error
	Repeated   bool // it is how an earlier request ended
	// Refused is the part of the request for which it was refused, "" if it was not, and Why and
	// Cause the reason, which its client is not told. Nothing was run.
	Refused RefusedPart
	Why     string
	Cause   error
}

// RefusedPart is the part of a request for which it was refused.
type RefusedPart string

const (
	RefusedState     RefusedPart = "state"
	RefusedPrincipal RefusedPart = "principal"
	RefusedRequest   RefusedPart = "request"
	RefusedRound     RefusedPart = "round" // by the keeper, or because the server shuts down
)

// ClientLeft is the [End.Why] of a round that was not begun, and is nobody's fault.
const ClientLeft = "its client has left"
