package durable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// notes implements [keep.Notes] for a turn that is held.
type notes struct {
	k      *Keeper
	w      *work
	t      keep.Turn
	turn   claim.Turn
	doubts bool     // the turn may have run in an earlier incarnation of the store
	joins  progress // of the call that an equal request began

	mu     sync.Mutex
	held   *claim.Held // nil before the turn is claimed
	before []byte
	since  time.Time
	cutOff bool
	call   string
	again  bool // the round has to run again, with what it found
	hasMet bool // another request has the turn, and this one gets:
	met    keep.Outcome
	metErr error
	broken error // the turn can have no outcome of this run any more
	timer  *time.Timer
	of     keep.Effects
}

func (n *notes) Left() []byte { return n.before }
func (n *notes) CutOff() bool { return n.cutOff }
func (n *notes) Call() string { return n.call }

func (n *notes) Since() time.Time { return n.since }

func (n *notes) Doubts() bool { return n.doubts }
func (n *notes) Mark() string { return n.k.mark(n.t.Mark) }

func (n *notes) Watch(effects keep.Effects) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.of = effects
}

func (n *notes) watched() keep.Effects {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of
}

// effects are those of the round as they are.
func (n *notes) effects() []byte {
	if of := n.watched(); of != nil {
		return of.Left()
	}
	return n.before
}

func (n *notes) Begun(ctx context.Context) error {
	given := func() error {
		if err := n.brokenBy(); !errors.Is(err, errGivenUp) { // whose effects may yet be undone
			return err
		}
		return nil
	}
	if err := given(); err != nil {
		return err
	}
	if n.claimed() == nil {
		n.turn.Effects = n.effects()
		n.take(ctx)
		n.turn.Effects = nil
		if again, met := n.isMet(); again || met {
			return keep.ErrElsewhere
		}
		return given()
	}
	if again, _ := n.isMet(); again { // its effects are not those of the run that is held
		return keep.ErrElsewhere
	}
	err := n.held.Note(ctx, n.effects())
	switch {
	case err == nil:
		return given()
	case errors.Is(err, claim.ErrFenced):
		n.breakBy(err)
	case ctx.Err() == nil:
		err = n.k.refused(ctx, n.t, err, true)
	default:
		err = ctx.Err()
	}
	return err
}

func (n *notes) Ended() {
	if n.claimed() != nil && !n.held.Ended(n.effects()) {
		n.breakBy(claim.ErrFenced)
	}
}

func (n *notes) claimed() *claim.Held {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

func (n *notes) brokenBy() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

func (n *notes) breakBy(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken == nil {
		n.broken = err
	}
}

// grace is how long a handler may go on after its context has ended, and its effects with theirs.
const grace = 10 * time.Second

// limit ends a round when its time is up, and gives it up if its handler does not end then.
func (n *notes) limit() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.timer = time.AfterFunc(n.t.Within, func() {
		n.w.cancel(&keep.CutOff{Why: fmt.Sprintf("this round took longer than the %v it has", n.t.Within)})
		n.giveUpIn(grace)
	})
}

// giveUpIn gives the round up later, unless it has ended.
func (n *notes) giveUpIn(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer = time.AfterFunc(d, n.giveUp)
	}
}

// giveUp ends the turn of a handler that did not end with its context, so that it does not hold
// the turn for ever: no effect of it begins any more. Effects that run have their own time.
func (n *notes) giveUp() {
	of := n.watched()
	if of == nil { // its goroutine has not come to it
		n.giveUpIn(grace)
		return
	}
	if until := of.Busy(); !until.IsZero() && time.Until(until) > -grace {
		n.giveUpIn(max(time.Until(until), 0) + grace)
		return
	}
	n.mu.Lock()
	over := n.timer == nil || n.broken != nil
	if !over {
		n.broken = errGivenUp
	}
	n.mu.Unlock()
	if over {
		return
	}
	o := of.GiveUp(whyEnded(n.w))
	if o.Free {
		n.held.LetGo(context.Background(), o.Left)
	} else {
		b, _ := n.t.Handler.Write(o)
		_ = n.held.Finish(context.Background(), b, n.t.Handler.Short(o))
	}
	n.w.short = o
	close(n.w.givenUp)
}

// end stops the timer of a turn that has ended, and says what broke it.
func (n *notes) end() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.timer != nil {
		n.timer.Stop()
		n.timer = nil
	}
	return n.broken
}

// whyEnded is why the context of a round has ended.
func whyEnded(ctx context.Context) string {
	cut := (*keep.CutOff)(nil)
	if errors.As(context.Cause(ctx), &cut) {
		return cut.Why
	}
	return "the server ended this round"
}
