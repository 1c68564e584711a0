package mrtr

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
)

// A history is what has happened in a call, in the order in which it happened. Only answers
// leave it again: one that is given anew replaces the one before.
type history []entry

// entry is an answer, or the value of an effect.
type entry struct {
	kind    entryKind
	key     string
	digest  string // of the question; "" for effects, and while asked is set
	value   json.RawMessage
	asked   *spec // of an answer, in this round alone: its question, whose digest few calls need
	meant   *spec // of an answer, in this entry alone: the question that the handler read it with
	fresh   bool  // of an answer, in this round alone: it has just come
	read    bool  // the handler read the answer, in this round; or the effect, in this entry
	unknown bool  // of an effect: nobody knows whether it happened
	free    bool  // of an effect: it stands whatever the answers
}

// wording is the digest of the question that was answered.
func (e *entry) wording() string {
	if e.asked != nil {
		return e.asked.digest()
	}
	return e.digest
}

// settleWordings keeps the digests of the questions that were answered, in place of the
// questions.
func (h history) settleWordings() {
	for i := range h {
		if e := &h[i]; e.asked != nil {
			e.digest, e.asked = e.asked.digest(), nil
		}
	}
}

// happened reports whether the entry is an effect that is known to have happened.
func (e *entry) happened() bool { return e.kind.isEffect() && !e.unknown && len(e.value) > 0 }

type entryKind string

func (k entryKind) isEffect() bool { return k == effectEntry || k == nestedEntry }

// isAttempt reports whether the entry is an effect, or an attempt at one.
func (k entryKind) isAttempt() bool { return k.isEffect() || k.isFailure() }

// standsOnAnswers reports whether the entry is an effect that happened or may have, and
// that was made from the answers before it.
func (e *entry) standsOnAnswers() bool {
	return !e.free && (e.kind.isEffect() || e.kind.isFailure() && e.unknown)
}

// isFailure reports whether the entry is an attempt that failed.
func (k entryKind) isFailure() bool { return k == failedEntry || k == triedEntry }

// isUndoing reports whether the entry is what became of undoing an effect.
func (k entryKind) isUndoing() bool { return k == undoneEntry || k == keptEntry }

// isValue reports whether the entry is the value of a step.
func (k entryKind) isValue() bool { return k.isEffect() || k == knownEntry || k == skippedEntry }

const (
	answerEntry entryKind = "answer"
	effectEntry entryKind = "effect"
	// nestedEntry is an effect that ran inside another: code that replays the outer
	// one need not ask for it.
	nestedEntry entryKind = "nested"
	// failedEntry is an effect that failed in code that replays: it meets the error,
	// which is the value, again. triedEntry is any other attempt that failed.
	failedEntry entryKind = "failed"
	triedEntry  entryKind = "tried"
	// knownEntry is a question that a step found answered already, and
	// skippedEntry a step that was passed over.
	knownEntry   entryKind = "known"
	skippedEntry entryKind = "skipped"
	// undoneEntry is an effect that was undone, or of which nobody knows whether it was,
	// and keptEntry one that could not be. A call that has one has stopped.
	undoneEntry entryKind = "undone"
	keptEntry   entryKind = "kept"
)

// answer finds the answer to a question, nil if there is none.
func (h history) answer(key string) *entry {
	if i := h.answerAt(key); i >= 0 {
		return &h[i]
	}
	return nil
}

// answerAt is the index of an answer in the history, -1 if there is none.
func (h history) answerAt(key string) int {
	for i := range h {
		if e := &h[i]; e.kind == answerEntry && e.key == key {
			return i
		}
	}
	return -1
}

// hasEffectOn reports whether an effect stands on an answer: that it was first tried after.
func (h history) hasEffectOn(answer string) bool {
	at := h.answerAt(answer)
	for i := range h {
		e := &h[i]
		if e.standsOnAnswers() && at < slices.IndexFunc(h, func(a entry) bool { return a.kind.isAttempt() && a.key == e.key }) {
			return true
		}
	}
	return false
}

// inDoubt reports whether nobody knows if an effect happened that was attempted.
func (h history) inDoubt(key string) bool {
	doubtful := false
	for i := range h {
		e := &h[i]
		switch {
		case e.key != key:
		case e.kind.isEffect():
			return false
		default:
			doubtful = doubtful || e.kind.isFailure() && e.unknown
		}
	}
	return doubtful
}

// undoing is what became of undoing an effect, nil where nobody tried.
func (h history) undoing(key string) (last *entry) {
	for i := range h {
		if e := &h[i]; e.key == key && e.kind.isUndoing() {
			last = e
		}
	}
	return last
}

// isFree reports whether an effect stands whatever the answers.
func (h history) isFree(key string) bool {
	return slices.ContainsFunc(h, func(e entry) bool { return e.key == key && e.free })
}

// settleDoubt notes that the attempts at an effect are known not to have happened.
func (h history) settleDoubt(key string) {
	for i := range h {
		if e := &h[i]; e.kind.isFailure() && e.key == key {
			e.unknown = false
		}
	}
}

// noteRead notes that the handler read an answer or an effect.
func (e *entry) noteRead() { e.read = true }

// mean notes the question that the handler reads an answer with, and reports whether it
// is the only one under this key.
func (e *entry) mean(q *spec) bool {
	if e.meant == nil {
		e.meant = q
	}
	return e.meant.sameWords(q)
}

// enterAnew forgets what an entry of the handler has read.
func (h history) enterAnew() {
	for i := range h {
		e := &h[i]
		e.meant, e.read = nil, e.read && e.kind == answerEntry
	}
}

// nest makes the effects since an index part of the one that ran around them: code
// that replays the outer effect need not ask for them.
func (h history) nest(since int) {
	for i := since; i < len(h); i++ {
		if e := &h[i]; e.kind == effectEntry {
			e.kind = nestedEntry
		}
	}
}

// release lets inner effects be asked for again in this entry, since the one that ran
// around them failed and may be tried again.
func (h history) release(claimed map[string]bool) {
	for i := range h {
		if e := &h[i]; e.kind == nestedEntry {
			e.read = false
			delete(claimed, e.key)
		}
	}
}

// hasEffects reports whether an effect has happened, or may have.
func (h history) hasEffects() bool {
	for i := range h {
		if e := &h[i]; e.kind.isEffect() || e.unknown {
			return true
		}
	}
	return false
}

// countEffects counts the entries that are no answers. They are never taken away, and
// keep their order.
func (h history) countEffects() (n int) {
	for i := range h {
		if h[i].kind != answerEntry {
			n++
		}
	}
	return n
}

// effectsSince are the entries that are no answers, after the first n.
func (h history) effectsSince(n int) (effects []entry) {
	for i := range h {
		if e := h[i]; e.kind != answerEntry {
			if n--; n < 0 {
				effects = append(effects, e)
			}
		}
	}
	return effects
}

// answersBefore is the digest of the answers that the call had when it first tried
// an effect: all of them, if it never has. An answer that was replaced since
// counts as given since. An effect that stands whatever the answers has that of none.
func (h history) answersBefore(effect string, free bool) string {
	var answers []*entry
	for i := range h {
		e := &h[i]
		if free || e.kind.isAttempt() && e.key == effect {
			break
		}
		if e.kind == answerEntry {
			answers = append(answers, e)
		}
	}
	slices.SortFunc(answers, func(a, b *entry) int { return strings.Compare(a.key, b.key) })
	var text []byte
	for _, e := range answers {
		for _, part := range []string{e.key, e.wording(), string(e.value)} {
			text = append(append(text, part...), 0)
		}
	}
	return digest.Short(text)
}
