// Package keep is for those who write a keeper, the layer that decides whether a round runs and
// remembers what it came to, and for layers that keep records of their own beside it. Package
// durable is a [Keeper] over a store, and most servers take that: see Options.Durable of package
// mrtr. The author of a tool needs none of this.
//
// A round is a [Turn] here. Who runs it gets [Notes] to write its effects down, and its [Outcome]
// is what every equal request gets.
package keep

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A Keeper decides whether a round runs, and keeps what it came to: a request that arrives
// again gets the outcome of the first. Without one, every request runs its round.
type Keeper interface {
	// Begin is the mark that the states of a call have to carry for the Keeper, so that it knows
	// what it has forgotten since; "" for a call that is not kept.
	Begin(ctx context.Context) (mark string, _ error)
	// Keep runs a turn, or returns the outcome of an earlier run. A cause that ends the call
	// ([EndOf]) reaches a round that runs, however far the Keeper has cut it loose from its request.
	Keep(ctx context.Context, t Turn, run func(ctx context.Context, n Notes) Outcome) (Outcome, error)
	// Overdue has the Keeper look, from time to time and at any instance, for outcomes that are
	// [Due]. What looks after one reports whether that is done. It is false where it cannot look.
	Overdue(look func(ctx context.Context, outcome []byte) (done bool)) (looks bool)
	Service
}

// The errors with which a Keeper has a round go another way.
var (
	// ErrSplit: another branch of the call has answered its questions, so this branch is a call
	// of its own.
	ErrSplit = errors.New("mrtr: another branch has the turn")
	// ErrElsewhere, of Notes.Begun: an equal request has begun the call, so this run of its first
	// round is over.
	ErrElsewhere = errors.New("mrtr: an equal request has begun this call")
	// ErrBeginAgain: the call has not begun, and the Keeper has another mark for it now.
	ErrBeginAgain = errors.New("mrtr: the mark of the call has changed")
)

// A Refusal is the error with which a [Keeper] refuses a round that it does not run now. The client
// gets Wire, and the listener Why and Cause.
type Refusal struct {
	Wire  *jsonrpc.Error
	Why   string
	Cause error
}

func (r *Refusal) Error() string { return r.Wire.Error() }

func (r *Refusal) Unwrap() error { return r.Wire }

// A CutOff is the cause by which a Keeper ends the context of a round before the round has
// come to its end: its time was up, or the server shuts down.
type CutOff struct{ Why string }

func (c *CutOff) Error() string { return c.Why }

// EndOf is the error of the call that a context's cause ends, nil for the end of somebody's
// waiting. Such a cause has a method EndsCall, which returns that error: a task that was cancelled
// has one, and the session of a user who never answered. A request that arrives with such a cause
// ends its call without its handler.
func EndOf(cause error) error {
	var end interface{ EndsCall() error }
	if cause != nil && errors.As(cause, &end) {
		return end.EndsCall()
	}
	return nil
}

// Recorder reads and writes the records of a handler whose rounds are kept.
type Recorder interface {
	// Goes reports whether a run that was cut off, and left these effects, can be gone on with.
	Goes(left []byte) bool
	// Write is the record of an outcome, nil for one that cannot be kept, with the outcome as
	// every request is to get it. Short is the record of one whose own does not fit. Read reads both.
	Write(Outcome) ([]byte, Outcome)
	Short(Outcome) []byte
	Read([]byte) Outcome
	// Cut is the outcome of a run that was cut off and is not gone on with.
	Cut(left []byte) Outcome
}

// Notes are how a round that runs writes down its effects.
type Notes interface {
	// Left are the effects of an earlier run that was cut off, or let go of the turn. CutOff
	// reports whether it was cut off. Call is the id that the effects of a first turn are under.
	Left() []byte
	CutOff() bool
	Call() string
	// Doubts reports whether a run of the turn may have been forgotten: then every effect of this
	// one may have happened before.
	Doubts() bool
	// Mark is that of the states which come of the round.
	Mark() string
	// Since is that of the [Turn] which was claimed first.
	Since() time.Time
	// Begun writes down the effects of the round, one of which is about to begin. With an
	// error it must not.
	Begun(ctx context.Context) error
	// Ended writes down soon that one of them has ended.
	Ended()
	// Watch is given the effects of the round. It is called first.
	Watch(effects Effects)
}

// Effects are those of a round, as they are when they are asked for.
type Effects interface {
	// Left encodes them for whoever goes on with the round.
	Left() []byte
	// Busy is until when the last of those that run may run, the zero time if none does.
	Busy() time.Time
	// GiveUp ends a round whose handler did not end with its context. No effect begins any more.
	GiveUp(why string) Outcome
}

// A Turn is a round that enters the handler or ends the call. All equal requests name the same
// one.
type Turn struct {
	Round       listen.Round
	Mark        string
	Name        string // of this turn of this call, of this sender
	Fingerprint string // of the answers as they came
	Expires     time.Time
	Within      time.Duration // that the round has
	Cancel      bool          // the end of the request reaches the round also when it is kept
	Noted       bool          // the round writes its effects down from the start
	Since       time.Time     // when the answers came, if one of its questions has a deadline
	Handler     Recorder
	Branch      string // the states that came from one first request have the same
	Shared      bool   // its questions had gone out when the branch began
	Late        bool   // no state opens any more that asks for it, so that it ends its call
	First       *First // of a turn with which its call begins; nil for any other
	// Due is when somebody has to look after the turn, if it has effects and came to no end; zero
	// for never. Overdue gets Asked then, in place of an outcome.
	Due   Due
	Asked []byte
}

// First is what a Keeper has to know of a turn with which a call begins. All first requests that
// mean the same name the same turn, and one of them begins the call: with its first effect, or with
// its questions. The others join it, and get the questions.
type First struct {
	Call string // the id that its effects are under
	// Keyed: the client has a key for the call, so all requests with that key are one call, to
	// its end and after. Its turn is claimed before it runs.
	Keyed bool
	// Next is the turn that goes on from an outcome of the call. It is false of an outcome with
	// which the call is over. Held reports whether that turn, if nobody has claimed it, finds
	// what it goes on with.
	Next func(outcome []byte) (Next, bool)
	Held func(outcome []byte) bool
	// Aside names the record of a call that was left, when another takes its place.
	Aside func(call string) string
	// Alone: nobody else means the same, so that questions alone need not be kept.
	Alone bool
}

// Next is a turn that goes on from an outcome.
type Next struct {
	Turn  string
	Until time.Time // of the states that ask for it
	Waits bool      // such a state still opens
}

// An Outcome is what a round came to.
type Outcome struct {
	Token   string          // of the questions that it asks
	Value   any             // the result of a call that is complete, or was stopped
	Saved   json.RawMessage // Value as a [Recorder] writes it, nil where it cannot
	Stopped bool            // with Value, by mrtr.Stop
	Err     error
	// Repeated: the outcome is that of an earlier request. A Keeper says so.
	Repeated bool
	// Orphaned: the client has left, and the round goes on without it. A Keeper says so too.
	Orphaned bool
	// Joins is where the call stands whose questions these are, if another branch of it ran the
	// round.
	Joins *Joins
	// Extend names records of the call that have to live longer from now on.
	Extend *Extend
	// Due is when somebody has to look after the call; zero for never. Request is what they need
	// to know of it.
	Due     Due
	Request json.RawMessage
	// Free: this is no outcome. Whoever sends the request again runs the round, and finds Left.
	Free bool
	Left []byte
	// Entered: the handler ran, and came to an end.
	Entered bool
}

// Due is when nobody can go on with a call any more, and until when an instance looks after what
// it left.
type Due struct{ At, Until time.Time }

// Joins is where a call stands that a first request joins: Seen turns had their questions, and its
// states open Until then, or nobody answered and it is too Late. For a later request it says
// nothing.
type Joins struct {
	Seen  int
	Until time.Time
	Late  bool
}

// Extend names records that have to live until a time.
type Extend struct {
	Names []string
	Until time.Time
}
