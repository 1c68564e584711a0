package keep

import (
	"time"

	"github.com/mrtr-go/sdk/mrtr/listen"
)

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
