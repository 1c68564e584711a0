package mrtr

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

// state holds the facts of a call that survive from round to round, in the token.
type state struct {
	id      string  // of the call, minted in round one
	round   int     // the round that sealed it
	asked   int32   // rounds so far that asked something
	carried int32   // rounds so far that only carried state
	version string  // of the handler that the call began with
	sealed  string  // of the one that sealed this, where that is another
	journal bool    // the call began in Journal or Resumable
	stops   bool    // the handler has called OnStop
	steps   string  // fingerprint of the step list, "" for other styles
	frame   string  // the token of the frame, "" where none is held
	seen    *sender // for the observer, nil where it has nothing; the trace of round one alone is in the bytes
	author  json.RawMessage
	done    history
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

// pending is a question that has been sent and not been answered: kept in
// full, because an answer is judged by the question as it was sent, which the
// handler may meanwhile word otherwise.
type pending struct {
	*spec                  // shared with the question, and not changed, unless the state brought it
	note   string          // tells the user why the last answer did not fit
	answer json.RawMessage // held until the rest of the round is answered
	lapses int64           // in Unix milliseconds, when silence is an answer; 0 for never
	tries  int32           // answers that did not fit

	// Of this round:
	how       how    // it was answered, until the observer knows
	refusedBy string // why the handler could not read it
}

// All writes to a state are below, and in history.go. Elsewhere a state is read, or copied
// whole: from a round to the goroutine of linear code, and back.

func newState(id, version string) state { return state{id: id, round: 1, version: version} }

func (st *state) nextRound() { st.round++ }

// unenter makes the state that of a call whose handler has not been entered.
func (st *state) unenter() { st.round = 0 }

// countRound counts a round that goes out: of those that ask, or of those that do not.
func (st *state) countRound(asks bool) int {
	counter := &st.carried
	if asks {
		counter = &st.asked
	}
	*counter++
	return int(*counter)
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

func (st *state) useTrace(t Trace) {
	switch {
	case st.seen != nil:
		st.seen.trace = t
	case t.Parent != "":
		st.seen = &sender{trace: t}
	}
}

func (st *state) see(s *sender) { st.seen = s }

func (st *state) useFrame(token string) { st.frame = token }

func (st *state) carry(author json.RawMessage) { st.author = author }

// open makes the questions of a round pending.
func (st *state) open(specs []*spec) {
	st.pending = make([]pending, len(specs))
	for i, s := range specs {
		st.pending[i].spec = s
		if d := s.patience(); d > 0 {
			st.pending[i].lapses = time.Now().Add(d).UnixMilli()
		}
	}
}

// file moves the answers of a settled round to done, in the order of the questions.
// The answer to a question that was asked anew replaces the one before, and stays in its
// place if it is the same.
func (st *state) file() {
	for i := range st.done {
		st.done[i].fresh = false
	}
	for i := range st.pending {
		p := &st.pending[i]
		if e := st.done.answer(p.key); e != nil && p.repeats(e) {
			e.asked, e.fresh, e.read = p.spec, true, false
			continue
		}
		st.forget(p.key)
		st.record(entry{kind: answerEntry, key: p.key, asked: p.spec, value: p.answer, fresh: true})
	}
	st.pending = nil
}

// repeats reports whether a question was answered as it was before.
func (p *pending) repeats(e *entry) bool {
	return bytes.Equal(e.value, p.answer) && e.wording() == p.digest()
}

// reopen takes back the answers of a round that were of no use. The others keep their
// places.
func (st *state) reopen(pending []pending) {
	for i := range pending {
		if p := &pending[i]; !p.settled() {
			st.forget(p.key)
		}
		pending[i].refusedBy = ""
	}
	st.pending = pending
}

func (st *state) forget(key string) {
	if i := st.done.answerAt(key); i >= 0 {
		st.done = append(st.done[:i:i], st.done[i+1:]...)
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

// tried notes a failed attempt that no code meets again: the first at its effect, and the
// first that leaves it in doubt. That one is an entry of its own, so that a turn which ends
// without an outcome leaves the doubt to the next.
func (st *state) tried(attempt entry) {
	for i := range st.done {
		if e := &st.done[i]; e.kind == triedEntry && e.key == attempt.key && (e.unknown || !attempt.unknown) {
			return
		}
	}
	st.record(entry{kind: triedEntry, key: attempt.key, unknown: attempt.unknown, free: attempt.free})
}

// unshare separates the entries from those of the state that this is a copy of.
func (st *state) unshare() { st.done = slices.Clone(st.done) }

// unjudged is the state before its questions are judged.
func (st *state) unjudged() *state {
	before := *st
	before.done, before.pending = slices.Clone(st.done), slices.Clone(st.pending)
	return &before
}

// settle holds an answer until the rest of the round has one.
func (p *pending) settle(answer json.RawMessage) { p.answer = answer }

func (p *pending) useForm(f *form.Form) { p.form = f }

// tell notes how the question was answered, for the observer.
func (p *pending) tell(h how) { p.how = h }

// refuse notes why the handler could not read the answer.
func (p *pending) refuse(note string) { p.refusedBy = note }

// again drops an answer that is of no use, and leaves a note for the question's
// next appearance. It ends a call that has asked too often.
func (p *pending) again(note string) error {
	p.answer = nil
	if p.tries++; p.tries > maxTries {
		return &Error{Reason: Unanswered, Key: p.key}
	}
	p.note = strings.ToValidUTF8(note, "\ufffd") // it may quote anything
	return nil
}

// lapse takes silence for an answer.
func (p *pending) lapse() error {
	p.how = wasSilent
	switch {
	case p.fallback() != nil:
		p.answer = p.fallback()
	case p.lenient || p.tells:
		p.answer = p.outcome(silence)
	default:
		return &Error{Reason: Unanswered, Key: p.key, Detail: notInTime}
	}
	return nil
}

// giveUp ends the call rather than ask again.
func (p *pending) giveUp(detail string) error {
	p.tries++
	return &Error{Reason: Unanswered, Key: p.key, Detail: detail}
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

// takeOver adds the entries that an earlier run of this turn left behind.
func (st *state) takeOver(effects []entry) { st.done = append(st.done, effects...) }

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
		sum += int(unsafe.Sizeof(spec{})) + len(p.key) + len(p.message) + len(p.url) + len(p.schema) + len(p.fallback()) + len(p.note) + len(p.answer)
	}
	return sum
}
