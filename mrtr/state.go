package mrtr

import (
	"encoding/json"
	"slices"
	"time"
	"unsafe"

	"github.com/mrtr-go/sdk/internal/form"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
)

// state holds the facts of a call that survive from round to round, in the token.
type state struct {
	id      string  // of the call, minted in round one
	round   int     // the round that sealed it
	asked   int     // rounds so far that asked something
	carried int     // rounds so far that only carried state
	version string  // of the handler that the call began with
	sealed  string  // of the one that sealed this, where that is another
	journal bool    // the call began in Journal or Resumable
	stops   bool    // the handler has called OnStop
	steps   string  // fingerprint of the step list, "" for other styles
	frame   string  // the token of the frame, "" where none is held
	seen    *sender // for the observer, nil where it has nothing; its trace alone is in the bytes
	author  json.RawMessage
	done    []entry
	pending []pending
	turns   *turns // nil for a call whose rounds are not remembered in a store
}

// turns are the facts of a call whose rounds are remembered, see [Options.Store]. They
// are replaced and never changed, since states that were copied share them.
type turns struct {
	epoch string // of the store's contents
	next  int    // the number that the next round which enters the handler, or ends it, claims
	until int64  // in Unix milliseconds, the end of every state that asks for this turn
}

// entry is an answer, or the value of an effect. Entries are in the order in which
// they happened.
type entry struct {
	kind    entryKind
	key     string
	digest  string // of the question; "" for effects, and while asked is set
	value   json.RawMessage
	unknown bool // of an effect: nobody knows whether it happened

	// Of an answer, in this round alone: its question, whose digest few calls need; it
	// has just come; and the handler read it.
	asked       *spec
	fresh, read bool
}

// wording is the digest of the question that was answered.
func (e *entry) wording() string {
	if e.asked != nil {
		return e.asked.digest()
	}
	return e.digest
}

// settleWording makes the digest, for a state that goes out.
func (e *entry) settleWording() {
	if e.asked != nil {
		e.digest, e.asked = e.asked.digest(), nil
	}
}

// happened reports whether the entry is an effect that is known to have happened.
func (e *entry) happened() bool { return e.kind.isEffect() && !e.unknown && len(e.value) > 0 }

type entryKind string

func (k entryKind) isEffect() bool { return k == effectEntry || k == nestedEntry }

// isAttempt reports whether the entry is an effect, or an attempt at one.
func (k entryKind) isAttempt() bool { return k.isEffect() || k == failedEntry || k == triedEntry }

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
	// traceEntry stands for the trace parent in a state's bytes alone, as the last entry,
	// so that a state without one has no field for it.
	traceEntry entryKind = "trace"
)

// pending is a question that has been sent and not been answered: kept in
// full, because an answer is judged by the question as it was sent, which the
// handler may meanwhile word otherwise.
type pending struct {
	*spec                  // shared with the question, and not changed, unless the state brought it
	tries  int             // answers that did not fit
	note   string          // tells the user why the last one did not fit
	answer json.RawMessage // held until the rest of the round is answered

	refusedBy string // in this round: why the handler could not read it
}

// All writes to a state are below. Elsewhere a state is read, or copied whole: from
// a round to the goroutine of linear code, and back.

func newState(id, version string) state { return state{id: id, round: 1, version: version} }

func (st *state) nextRound() { st.round++ }

// countRound counts a round that goes out: of those that ask, or of those that do not.
func (st *state) countRound(asks bool) int {
	counter := &st.carried
	if asks {
		counter = &st.asked
	}
	*counter++
	return *counter
}

// rememberIn makes the rounds of a call that begins remembered.
func (st *state) rememberIn(epoch string) { st.turns = &turns{epoch: epoch} }

// nextTurn begins another turn. A round that asks again without the handler stays in
// the turn it came with, and does not prolong it.
func (st *state) nextTurn(until time.Time) {
	st.turns = &turns{epoch: st.turns.epoch, next: st.turns.next + 1, until: until.UnixMilli()}
}

func (st *state) useJournal() { st.journal = true }

// sealBy notes the version that seals the state.
func (st *state) sealBy(version string) {
	if st.sealed = version; version == st.version {
		st.sealed = ""
	}
}

func (st *state) useStops() { st.stops = true }

func (st *state) useSteps(fingerprint string) { st.steps = fingerprint }

func (st *state) useTrace(parent string) {
	if parent != "" {
		st.seen = &sender{trace: parent}
	}
}

func (st *state) see(s *sender) { st.seen = s }

// fileTrace and takeTrace bring the trace parent into the entries, and out of them.
func (st *state) fileTrace() {
	if st.seen != nil && st.seen.trace != "" {
		st.done = append(st.done[:len(st.done):len(st.done)], entry{kind: traceEntry, digest: st.seen.trace})
	}
}

func (st *state) takeTrace() {
	if n := len(st.done) - 1; n >= 0 && st.done[n].kind == traceEntry {
		if st.seen == nil { // it was read, and not written
			st.useTrace(st.done[n].digest)
		}
		st.done = st.done[:n]
	}
}

func (st *state) useFrame(token string) { st.frame = token }

func (st *state) carry(author json.RawMessage) { st.author = author }

// open makes the questions of a round pending.
func (st *state) open(specs []*spec) {
	st.pending = make([]pending, len(specs))
	for i, s := range specs {
		st.pending[i].spec = s
	}
}

// file moves the answers of a settled round to done, in the order of the questions.
// The answer to a question that was asked anew replaces the one before.
func (st *state) file() {
	for i := range st.done {
		st.done[i].fresh = false
	}
	for i := range st.pending {
		p := &st.pending[i]
		st.forget(p.key)
		st.record(entry{kind: answerEntry, key: p.key, asked: p.spec, value: p.answer, fresh: true})
	}
	st.pending = nil
}

// reopen takes back the answers of a round, some of which were of no use.
func (st *state) reopen(pending []pending) {
	for i := range pending {
		st.forget(pending[i].key)
		pending[i].refusedBy = ""
	}
	st.pending = pending
}

func (st *state) forget(key string) {
	for i := range st.done {
		if e := &st.done[i]; e.kind == answerEntry && e.key == key {
			st.done = append(st.done[:i:i], st.done[i+1:]...)
			return
		}
	}
}

// forgetAnswersFrom drops the answers from an index of the history on.
func (st *state) forgetAnswersFrom(to int) {
	st.done = slices.DeleteFunc(slices.Clone(st.done), func(e entry) bool {
		to--
		return to < 0 && e.kind == answerEntry
	})
}

// forgetStep drops the answer or the value of a step.
func (st *state) forgetStep(key, filed string) {
	st.done = slices.DeleteFunc(slices.Clone(st.done), func(e entry) bool {
		return e.kind == answerEntry && e.key == key || e.key == filed && (e.kind == knownEntry || e.kind == skippedEntry)
	})
}

func (st *state) record(e entry) { st.done = append(st.done, e) }

// tried notes a failed attempt that no code meets again, once for each effect.
func (st *state) tried(key string, unknown bool) {
	for i := range st.done {
		if e := &st.done[i]; e.kind == triedEntry && e.key == key {
			e.unknown = e.unknown || unknown
			return
		}
	}
	st.record(entry{kind: triedEntry, key: key, unknown: unknown})
}

// noteRead notes that the handler read an answer.
func (e *entry) noteRead() { e.read = true }

// nest makes the effects since an index part of the one that ran around them: code
// that replays the outer effect need not ask for them.
func (st *state) nest(since int) {
	for i := since; i < len(st.done); i++ {
		if e := &st.done[i]; e.kind == effectEntry {
			e.kind = nestedEntry
		}
	}
}

// unshare separates the entries from those of the state that this is a copy of.
func (st *state) unshare() { st.done = slices.Clone(st.done) }

// settle holds an answer until the rest of the round has one.
func (p *pending) settle(answer json.RawMessage) { p.answer = answer }

func (p *pending) useForm(f *form.Form) { p.form = f }

// refuse notes why the handler could not read the answer.
func (p *pending) refuse(note string) { p.refusedBy = note }

// again drops an answer that is of no use, and leaves a note for the question's
// next appearance. It ends a call that has asked too often.
func (p *pending) again(note string) error {
	p.answer = nil
	if p.tries++; p.tries > maxTries {
		return &Error{Reason: Unanswered, Key: p.key}
	}
	p.note = note
	return nil
}

func (p *pending) settled() bool { return p.answer != nil }

func (st *state) settled() bool {
	for i := range st.pending {
		if !st.pending[i].settled() {
			return false
		}
	}
	return true
}

// openKeys are the keys of the questions that go out.
func (st *state) openKeys() []string {
	keys := make([]string, 0, len(st.pending))
	for i := range st.pending {
		if p := &st.pending[i]; !p.settled() {
			keys = append(keys, p.key)
		}
	}
	return keys
}

// keepForms keeps the forms of the questions that go out, for their answers.
func (st *state) keepForms() {
	for i := range st.pending {
		if p := &st.pending[i]; p.form != nil && !p.settled() {
			form.Keep(p.schema, p.form)
		}
	}
}

// answer finds the answer to a question, nil if there is none.
func (st *state) answer(key string) *entry {
	for i := range st.done {
		if e := &st.done[i]; e.kind == answerEntry && e.key == key {
			return e
		}
	}
	return nil
}

// hasEffects reports whether an effect has happened, or may have.
func (st *state) hasEffects() bool {
	for i := range st.done {
		if e := &st.done[i]; e.kind.isEffect() || e.unknown {
			return true
		}
	}
	return false
}

// takeOver adds the entries that an earlier run of this turn left behind.
func (st *state) takeOver(deeds []entry) { st.done = append(st.done, deeds...) }

// weight is the memory of a state: answers, effects, questions, and the author's
// value.
func (st *state) weight() int {
	sum := len(st.author) + cap(st.done)*int(unsafe.Sizeof(entry{})) + cap(st.pending)*int(unsafe.Sizeof(pending{}))
	for i := range st.done {
		e := &st.done[i]
		sum += len(e.key) + len(e.digest) + len(e.value)
		if e.asked != nil {
			sum += digest.Len
		}
	}
	for i := range st.pending {
		p := &st.pending[i]
		sum += int(unsafe.Sizeof(spec{})) + len(p.key) + len(p.message) + len(p.url) + len(p.schema) + len(p.note) + len(p.answer)
	}
	return sum
}
