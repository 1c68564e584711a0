package durable

import (
	"context"
	"errors"
	"sync"

	"github.com/mrtr-go/sdk/mrtr/keep"
)

// work is a round on a goroutine of its own, and its context: until the round claims its turn it
// is cancelled with the request, and from then on by its own time and by Close alone.
type work struct {
	context.Context // with the values of the request
	cancel          context.CancelCauseFunc
	unhook          func() bool // from the request
	principal       string
	claimed         chan struct{} // closed when the round is the server's
	givenUp         chan struct{} // closed when its handler has not ended with its context
	short           keep.Outcome  // then
	done            chan struct{} // closed when the round has ended
	out             keep.Outcome
	err             error

	orphan bool // its client has left; guarded by works.mu
}

func newWork(ctx context.Context, principal string) *work {
	w := &work{principal: principal, claimed: make(chan struct{}), givenUp: make(chan struct{}), done: make(chan struct{})}
	w.Context, w.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil { // at once, and not when a goroutine comes to it
		w.cancel(context.Cause(ctx))
	}
	w.unhook = context.AfterFunc(ctx, func() { w.cancel(context.Cause(ctx)) })
	return w
}

// works are the claimed rounds of a runtime.
type works struct {
	max, maxPrincipal int

	mu      sync.Mutex
	all     map[*work]struct{}
	of      map[string]int // the orphans by principal
	orphans int
	stopped bool
	none    keep.Emptiness
}

var (
	errTooManyOrphans = errors.New("too many rounds run whose clients have left")
	errStopped        = errors.New("the server is shutting down")
)

// enter counts in a round that has claimed its turn. The callers that nobody knows are no one
// principal.
func (t *works) enter(w *work) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return errStopped
	}
	if t.orphans >= t.max || w.principal != "" && t.of[w.principal] >= t.maxPrincipal {
		return errTooManyOrphans
	}
	if t.all == nil {
		t.all, t.of = map[*work]struct{}{}, map[string]int{}
	}
	t.all[w] = struct{}{}
	return nil
}

// orphan counts a round whose client has left, and reports whether it still runs.
func (t *works) orphan(w *work) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, runs := t.all[w]; !runs {
		return false
	}
	w.orphan = true
	t.orphans++
	t.of[w.principal]++
	return true
}

// leave counts out a round that has ended, if it was counted in.
func (t *works) leave(w *work) {
	w.unhook()
	w.cancel(context.Canceled)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, w)
	if w.orphan {
		t.orphans--
		if t.of[w.principal]--; t.of[w.principal] == 0 {
			delete(t.of, w.principal)
		}
	}
	t.none.Note(len(t.all) == 0)
}

func (t *works) whenEmpty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.none.Wait(len(t.all) == 0)
}

func (t *works) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// stop cancels the rounds, and lets in no other: its claim would not be renewed.
func (t *works) stop(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for w := range t.all {
		w.cancel(cause)
	}
}
