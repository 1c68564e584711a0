package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/failure"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// A history is everything that has happened in a call, in order. It grows under the lock of its
// ledger. An answer given anew replaces the earlier one, and an effect that a check has settled is
// settled in its place.
type history []entry

// entry is an answer, the outcome of an effect or of its undo, or a note of the style.
type entry struct {
	kind     listen.EntryKind
	key      string
	words    string         // of an answer: identifies the words it was given to; "" while asked is set
	asked    *question.Spec // of an answer that came in this round: its question
	value    json.RawMessage
	doubt    bool // it may or may not have happened
	free     bool // it stands whatever the answers are
	checks   bool // of an effect that has begun: its author can check whether it happened
	reworded int  // of an answer: how many times in a row its question was worded anew
	found    bool // of an effect: a check found it in this round
}

func (e *entry) isEffect() bool  { return e.kind == listen.Happened || e.kind == listen.Nested }
func (e *entry) isFailure() bool { return e.kind == listen.Failed || e.kind == listen.Tried }
func (e *entry) isAttempt() bool { return e.isEffect() || e.isFailure() }
func (e *entry) isUndoing() bool { return e.kind == listen.Undone || e.kind == listen.Stands }

// mayStand reports whether the effect happened, or may have.
func (e *entry) mayStand() bool { return e.isEffect() || e.isFailure() && e.doubt }

// wording identifies the words that an answer was given to.
func (e *entry) wording() string {
	if e.asked != nil {
		return e.asked.WordsFor(e.value)
	}
	return e.words
}

// answers reports whether the entry is an answer to this question, in these words.
func (e *entry) answers(q *question.Spec) bool {
	return q.AnyWords || e.asked != nil && e.asked.SameText(q) || e.wording() == q.WordsFor(e.value)
}

// repeats reports whether an answer says the same as an earlier one.
func (e *entry) repeats(old *entry) bool {
	return bytes.Equal(old.value, e.value) && old.wording() == e.wording()
}

// find returns the last entry that satisfies is, or nil.
func (h history) find(is func(*entry) bool) *entry {
	for i := len(h) - 1; i >= 0; i-- {
		if is(&h[i]) {
			return &h[i]
		}
	}
	return nil
}

func (h history) answer(key string) *entry {
	return h.find(func(e *entry) bool { return e.kind == listen.Answered && e.key == key })
}

func (h history) effect(key string) *entry {
	return h.find(func(e *entry) bool { return e.isEffect() && e.key == key })
}

func (h history) undoing(key string) *entry {
	return h.find(func(e *entry) bool { return e.isUndoing() && e.key == key })
}

// hasStopped reports whether its effects have begun to be undone. Such a call must not complete.
func (h history) hasStopped() bool { return h.find((*entry).isUndoing) != nil }

// hasEffects reports whether an effect happened, or may have.
func (h history) hasEffects() bool { return h.find((*entry).mayStand) != nil }

func (h history) count(k listen.EntryKind) (n int) {
	for i := range h {
		if h[i].kind == k {
			n++
		}
	}
	return n
}

// inDoubt reports whether an effect was attempted and may or may not have happened.
func (h history) inDoubt(key string) bool {
	return h.effect(key) == nil && h.find(func(e *entry) bool { return e.isFailure() && e.key == key && e.doubt }) != nil
}

// isFree reports whether an effect stands whatever the answers are.
func (h history) isFree(key string) bool {
	return h.find(func(e *entry) bool { return e.isAttempt() && e.key == key && e.free }) != nil
}

// settle notes that the attempts at an effect are known not to have happened.
func (h history) settle(key string) {
	for i := range h {
		if h[i].isFailure() && h[i].key == key {
			h[i].doubt = false
		}
	}
}

// takenBackWith are an answer to a question, and the attempts after it at effects of which none may stand.
func (h history) takenBackWith(answer string) func(entry) bool {
	stands := func(key string) bool {
		return h.find(func(e *entry) bool { return e.key == key && e.mayStand() }) != nil
	}
	after := false
	return func(e entry) bool {
		is := e.kind == listen.Answered && e.key == answer
		after = after || is
		return is || after && e.isFailure() && !stands(e.key)
	}
}

// file adds an answer, or puts it in the place of the one before.
func (h history) file(a entry) history {
	if old := h.answer(a.key); old != nil {
		*old = a
		return h
	}
	return append(h, a)
}

// standsOn reports whether an effect that may stand was first tried after an answer.
func (h history) standsOn(answer string) bool {
	at := slices.IndexFunc(h, func(e entry) bool { return e.kind == listen.Answered && e.key == answer })
	if at < 0 {
		return false
	}
	for i := range h {
		e := &h[i]
		if e.mayStand() && !e.free && at < slices.IndexFunc(h, func(a entry) bool { return a.isAttempt() && a.key == e.key }) {
			return true
		}
	}
	return false
}

// nest makes the effects since an index part of the one that ran around them: code that
// replays the outer effect need not come to them.
func (h history) nest(since int) {
	for i := since; i < len(h); i++ {
		if h[i].kind == listen.Happened {
			h[i].kind = listen.Nested
		}
	}
}

// appendBasis appends the answers that the call had when it first tried an effect: all of
// them if it never has. An effect that stands whatever the answers has none.
func (h history) appendBasis(text []byte, effect string, free bool) []byte {
	if free {
		return text
	}
	var few [8]*entry
	before := few[:0]
	for i := range h {
		e := &h[i]
		if e.isAttempt() && e.key == effect {
			break
		}
		if e.kind == listen.Answered {
			before = append(before, e)
		}
	}
	slices.SortFunc(before, func(a, b *entry) int { return strings.Compare(a.key, b.key) })
	for _, e := range before {
		text = append(append(text, e.key...), 0)
		text = append(append(text, e.wording()...), 0)
		text = append(append(text, e.value...), 0)
	}
	return text
}

// with adds what an earlier run of the round left: its effects, and the answers that this request does
// not bring. Those were defaults, or known, and the idem of an effect behind one is made of it. Where the
// call ends without its handler, the answers of the earlier run stand in place of those of the request.
func (h history) with(left history, ends bool) history {
	for _, e := range left {
		old := (*entry)(nil)
		if e.kind == listen.Answered {
			old = h.answer(e.key)
		}
		switch {
		case old == nil:
			h = append(h, e)
		case ends && !e.repeats(old):
			*old = e
		}
	}
	return h
}

// withAnswers puts the answers that the round came to among its effects, where they were, and the ones
// that its request brought if they are asked for.
func (h history) withAnswers(since int, brought bool, effects history) (all history) {
	for i, e := range h {
		switch {
		case e.kind == listen.Answered && (i >= since || brought && e.asked != nil):
			all = append(all, e)
		case e.kind != listen.Answered && i >= since && len(effects) > 0:
			all, effects = append(all, effects[0]), effects[1:]
		}
	}
	return append(all, effects...)
}

// effectsSince are the entries since an index that are no answers, for the request that resumes
// the round. Failures after the last effect that may stand are left out, since the code is to
// try those anew. Earlier ones stay, because they decided the way to it: the first card was
// refused, and the second one charged.
func (h history) effectsSince(since int, open []entry) history {
	var all history
	for _, e := range h[min(since, len(h)):] {
		if e.kind != listen.Answered {
			all = append(all, e)
		}
	}
	for end := len(all); len(open) == 0 && end > 0 && all[end-1].isFailure(); end = len(all) {
		if e := all[end-1]; e.doubt {
			open = append(open, entry{kind: listen.Tried, key: e.key, doubt: true, free: e.free, checks: e.checks})
		}
		all = all[:end-1]
	}
	return append(all, open...)
}

// canBeChecked reports whether the author of every effect in doubt can find out whether it
// happened, and there is one.
func (h history) canBeChecked() (any bool) {
	for i := range h {
		e := &h[i]
		switch {
		case !e.isFailure() || !e.doubt || h.effect(e.key) != nil:
		case !e.checks:
			return false
		default:
			any = true
		}
	}
	return any
}

// fates says what became of each effect.
func (h history) fates() (f report.Fates) {
	add := func(list *[]string, key string) {
		if key = shown(key); !slices.Contains(*list, key) {
			*list = append(*list, key)
		}
	}
	for i := range h {
		e := &h[i]
		if !e.isAttempt() {
			continue
		}
		undo := h.undoing(e.key)
		switch {
		case undo != nil && undo.doubt, (undo == nil || undo.kind == listen.Stands) && e.doubt && (e.isEffect() || h.effect(e.key) == nil):
			add(&f.Unknown, e.key)
		case undo != nil && undo.kind == listen.Undone && e.mayStand():
			add(&f.Undone, e.key)
		case e.isEffect() && !e.doubt:
			add(&f.Applied, e.key)
			if undo != nil {
				add(&f.Kept, e.key)
			}
		}
	}
	return f
}

// shown is the key of an effect as its author knows it. A style may put its name in front,
// with a colon, which no key of an author's has.
func shown(key string) string {
	if _, own, ok := strings.Cut(key, ":"); ok {
		return own
	}
	return key
}

// inDoubt reports whether an error of an effect leaves open whether the effect happened. ctx is that
// of the effect.
func inDoubt(ctx context.Context, err error) bool {
	var stop *stopped
	return !errors.As(err, &stop) && failure.InDoubt(ctx, err, ErrIndeterminate)
}

// NotDone marks an error after which the effect has not happened and will not, such as a timeout
// before it was sent. Text and chain stay those of err.
func NotDone(err error) error { return failure.NotDone(err) }

// defaultWithin bounds an effect, the undoing of one, and a round that is kept.
const defaultWithin = 5 * time.Minute

// unknownEnd is the detail of a round that ended with an effect in doubt.
const unknownEnd = "an effect of this call was begun before, and nobody knows how it ended"

// forgetful is the detail of a call that may have been resumed before without a trace.
const forgetful = "the server's store may have lost what this call did"

// handlerGrace is how long an effect may go on after its context has ended.
const handlerGrace = 10 * time.Second
