package mrtr

import "encoding/json"

// state is what a call carries from round to round, sealed into the token.
type state struct {
	id      string // of the call, minted in round one
	round   int    // the round that sealed it
	asked   int    // rounds so far that asked something
	carried int    // rounds so far that only carried state
	version string // of the tool that sealed it
	steps   string // fingerprint of the step list, "" for other styles
	frame   string // names the suspended handler, "" where none is held
	author  json.RawMessage
	done    []entry
	pending []pending
}

// entry is something that happened and is remembered: an answer, or the value
// of an effect. Their order is the order in which they happened.
type entry struct {
	kind   entryKind
	key    string
	digest string // of the question; "" for effects
	value  json.RawMessage
}

type entryKind string

func (k entryKind) isEffect() bool { return k == effectEntry || k == nestedEntry }

const (
	answerEntry entryKind = "answer"
	effectEntry entryKind = "effect"
	// nestedEntry is an effect that ran inside another: what remembers the
	// outer one need not ask for it.
	nestedEntry entryKind = "nested"
	// knownEntry is a question that a step found answered already, and
	// skippedEntry a step that was passed over.
	knownEntry   entryKind = "known"
	skippedEntry entryKind = "skipped"
)

// pending is a question that has been sent and not been answered: kept in
// full, because an answer is judged by the question as it was sent, which the
// handler may meanwhile word otherwise.
type pending struct {
	spec
	tries  int             // answers that did not fit
	note   string          // what was wrong with the last one
	answer json.RawMessage // held until the rest of the round is answered
}

func (p *pending) settled() bool { return p.answer != nil }

// stateFormat is the version of the encoding. A state of another version is
// refused: the client has to begin anew.
const stateFormat = 1

// appendTo writes the state as JSON with its fields in one fixed order, so
// that any tool can read a state left legible, and decodeState can read it in
// one pass. Empty fields are left out.
func (st *state) appendTo(b []byte) []byte {
	w := fieldWriter{b: append(b, `{"v":`...)}
	w.b = appendInt(w.b, stateFormat)
	w.text("call", st.id)
	w.number("round", st.round)
	w.number("asked", st.asked)
	w.number("carried", st.carried)
	w.text("version", st.version)
	w.text("steps", st.steps)
	w.text("frame", st.frame)
	w.raw("author", st.author)
	if len(st.done) > 0 {
		w.open("done")
		for i, e := range st.done {
			w.element(i, "kind", string(e.kind))
			w.text("key", e.key)
			w.text("digest", e.digest)
			w.raw("value", e.value)
			w.b = append(w.b, '}')
		}
		w.b = append(w.b, ']')
	}
	if len(st.pending) > 0 {
		w.open("pending")
		for i := range st.pending {
			p := &st.pending[i]
			w.element(i, "kind", string(p.kind))
			w.text("key", p.key)
			w.text("message", p.message)
			w.text("url", p.url)
			w.raw("schema", p.schema)
			w.flag("lenient", p.lenient)
			w.number("tries", p.tries)
			w.text("note", p.note)
			w.raw("answer", p.answer)
			w.b = append(w.b, '}')
		}
		w.b = append(w.b, ']')
	}
	return append(w.b, '}')
}

// decodeState reads what appendTo wrote, and nothing else: what it reads is
// written the same again, but for the values inside, which it leaves alone. The
// bytes have been authenticated, so a state that cannot be read was sealed by
// another release, and ok is false.
func decodeState(b []byte) (st state, ok bool) {
	r := fieldReader{b: b}
	if !r.literal(`{"v":`) || r.integer() != stateFormat {
		return st, false
	}
	st.id = r.text("call")
	st.round = r.number("round")
	st.asked = r.number("asked")
	st.carried = r.number("carried")
	st.version = r.text("version")
	st.steps = r.text("steps")
	st.frame = r.text("frame")
	st.author = r.raw("author")
	if r.open("done") {
		st.done = make([]entry, 0, 4)
		for i := 0; r.element(i); i++ {
			st.done = append(st.done, entry{
				kind:   entryKind(r.first("kind")),
				key:    r.text("key"),
				digest: r.text("digest"),
				value:  r.raw("value"),
			})
			r.literal("}")
		}
	}
	if r.open("pending") {
		st.pending = make([]pending, 0, 1)
		for i := 0; r.element(i); i++ {
			st.pending = append(st.pending, pending{
				spec: spec{
					kind:    kind(r.first("kind")),
					key:     r.text("key"),
					message: r.text("message"),
					url:     r.text("url"),
					schema:  r.raw("schema"),
					lenient: r.flag("lenient"),
				},
				tries:  r.number("tries"),
				note:   r.text("note"),
				answer: r.raw("answer"),
			})
			r.literal("}")
		}
	}
	r.literal("}")
	return st, !r.failed && len(r.b) == 0 && st.id != "" && st.round > 0
}
