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
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	// every request is to get it. Read reads the record.
	Write(Outcome) ([]byte, Outcome)
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
