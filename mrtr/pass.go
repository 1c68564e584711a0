package mrtr

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A Pass is one run of a handler over the history of its call. It is for those who write a
// [Style]: the author of a tool gets its [Pass.Call].
//
// A handler that a style holds keeps its Pass, which is given one round after the other.
type Pass struct {
	call Call
	at   atomic.Pointer[ledger] // of the round
	held *Pass                  // that goes on in place of this one

	asker   Asker // nil where the style cannot wait
	replays bool  // it meets again the failures of earlier rounds

	// Guarded by the lock of the ledger.
	used     []string // effects that it ran, or whose value it read
	met      []string // failures that it met again, each as often as it was met
	read     []*spec  // questions that it asked, or whose answer it read
	complete []func(context.Context)
	mistake  error // ends the call, whatever the handler makes of it

	fewUsed [2]string // most passes use no more
	fewRead [3]*spec
}

// An Asker waits for the answers to questions, in a style whose handlers can wait
// ([Call.Await]).
type Asker interface {
	Await(questions []AnyQuestion) error
	// Again asks a question once more whose answer the handler cannot read, and waits for the next.
	// It is false where the handler cannot wait.
	Again(q AnyQuestion) bool
	// MayRun says why an effect that is not in the history must not run now. The history has
	// so many answers.
	MayRun(key string, answers int) error
	// Life is the context that ends with the handler, rather than with its round.
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

// Held makes the Pass of a handler that the style runs on a goroutine of its own. It has the
// round of this pass until Attach gives it the next.
func (p *Pass) Held(a Asker, replays bool) *Pass {
	return (&Pass{asker: a, replays: replays}).begin(p.at.Load())
}

// Attach gives a held handler's Pass the round of another, in whose place it goes on.
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

// mean notes the question that a key stands for in this pass. The caller holds the lock.
func (p *Pass) mean(q *spec) error {
	for _, other := range p.read {
		if other.key == q.key {
			if !other.sameText(q) && !q.anyWords {
				p.mistake = twice(q.key, "questions")
			}
			return p.mistake
		}
	}
	p.read = append(p.read, q)
	return nil
}

// answer is the answer to a question, in its words.
func (p *Pass) answer(q *spec) (value json.RawMessage, ok bool) {
	p.locked(func(l *ledger) {
		e := l.st.done.answer(q.key)
		if p.mean(q) == nil && e != nil && e.answers(q) {
			value, ok = e.value, true
		}
	})
	return value, ok
}

// hasRead reports whether the pass has asked a question, or read its answer.
func (p *Pass) hasRead(key string) bool {
	return slices.ContainsFunc(p.read, func(q *spec) bool { return q.key == key })
}

// A Given is an answer of the history.
type Given struct {
	Key string
	e   entry
}

// To reports whether it is an answer to q, in the words of q.
func (g *Given) To(q AnyQuestion) bool {
	s := q.asking()
	return s != nil && s.key == g.Key && g.e.answers(s)
}

// Answers are the answers of the call, in the order in which they came.
func (p *Pass) Answers() (all []Given) {
	p.locked(func(l *ledger) {
		for i := range l.st.done {
			if e := &l.st.done[i]; e.kind == listen.Answered {
				all = append(all, Given{e.key, *e})
			}
		}
	})
	return all
}

// Answered reports whether a question has its answer, or is [Known]. It notes the question as
// one that the handler has asked.
func (p *Pass) Answered(q AnyQuestion) (ok bool) {
	s := q.asking()
	if s == nil {
		return q.Err() == nil
	}
	p.locked(func(l *ledger) {
		e := l.st.done.answer(s.key)
		ok = p.mean(s) == nil && e != nil && e.answers(s)
	})
	return ok
}

// GivenAs is the answer under a key, read as T, to whatever words it was given.
func GivenAs[T any](p *Pass, key string) (v T, ok bool) {
	var value json.RawMessage
	p.locked(func(l *ledger) {
		if e := l.st.done.answer(key); e != nil {
			value, ok = e.value, true
		}
	})
	if !ok {
		return v, false
	}
	return readAnswer[T](p, value, key)
}

// Forget takes back an answer, unless an effect stands on it.
func (p *Pass) Forget(key string) (ok bool) {
	p.locked(func(l *ledger) {
		if ok = !l.st.done.standsOn(key); ok {
			l.st.done = l.st.done.without(key)
		}
	})
	return ok
}

// Replaced reports whether another version of the handler served an earlier round.
func (p *Pass) Replaced() (yes bool) {
	p.locked(func(l *ledger) { yes = l.st.isReplaced(l.target.version) })
	return yes
}

// Deployed reports whether the round before was served by another version of the handler, so
// that its questions are that version's.
func (p *Pass) Deployed() (yes bool) {
	p.locked(func(l *ledger) { yes = l.st.isDeployed(l.target.version) })
	return yes
}

// Unmet returns an error for an effect of an earlier round that this pass has come past
// without asking for it.
func (p *Pass) Unmet() (err error) {
	p.locked(func(l *ledger) { err = l.unmet(p.used) })
	return err
}

// Running is the key of an effect that runs, or "".
func (p *Pass) Running() (key string) {
	p.locked(func(l *ledger) {
		if len(l.running) > 0 {
			key = shown(l.running[0].key)
		}
	})
	return key
}

// InDoubt reports whether an effect was attempted and nobody knows whether it happened.
func (p *Pass) InDoubt(key string) (yes bool) {
	p.locked(func(l *ledger) { yes = l.inDoubt(key) })
	return yes
}

// Note remembers a value of the style's own, such as that of a question that nobody was asked.
func (p *Pass) Note(key string, value json.RawMessage) {
	p.locked(func(l *ledger) { l.grow(entry{kind: listen.Noted, key: key, value: value}, listen.Entry{}) })
}

// Noted is the value that Note remembered.
func (p *Pass) Noted(key string) (value json.RawMessage, ok bool) {
	p.locked(func(l *ledger) {
		if e := l.st.done.find(func(e *entry) bool { return e.kind == listen.Noted && e.key == key }); e != nil {
			value, ok = e.value, true
		}
	})
	return value, ok
}

// Unnote forgets the value that Note remembered.
func (p *Pass) Unnote(key string) {
	p.locked(func(l *ledger) {
		l.st.done = slices.DeleteFunc(slices.Clone(l.st.done), func(e entry) bool { return e.kind == listen.Noted && e.key == key })
	})
}

// Filed are the keys of the history: of answers, effects and notes. It is for errors that say
// what has changed.
func (p *Pass) Filed() (keys []string) {
	p.locked(func(l *ledger) {
		for i := range l.st.done {
			keys = append(keys, l.st.done[i].key)
		}
	})
	return keys
}

// Happened is the value of an effect that happened in an earlier round, or earlier in this one.
func (p *Pass) Happened(key string) (value json.RawMessage, ok bool) {
	p.locked(func(l *ledger) {
		if e := l.st.done.effect(key); e != nil {
			value, ok = e.value, true
		}
	})
	return value, ok
}

// Last runs code that makes the result of the call. It may have effects, so where nobody knows
// whether it ran before it does not run again. It is no effect of the call's otherwise.
func (p *Pass) Last(ctx context.Context, key string, f func() error) error {
	l := p.at.Load()
	last := entry{kind: listen.Tried, key: key, doubt: true}
	if p.InDoubt(key) {
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

// Lost says how a type of today fails to hold the value of an effect, made by another version
// of the handler; "" if it does not.
func (p *Pass) Lost(key string, today any) (how string) {
	p.locked(func(l *ledger) {
		if e := l.st.done.effect(key); e != nil {
			how = l.st.lost(l.target.version, e.value, today)
		}
	})
	return how
}

// Diverge is the error of a handler that goes another way than in an earlier round.
func (p *Pass) Diverge(format string, args ...any) error {
	return p.at.Load().diverged(format, args...)
}

// Enter tells the listener that a function of the author's is about to be called.
func (p *Pass) Enter(function string) {
	if p.at.Load().target.rt.listener != nil {
		p.locked(func(l *ledger) { l.hear(listen.Entry{Kind: listen.Entered, Key: function}) })
	}
}

// Tell tells the listener of something else. It is for a held handler, also between rounds.
func (p *Pass) Tell(e listen.Entry) { p.locked(func(l *ledger) { l.hear(e) }) }

// Local is a place for what a style keeps during one round, however often it is entered.
func (p *Pass) Local() *any { return &p.at.Load().local }

// Service is what a style keeps for all calls of a runtime. The first call makes it.
func (p *Pass) Service(key any, make func(rt *Runtime) keep.Service) keep.Service {
	rt := p.at.Load().target.rt
	return rt.services.of(key, func() keep.Service { return make(rt) })
}

// Frame is what the style put into the state of the round before ([Pass.Hold]).
func (p *Pass) Frame() (token string) {
	p.locked(func(l *ledger) { token = l.st.frame })
	return token
}

// Hold has park called when the round is about to ask. The state carries what it returns.
func (p *Pass) Hold(park func() (token string, err error)) { p.at.Load().park = park }

// IsTask reports whether the round runs for a task.
func (p *Pass) IsTask() bool { return isTask(p.at.Load().life) }

// IsKept reports whether a [keep.Keeper] keeps the rounds of the call.
func (p *Pass) IsKept() bool { return p.at.Load().st.isKept() }

// IsWatched reports whether a [keep.Keeper] looks after the call when its states have expired, whether or
// not its handler is still held then.
func (p *Pass) IsWatched() (yes bool) {
	p.locked(func(l *ledger) { yes = l.watched })
	return yes
}

// Weight estimates the memory of the history.
func (p *Pass) Weight() (bytes int) {
	p.locked(func(l *ledger) { bytes = l.st.weight() })
	return bytes
}

// readAnswer reads an answer as T. An answer of this round that T refuses is asked for again.
func readAnswer[T any](p *Pass, value json.RawMessage, key string) (v T, ok bool) {
	v, err := decodeAnswer[T](value, key)
	if err == nil {
		return v, true
	}
	p.locked(func(l *ledger) {
		if q := l.freshOf(key); q != nil {
			q.refusedBy = refusalBy(reader[T](), value, key)
			l.refused = true
		}
	})
	var none T
	return none, false
}

// Mean notes that the pass asks q: a key stands for one question in each run of a handler.
func (p *Pass) Mean(q AnyQuestion) (err error) {
	if s := q.asking(); s != nil {
		p.locked(func(*ledger) { err = p.mean(s) })
	}
	return err
}
