package mrtr

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A Pass is one run of a handler over the history of its call, for a [Style]. A handler that is
// held keeps its Pass.
type Pass struct {
	call Call
	at   atomic.Pointer[ledger] // of the round
	held *Pass                  // that goes on in place of this one

	asker   Asker // nil where the style cannot wait
	replays bool  // it meets again the failures of earlier rounds

	// Guarded by the lock of the ledger.
	used     []string         // effects that it ran, or whose value it read
	met      []string         // failures that it met again, each as often as it was met
	read     []*question.Spec // questions that it asked, or whose answer it read
	complete []func(context.Context)
	mistake  error // ends the call, whatever the handler makes of it

	fewUsed [2]string // most passes use no more
	fewRead [3]*question.Spec
}

// An Asker waits for answers, in a style whose handlers can wait.
type Asker interface {
	Await(questions []AnyQuestion) error
	// Again asks anew for an answer that the handler can't read. It is false if the handler can't
	// wait.
	Again(q AnyQuestion) bool
	// MayRun says why a new effect must not run now, after so many answers.
	MayRun(key string, answers int) error
	// Life ends with the handler.
	Life() context.Context
}

func (p *Pass) begin(l *ledger) *Pass {
	p.at.Store(l)
	p.call.pass, p.used, p.read = p, p.fewUsed[:0], p.fewRead[:0]
	return p
}

// locked runs f with the ledger of the round, and tells the listener what it heard.
func (p *Pass) locked(f func(l *ledger)) {
	for {
		l := p.at.Load()
		moved := false
		l.locked(func() {
			if moved = l != p.at.Load(); !moved {
				f(l)
			}
		})
		if !moved {
			return
		}
	}
}

// Round describes the round.
func (p *Pass) Round() listen.Round { return p.at.Load().describe() }

// Call is the author's view of the pass.
func (p *Pass) Call() *Call { return &p.call }

// CallOf is Call for the effects of a style: their keys begin with its name and a colon.
func (p *Pass) CallOf(style string) *Call { return &Call{p, style + ":"} }

// Held is the Pass of a handler on a separate goroutine. It has this round until Attach.
func (p *Pass) Held(a Asker, replays bool) *Pass {
	return (&Pass{asker: a, replays: replays}).begin(p.at.Load())
}

// Attach gives a held handler's Pass the round of another.
func (p *Pass) Attach(to *Pass) {
	p.at.Store(to.at.Load())
	to.held = p
}

// current is the pass that goes through the history: this one, or the held one in its place.
func (p *Pass) current() *Pass {
	if p.held != nil {
		return p.held
	}
	return p
}

// asks notes the question that a key stands for in this pass. The caller holds the lock.
func (p *Pass) asks(q *question.Spec) error {
	for _, other := range p.read {
		if other.Key == q.Key {
			if !other.SameText(q) && !q.AnyWords {
				p.mistake = twice(q.Key, "questions")
			}
			return p.mistake
		}
	}
	p.read = append(p.read, q)
	return nil
}

// opens notes a question that is about to go out. The caller holds the lock.
func (p *Pass) opens(l *ledger, q *question.Spec) error {
	if err := p.asks(q); err != nil {
		return err
	}
	return l.atRest(q.Key)
}

// answer is the answer to a question, in its words.
func (p *Pass) answer(q *question.Spec) (value json.RawMessage, ok bool) {
	p.locked(func(l *ledger) {
		e := l.st.done.answer(q.Key)
		if p.asks(q) == nil && e != nil && e.answers(q) {
			value, ok = e.value, true
		}
	})
	return value, ok
}

// hasRead reports whether the pass has asked a question, or read its answer.
func (p *Pass) hasRead(key string) bool {
	return slices.ContainsFunc(p.read, func(q *question.Spec) bool { return q.Key == key })
}

// Asked are the keys of the call's answers, in their order.
func (p *Pass) Asked() (keys []string) {
	p.locked(func(l *ledger) {
		for i := range l.st.done {
			if e := &l.st.done[i]; e.kind == listen.Answered {
				keys = append(keys, e.key)
			}
		}
	})
	return keys
}

// Fits reports whether the answer under the key of q is to its words.
func (p *Pass) Fits(q AnyQuestion) (ok bool) {
	s := q.asking()
	p.locked(func(l *ledger) {
		if s != nil {
			e := l.st.done.answer(s.Key)
			ok = e != nil && e.answers(s)
		}
	})
	return ok
}

// Answered reports whether q has its answer. It counts as asking q.
func (p *Pass) Answered(q AnyQuestion) (ok bool) {
	s := q.asking()
	if s == nil {
		return q.Err() == nil
	}
	_, ok = p.answer(s)
	return ok
}

// AnswerAs is the answer under a key, whatever words it was given to.
func AnswerAs[T any](p *Pass, key string) (v T, ok bool) {
	value, ok := p.value(func(h history) *entry { return h.answer(key) })
	if !ok {
		return v, false
	}
	return readAnswer[T](p, value, key)
}

// Forget takes back an answer, unless an effect stands on it. Attempts that failed after it are
// forgotten too.
func (p *Pass) Forget(key string) (ok bool) {
	p.locked(func(l *ledger) {
		if ok = !l.st.done.standsOn(key); ok {
			l.remove(l.st.done.takenBackWith(key))
		}
	})
	return ok
}

// Replaced reports whether another version of the handler served an earlier round.
func (p *Pass) Replaced() (yes bool) {
	p.locked(func(l *ledger) { yes = l.st.isReplaced(l.target.version) })
	return yes
}

// Deployed reports whether another version served the round before.
func (p *Pass) Deployed() (yes bool) {
	p.locked(func(l *ledger) { yes = l.st.isDeployed(l.target.version) })
	return yes
}

// unmet is an error if the pass has not come to an effect of an earlier round.
func (p *Pass) unmet() (err error) {
	p.locked(func(l *ledger) { err = l.unmet(p.used) })
	return err
}

// inDoubt reports whether an effect was begun and its end is unknown.
func (p *Pass) inDoubt(key string) (yes bool) {
	p.locked(func(l *ledger) { yes = l.inDoubt(key) })
	return yes
}

// Note remembers a value of the style's own.
func (p *Pass) Note(key string, value json.RawMessage) {
	p.locked(func(l *ledger) { l.grow(entry{kind: listen.Noted, key: key, value: value}, listen.Entry{}) })
}

// Unnote forgets it.
func (p *Pass) Unnote(key string) {
	p.locked(func(l *ledger) { l.remove(func(e entry) bool { return e.kind == listen.Noted && e.key == key }) })
}

// Noted is the value that Note remembered.
func (p *Pass) Noted(key string) (value json.RawMessage, ok bool) {
	return p.value(func(h history) *entry {
		return h.find(func(e *entry) bool { return e.kind == listen.Noted && e.key == key })
	})
}

// Keys are the keys of all answers, effects and notes.
func (p *Pass) Keys() (keys []string) {
	p.locked(func(l *ledger) {
		for i := range l.st.done {
			keys = append(keys, l.st.done[i].key)
		}
	})
	return keys
}

// Happened is the value of an effect that happened.
func (p *Pass) Happened(key string) (value json.RawMessage, ok bool) {
	return p.value(func(h history) *entry { return h.effect(key) })
}

// value is that of an entry of the history.
func (p *Pass) value(find func(h history) *entry) (value json.RawMessage, ok bool) {
	p.locked(func(l *ledger) {
		if e := find(l.st.done); e != nil {
			value, ok = e.value, true
		}
	})
	return value, ok
}

// FinishOnce runs f, which makes the result of the call, unless f may have run before.
func (p *Pass) FinishOnce(ctx context.Context, key string, f func() error) error {
	l := p.at.Load()
	last := entry{kind: listen.Tried, key: key, doubt: true}
	if p.inDoubt(key) {
		p.locked(func(l *ledger) { l.hear(listen.Entry{Kind: listen.InDoubt, Key: shown(key)}) })
		err := &Error{Reason: OutcomeUnknown, Detail: unknownEnd, Unknown: []string{shown(key)}}
		l.give(err)
		return err
	}
	if err := l.noteBegun(ctx, last); err != nil {
		return err
	}
	err := f()
	if err != nil && !inDoubt(ctx, err) {
		l.close(&last)
	}
	return err
}

// Mismatch says how a type of today fails to hold the value of an effect, "" if it holds it.
func (p *Pass) Mismatch(key string, today any) (how string) {
	var value json.RawMessage
	p.locked(func(l *ledger) {
		if e := l.st.done.effect(key); e != nil && l.st.isReplaced(l.target.version) {
			value = e.value
		}
	})
	return lost(value, today)
}

// Diverge is the error of a handler that goes another way than in an earlier round.
func (p *Pass) Diverge(format string, args ...any) error {
	return p.at.Load().diverged(format, args...)
}

// Enter tells the listener that a function of the author's is about to be called.
func (p *Pass) Enter(function string) {
	if p.at.Load().target.rt.opts.Listener != nil {
		p.locked(func(l *ledger) { l.hear(listen.Entry{Kind: listen.Entered, Key: function}) })
	}
}

// Tell tells the listener of something else, also between rounds.
func (p *Pass) Tell(e listen.Entry) { p.locked(func(l *ledger) { l.hear(e) }) }

// Scratch is a place for the style's own during one round.
func (p *Pass) Scratch() *any { return &p.at.Load().local }

// Service is the style's own for all calls of a runtime. The first call makes it.
func (p *Pass) Service(key any, make func(rt *Runtime) keep.Service) keep.Service {
	rt := p.at.Load().target.rt
	return rt.services.Of(key, func() keep.Service { return make(rt) })
}

// Frame is the token that [Pass.Hold] put into the state of the round before.
func (p *Pass) Frame() (token string) {
	p.locked(func(l *ledger) { token = l.st.frame })
	return token
}

// Hold has park called when the round is about to ask. The state carries its token.
func (p *Pass) Hold(park func() (token string, err error)) { p.at.Load().park = park }

// IsWatched reports whether a sweeper looks after the call when its states have expired.
func (p *Pass) IsWatched() (yes bool) {
	p.locked(func(l *ledger) { yes = l.watched })
	return yes
}

// HistoryBytes estimates the memory of the history.
func (p *Pass) HistoryBytes() (bytes int) {
	p.locked(func(l *ledger) { bytes = l.st.weight() })
	return bytes
}

// readAnswer reads an answer as T. An answer of this round that T refuses is asked for again.
func readAnswer[T any](p *Pass, value json.RawMessage, key string) (v T, ok bool) {
	v, err := decodeAnswer[T](value, key)
	if err == nil {
		return v, true
	}
	fresh := false
	p.locked(func(l *ledger) { fresh = l.freshOf(key) != nil })
	if fresh {
		note := question.RefusedAs(reader[T](), value, key)
		p.locked(func(l *ledger) {
			if q := l.freshOf(key); q != nil {
				q.RefusedBy, l.refused = note, true
			}
		})
	}
	var none T
	return none, false
}

// Asks notes that the pass asks q: a key stands for one question in each run, and no effect runs.
func (p *Pass) Asks(q AnyQuestion) (err error) {
	if s := q.asking(); s != nil {
		p.locked(func(l *ledger) { err = p.opens(l, s) })
	}
	return err
}

// Ended is how a handler on a separate goroutine ended.
func (p *Pass) Ended(returned bool, panicked any, err error) error {
	return ended(returned, panicked, err)
}
