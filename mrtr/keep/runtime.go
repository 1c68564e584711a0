package keep

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/statecodec"
)

// Durability makes the Keeper of a runtime: see package durable.
type Durability interface {
	Keeper(rt Runtime) (Keeper, error)
}

// Runtime is the part of a [mrtr.Runtime] that a Keeper needs.
//
// [mrtr.Runtime]: https://pkg.go.dev/github.com/mrtr-go/sdk/mrtr#Runtime
type Runtime interface {
	// IsEphemeral reports whether its states open in this process alone.
	IsEphemeral() bool
	// Listener hears of all calls; nil if nobody does.
	Listener() listen.Listener
	// Sealer makes a Sealer for a purpose. Without keys its tokens open in this process alone. It
	// takes so many bytes, as many as a state has if maxBytes is zero. A ttl of zero is for the
	// records of a store: they open as long as the store has them, whatever the clocks of the
	// instances say.
	Sealer(purpose string, ttl time.Duration, maxBytes int) (Sealer, error)
}

// A Sealer seals what a layer sends or keeps, with the keys of a runtime's states and for its
// audience: a token of one server does not open at another that shares the keys.
type Sealer interface {
	// Seal seals a payload. An audience in the binding is one of its own within the runtime's.
	Seal(b statecodec.Binding, payload []byte) (token string, _ error)
	// Open opens a token that was sealed with the same binding.
	Open(b statecodec.Binding, token string) (payload []byte, _ error)
}

// An Eraser empties one of the records that a layer keeps for calls. It reports whether there was
// anything to erase.
type Eraser func(ctx context.Context, name string) (erased bool, err error)

// A Service is what a layer keeps for all calls of a runtime, such as the handlers that it
// holds. It is closed with the runtime.
type Service interface {
	// Drain takes in nothing new. The channel is closed when nothing is left that only this
	// process can go on with.
	Drain() (empty <-chan struct{})
	// Close ends what is left, until a time at most.
	Close(until time.Time) error
	// Count adds to the numbers of the runtime.
	Count(s *listen.Stats, waiting func(w listen.Waiting, since time.Time))
}

// Emptiness tells those who wait that nothing is left. Its owner's lock guards it.
type Emptiness struct {
	reached chan struct{} // nil where nobody waits
}

// Wait returns a channel that is closed when nothing is left.
func (e *Emptiness) Wait(empty bool) <-chan struct{} {
	if e.reached == nil {
		e.reached = make(chan struct{})
	}
	reached := e.reached
	e.Note(empty)
	return reached
}

// Note says whether anything is left.
func (e *Emptiness) Note(empty bool) {
	if empty && e.reached != nil {
		close(e.reached)
		e.reached = nil
	}
}
