package mrtr

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A ledger is the history of a call while one of its rounds runs, with the facts of the round that
// its writers need: passes, effects, undos, the judge, and the round itself. None of the others
// knows the round.
type ledger struct {
	target *target
	ex     exchange
	life   context.Context // of the round
	base   int             // length of the history when the round began
	doubts bool            // effects may have happened that the history lacks
	asOf   time.Time       // when its answers came, if one of its questions has a deadline

	// mu guards the fields below while the handler runs. Before that and after, the round alone
	// reads and writes them.
	mu      sync.Mutex
	st      state
	running []runningEffect
	wakes   chan struct{}      // closed when a running effect ends; nil unless quiet waits
	open    []entry            // effects and undos noted as begun that have not ended
	given   error              // the round ends without an outcome: why
	fresh   []question.Pending // the questions whose answers came in this round
	heard   []listen.Entry     // for the listener, until the lock is free
	sent    sent               // the questions that go out
	refused bool               // the handler could not read an answer of this round
	entered bool               // the handler has been
	watched bool               // a sweeper looks after the call when its states have expired

	noting sync.Mutex // held during a note, so that notes reach the store in their order
	notes  keep.Notes // nil unless a Keeper has the round

	principal string
	local     any                              // of the style
	park      func() (token string, err error) // of the style
	room      [1]runningEffect
}

// sent are the questions that go out with a token.
type sent struct {
	token string
	asks  []question.Pending
}

// runningEffect is an effect, or the undo of one, whose function has not returned.
type runningEffect struct {
	key    string
	free   bool
	undoes bool
	until  time.Time // when its time is up
}

// doubt is the entry of one whose end nobody waits for.
func (e *runningEffect) doubt() entry {
	if e.undoes {
		return entry{kind: listen.Undone, key: e.key, doubt: true}
	}
	return entry{kind: listen.Tried, key: e.key, doubt: true, free: e.free}
}

// idem is the idempotency key of an effect: a function of the call, the key, and the answers
// that the call had when it first tried the effect. The caller holds l.mu.
func (l *ledger) idem(key string, free bool) string {
	sep := byte('.')
	if shown(key) != key { // a style's effect and an author's may share a name
		sep = '/'
	}
	p := digest.NewBuffer()
	defer p.Release()
	p.B = l.st.done.appendBasis(p.B, key, free)
	basis := digest.ShortBytes(p.B)
	p.B = append(append(append(p.B[:0], l.st.id...), sep), basis[:]...)
	return string(append(append(p.B, sep), shown(key)...))
}

// Left implements [keep.Effects].
func (l *ledger) Left() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := slices.Clone(l.open)
	for _, e := range l.running {
		if !slices.ContainsFunc(open, func(o entry) bool { return o.key == e.key }) {
			open = append(open, e.doubt())
		}
	}
	left := l.st.done.effectsSince(l.base, open)
	if len(left) > 0 {
		undos := len(l.target.undos) > 0 // which may run without the request
		left = l.st.done.withAnswers(l.base, undos, left)
	}
	return remains{left, l.target.version, l.target.print, l.st.mixed}.encode()
}

// noteBegun notes that an effect, or an undo, is about to begin. If it returns an error the
// effect must not begin.
func (l *ledger) noteBegun(ctx context.Context, e entry) error {
	given := func() error {
		if e.kind == listen.Undone { // a round that was given up undoes its effects
			return nil
		}
		return l.isGiven()
	}
	if err := given(); err != nil || !l.writesDown(&e) {
		return err
	}
	l.noting.Lock()
	defer l.noting.Unlock()
	if err := given(); err != nil { // while this note waited for another
		return err
	}
	l.mu.Lock()
	l.open = append(l.open, e)
	l.mu.Unlock()
	err := l.notes.Begun(ctx)
	if err == nil {
		return given()
	}
	l.close(&e)
	if ctx.Err() == nil {
		l.give(err)
	}
	return err
}

// writesDown reports whether the beginning of an effect is written down: in a first round that is
// kept always, since a repeat of its request enters the handler from its top. Later, if an
// interrupted run is never resumed, only an effect that can be checked is, and then every effect
// after it: the request that finds the notes has to know all that was open.
func (l *ledger) writesDown(e *entry) bool {
	if l.notes == nil {
		return false
	}
	if l.target.noted() || l.st.until == 0 || e.checks {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.st.done[min(l.base, len(l.st.done)):], func(e entry) bool { return e.checks }) ||
		slices.ContainsFunc(l.open, func(e entry) bool { return e.checks })
}

// noteEnded notes that an effect has ended.
func (l *ledger) noteEnded(e *entry) {
	l.noting.Lock()
	defer l.noting.Unlock()
	if l.close(e) {
		l.notes.Ended()
	}
}

// close takes an effect from those that have begun, and reports whether it was there.
func (l *ledger) close(e *entry) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.open, func(o entry) bool { return o.kind == e.kind && o.key == e.key })
	if found = i >= 0; found {
		l.open = slices.Delete(l.open, i, i+1)
	}
	return found
}

// give ends the round without an outcome: another request has the round, or the store does not
// answer.
func (l *ledger) give(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given == nil {
		l.given = err
	}
}

func (l *ledger) isGiven() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given
}

// inDoubt reports whether an effect was attempted, or may have been, and may or may not have
// happened. The caller holds l.mu.
func (l *ledger) inDoubt(key string) bool {
	return l.st.done.inDoubt(key) || l.doubts && l.st.done.effect(key) == nil
}

// run marks an effect as running. The caller holds l.mu.
func (l *ledger) run(e runningEffect) {
	if l.running == nil {
		l.running = l.room[:0]
	}
	l.running = append(l.running, e)
}

// isRunning reports whether an effect runs. The caller holds l.mu.
func (l *ledger) isRunning(key string) bool {
	return slices.ContainsFunc(l.running, func(e runningEffect) bool { return e.key == key })
}

// atRest returns an error if an effect runs: a round cannot end in the middle of one. The caller
// holds l.mu.
func (l *ledger) atRest(question string) error {
	if len(l.running) == 0 {
		return nil
	}
	return misuse("question %q is asked while effect %q is running: ask before it, or after", question, shown(l.running[0].key))
}

// ended takes an effect from those that run. The caller holds l.mu.
func (l *ledger) ended(key string) {
	l.running = slices.DeleteFunc(l.running, func(e runningEffect) bool { return e.key == key })
	if l.wakes != nil {
		close(l.wakes)
		l.wakes = nil
	}
}

// quiet waits until no effect of the round runs any more, so that none is undone before it has
// happened. It does not wait for one that runs on beyond its time.
func (l *ledger) quiet() {
	for {
		l.mu.Lock()
		if len(l.running) == 0 {
			l.mu.Unlock()
			return
		}
		if l.wakes == nil {
			l.wakes = make(chan struct{})
		}
		wakes := l.wakes
		l.mu.Unlock()
		timer := time.NewTimer(time.Until(l.Busy()) + handlerGrace)
		select {
		case <-wakes:
			timer.Stop()
		case <-timer.C:
			return
		}
	}
}

// Busy implements [keep.Effects].
func (l *ledger) Busy() (until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.running {
		if e.until.After(until) {
			until = e.until
		}
	}
	return until
}

// unmet returns an error for an effect of an earlier round that a pass has not come to. The
// caller holds l.mu.
func (l *ledger) unmet(used []string) error {
	for i := range l.st.done {
		if e := &l.st.done[i]; e.kind == listen.Happened && !e.free && !slices.Contains(used, e.key) {
			return l.diverged("effect %q is no longer run. Add AnyAnswers to it if it stands whatever the answers are", shown(e.key))
		}
	}
	return nil
}

// freshOf is a question that was answered in this round, or nil. The caller holds l.mu.
func (l *ledger) freshOf(key string) *question.Pending {
	for i := range l.fresh {
		if l.fresh[i].Key == key {
			return &l.fresh[i]
		}
	}
	return nil
}

// grow adds to the history. The caller holds l.mu.
func (l *ledger) grow(e entry, about listen.Entry) {
	l.st.done = append(l.st.done, e)
	about.Kind, about.Key, about.Doubt = e.kind, shown(e.key), e.doubt
	l.hear(about)
}

// remove takes entries out of the history. The caller holds l.mu.
func (l *ledger) remove(is func(entry) bool) {
	base := l.base
	var left history
	for i, e := range l.st.done {
		switch {
		case !is(e):
			left = append(left, e)
		case i < l.base:
			base--
		}
	}
	l.st.done, l.base = left, base
}

// hear keeps an entry for the listener until the lock is free. The caller holds l.mu.
func (l *ledger) hear(e listen.Entry) {
	if l.target.rt.opts.Listener != nil {
		l.heard = append(l.heard, e)
	}
}

// locked runs f with the lock, and then tells the listener of what it heard.
func (l *ledger) locked(f func()) {
	heard := func() []listen.Entry {
		l.mu.Lock()
		defer l.mu.Unlock()
		f()
		heard := l.heard
		l.heard = nil
		return heard
	}()
	if heard != nil {
		l.tell(heard)
	}
}

// tell tells the listener, whose panics are its own business: it hears what follows them.
func (l *ledger) tell(heard []listen.Entry) {
	at, listener := l.describe(), l.target.rt.opts.Listener
	for len(heard) > 0 {
		_ = guard(func() error {
			for len(heard) > 0 {
				e := heard[0]
				heard = heard[1:]
				listener.Heard(l.life, at, e)
			}
			return nil
		})
	}
}

// outcome has the effects of the call so far. One that still runs is in doubt.
func (l *ledger) outcome() history {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.st.done[:len(l.st.done):len(l.st.done)]
	for _, e := range l.running {
		h = append(h, e.doubt())
	}
	return h
}

// diverged is the error of a handler that goes another way than in an earlier round. It says
// whether the handler was replaced meanwhile.
func (l *ledger) diverged(format string, args ...any) error {
	return &Error{Reason: Diverged, Detail: fmt.Sprintf(format, args...), Replaced: l.st.isReplaced(l.target.version)}
}

// describe describes the round.
func (l *ledger) describe() listen.Round {
	l.mu.Lock()
	defer l.mu.Unlock()
	return listen.Round{
		Call: l.st.id, Intent: digest.IntentOf(l.st.id), Number: l.st.round, Method: l.ex.method, Name: l.ex.name, Principal: l.principal, Version: l.st.version,
		Client: l.ex.client, Request: l.ex.request, Task: l.life != nil && isTask(l.life), Kept: l.st.isKept(),
		HasEffects: len(l.running) > 0 || l.st.done.hasEffects(), Waited: l.ex.waited, Trace: l.st.trace,
	}
}

// rest lets go of the request while a held handler waits for the next.
func (l *ledger) rest() {
	l.st.pending, l.fresh, l.sent = nil, nil, sent{}
	l.ex = exchange{method: l.ex.method, name: l.ex.name, client: l.ex.client}
	for i := range l.st.done {
		if e := &l.st.done[i]; e.asked != nil {
			e.words, e.asked = e.asked.WordsFor(e.value), nil
		}
	}
}
