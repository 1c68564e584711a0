package mrtr

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/sse/era"
)

// With a store a claimed round is work of the server's, and its request only waits for
// it: a client that gives up ends its request, and the next equal one gets the outcome.

// work is the life of a round on a goroutine of its own. It is the round's context: until
// the round claims its turn it is cancelled with the request, and from then on by its own
// time and by Close alone.
type work struct {
	context.Context // with the values of the request
	cancel          context.CancelCauseFunc
	unhook          func() bool   // from the request
	claimed         chan struct{} // closed when the round is the server's
	givenUp         chan struct{} // closed when its handler did not end with its context

	// Guarded by workTable.mu.
	principal string
	call      string
	round     int
	orphan    bool // its client has left

	timer *time.Timer // guarded by cl.mu once claimed
}

func newWork(ctx context.Context) *work {
	w := &work{claimed: make(chan struct{}), givenUp: make(chan struct{})}
	w.Context, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil { // at once, and not when a goroutine comes to it
		w.cancel(context.Cause(ctx))
	}
	w.unhook = context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
	return w
}

// detaches reports whether the round of a request may be one of the server's. Round one
// is not remembered, nor are those of a legacy client.
func (rt *Runtime) detaches(ex *exchange, t *target) bool {
	return rt.memory != nil && ex.token != "" && !t.unstored && ex.client.Era == era.Modern
}

// detach runs a round beside its request, and waits for it as long as the client does.
func (f *front[In, Out]) detach(ctx context.Context, ex exchange, in In) (*roundOf[In, Out], *asked, error) {
	r := &roundOf[In, Out]{front: f, in: in}
	w := newWork(ctx)
	ex.work = w
	var questions *asked
	done := make(chan error, 1)
	go guarded(func() (err error) {
		questions, err = f.rt.run(w, ex, f.target, r)
		return err
	}, func(err error) {
		f.rt.works.leave(w)
		done <- err
	})
	select {
	case err := <-done:
		return r, questions, err
	case <-w.givenUp:
		return &roundOf[In, Out]{front: f}, nil, f.target.cutOffError(context.Cause(w), nil, nil)
	case <-ctx.Done():
	}
	select {
	case err := <-done: // it was not claimed, or has just ended
		return r, questions, err
	case <-w.claimed:
	}
	if orphan := f.rt.works.abandon(w); orphan != nil {
		orphan.rt, orphan.target, orphan.ex = f.rt, f.target, ex
		orphan.observe(ctx, Event{Kind: RoundOrphaned})
	}
	return &roundOf[In, Out]{front: f}, nil, ctx.Err()
}

// outlived is the cause that ends a round whose time is up.
type outlived struct{ within time.Duration }

func (e *outlived) Error() string {
	return fmt.Sprintf("it took longer than %v, the time it has", e.within)
}

// handlerGrace is how long a handler may go on after its context has ended, and its
// effects with theirs.
const handlerGrace = 10 * time.Second

// takeOn makes a claimed round one of the server's. The error refuses its request: there
// are too many rounds whose clients have left, or this one has.
func (c *Call) takeOn(cl *turnClaim) error {
	w := c.ex.work
	if w == nil {
		return nil
	}
	if err := c.rt.works.enter(w, c); err != nil {
		return err
	}
	if !c.target.cancel && !w.unhook() {
		<-w.Done()
		return w.Err()
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	w.timer = time.AfterFunc(c.target.within, func() {
		w.cancel(&outlived{c.target.within})
		cl.mu.Lock()
		defer cl.mu.Unlock()
		w.timer = time.AfterFunc(handlerGrace, func() { c.giveUp(w, cl) })
	})
	close(w.claimed)
	return nil
}

// cutOff is the error of a round that its own time or Close has ended. One that noted
// what it does is free for the next request. Of any other nobody knows all that it has
// done, and it must not run again.
func (c *Call) cutOff(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	var late *outlived
	switch {
	case c.ex.work == nil || c.currentClaim() == nil || c.phase != entered || ctx.Err() == nil:
		return err
	case !errors.As(cause, &late) && reasonOf(cause) == "": // the client's, of a handler that takes it
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, cause), errors.As(err, &late),
		reasonOf(err) == ShuttingDown:
		done := c.outcome()
		return c.target.cutOffError(cause, done.applied, done.unknown)
	}
	return err
}

func (t *target) cutOffError(cause error, applied, unknown []string) error {
	why := "the server shut down while this round ran"
	if late := (*outlived)(nil); errors.As(cause, &late) {
		why = fmt.Sprintf("this round took longer than the %v it has", late.within)
	}
	if t.again || t.cancel {
		return sendAgain("Stopped: "+why, ": it goes on with the effects that have happened", "cut_off")
	}
	return outcomeUnknown(why, applied, unknown)
}

// errGivenUp breaks the turn of a handler that did not end with its context.
var errGivenUp = errors.New("the handler did not end with its context")

// giveUp ends the turn of a handler that did not end with its context, so that it does
// not hold the turn for ever: no effect of it begins any more. Effects that run have
// their own time.
func (c *Call) giveUp(w *work, cl *turnClaim) {
	var unknown []string
	defer func() { c.doubt(w, unknown...) }() // without the lock
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if wait := time.Until(cl.until); cl.effects > 0 && wait > -handlerGrace {
		w.timer = time.AfterFunc(max(wait, 0)+handlerGrace, func() { c.giveUp(w, cl) })
		return
	}
	if cl.broken != nil || w.timer == nil {
		return
	}
	cl.broken = errGivenUp
	runner := cl.runner
	if c.target.again || c.target.cancel {
		cl.held.LetGo(context.Background(), runner.leaving(cl))
	} else {
		done := runner.outcome()
		unknown = done.unknown
		err := c.target.cutOffError(context.Cause(w), done.applied, done.unknown)
		_ = cl.held.Finish(context.Background(), runner.writeOutcome(nil, err, nil))
	}
	close(w.givenUp)
}

// gaveUp is the error of a round that was given up on before its handler ended, nil for
// any other.
func (c *Call) gaveUp(ctx context.Context) error {
	cl := c.currentClaim()
	if cl == nil || !errors.Is(cl.brokenBy(), errGivenUp) {
		return nil
	}
	return c.target.cutOffError(context.Cause(ctx), nil, nil)
}

// workTable has the claimed rounds of a runtime.
type workTable struct {
	max, maxPrincipal int

	mu      sync.Mutex
	all     map[*work]struct{}
	orphans map[string]int // by principal, "" for all that are not known
	count   int            // of the orphans
	none    emptiness
}

// enter counts in a round that has claimed its turn.
func (t *workTable) enter(w *work, c *Call) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	most := t.maxPrincipal
	if c.principal == "" {
		most = t.max - t.max/4
	}
	if t.count >= t.max || t.orphans[c.principal] >= most {
		return errTooManyOrphans
	}
	if t.all == nil {
		t.all, t.orphans = map[*work]struct{}{}, map[string]int{}
	}
	w.principal, w.call, w.round = c.principal, c.st.id, c.st.round
	t.all[w] = struct{}{}
	return nil
}

var errTooManyOrphans = errors.New("too many rounds run whose clients have left")

// abandon counts a round whose client has left. It returns a ledger that names the round for
// an event, nil where it has ended meanwhile.
func (t *workTable) abandon(w *work) *ledger {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, runs := t.all[w]; !runs {
		return nil
	}
	w.orphan = true
	t.count++
	t.orphans[w.principal]++
	return &ledger{principal: w.principal, st: state{id: w.call, round: w.round}}
}

// leave counts out a round that has ended, if it was counted in.
func (t *workTable) leave(w *work) {
	w.unhook()
	w.cancel(context.Canceled)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, w)
	if w.orphan {
		t.count--
		if t.orphans[w.principal]--; t.orphans[w.principal] == 0 {
			delete(t.orphans, w.principal)
		}
	}
	t.none.note(len(t.all) == 0)
}

// whenEmpty is closed when no claimed round runs.
func (t *workTable) whenEmpty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.none.wait(len(t.all) == 0)
}

// stop cancels the rounds.
func (t *workTable) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.all {
		w.cancel(&Error{Reason: ShuttingDown})
	}
}

// wait waits until all rounds have ended.
func (t *workTable) wait(until time.Time) error {
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	select {
	case <-t.whenEmpty():
		return nil
	case <-late.C:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) == 0 {
		return nil
	}
	return fmt.Errorf("mrtr: Close: %d rounds still running %v after cancellation", len(t.all), closing)
}

// release stops the timer of a turn that has ended.
func (w *work) release(cl *turnClaim) {
	if w == nil {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
