package mrtr

import (
	"context"
	"sync"
)

// A ledger is the history of a call while a round writes to it, and the facts of the round that
// whoever writes needs. Effects, undos, the judge and questions have the ledger. The round and
// the handler's [Call] are above it.
type ledger struct {
	rt     *Runtime
	target *target

	mu        sync.Mutex // guards the fields below
	ex        exchange
	principal string
	st        state
	running   *underway // nil where no effect has run
	phase     phase
	answered  []pending       // the questions whose answers came in this round
	arrival   *arrival        // of the answers, nil unless a question has a deadline
	claim     *turnClaim      // of the turn that this round runs, nil without a store
	life      context.Context // of the round, which linear code has in its run
}

// id is that of the call.
func (l *ledger) id() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.st.id
}

func (l *ledger) record(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.st.record(e)
}

// underway are the effects of a call that run. They are guarded by the call's lock.
type underway struct {
	began map[string]int // each with the length of the history when it began
	quiet emptiness
	of    *ledger // that of the linear run that they are a copy of, or nil
}

func (u *underway) keys() map[string]int {
	if u == nil {
		return nil
	}
	return u.began
}

func (u *underway) any() bool { return len(u.keys()) > 0 }

func (u *underway) end(key string) {
	delete(u.began, key)
	u.quiet.note(len(u.began) == 0)
}

// runs marks an effect as running, and makes its idem. The caller holds l.mu.
func (l *ledger) runs(key, by string, free bool) (idem string) {
	if l.running == nil {
		l.running = &underway{began: map[string]int{}}
	}
	l.running.began[key] = len(l.st.done)
	return l.st.id + by + l.st.done.answersBefore(key, free) + by + effectName(key)
}

// leave forgets an effect whose function was not called.
func (l *ledger) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running.end(key)
}

// effectsEnd is closed when no effect of the call runs any more, nil where none does.
func (l *ledger) effectsEnd() <-chan struct{} {
	l.mu.Lock()
	u := l.running
	if u != nil && u.of != nil {
		l.mu.Unlock()
		return u.of.effectsEnd()
	}
	defer l.mu.Unlock()
	if !u.any() {
		return nil
	}
	return u.quiet.wait(false)
}

// inDoubt reports whether an attempt at an effect was made of which nobody knows whether
// it happened: in this round or an earlier one, or in a run of this round that was cut off.
func (l *ledger) inDoubt(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.st.done.inDoubt(key)
}

// settleDoubt notes that a check has found that an effect did not happen, and will not.
func (l *ledger) settleDoubt(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.st.done.settleDoubt(key)
}

func (l *ledger) currentClaim() *turnClaim {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.claim
}

func (l *ledger) breakTurn(err error) {
	if cl := l.currentClaim(); cl != nil {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		if cl.broken == nil {
			cl.broken = err
		}
	}
}
