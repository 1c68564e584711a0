package mrtr

import (
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// stateFormat is the version of the encoding. A state of another version is
// refused: the client has to begin anew.
const stateFormat = 1

// appendTo writes the state as JSON with its fields in one fixed order, so
// that any tool can read a state left legible, and decodeState can read it in
// one pass. Empty fields are left out.
func (st *state) appendTo(b []byte) []byte {
	w := jsontext.Begin(b, "v", stateFormat)
	w.Text("call", st.id)
	w.Number("round", st.round)
	w.Number("asked", st.asked)
	w.Number("carried", st.carried)
	w.Text("version", st.version)
	w.Text("sealed", st.sealed)
	w.Flag("journal", st.journal)
	w.Flag("stops", st.stops)
	w.Text("steps", st.steps)
	w.Text("frame", st.frame)
	w.Text("trace", st.trace)
	w.Raw("author", st.author)
	writeEntries(&w, "done", st.done)
	if len(st.pending) > 0 {
		w.List("pending")
		for i := range st.pending {
			p := &st.pending[i]
			w.Object(i, "kind", string(p.kind))
			w.Text("key", p.key)
			w.Text("message", p.message)
			w.Text("url", p.url)
			w.Raw("schema", p.schema)
			w.Flag("lenient", p.lenient)
			w.Flag("tells", p.tells)
			w.Text("type", p.typ)
			w.Number("tries", p.tries)
			w.Text("note", p.note)
			w.Raw("answer", p.answer)
			w.EndObject()
		}
		w.EndList()
	}
	if st.epoch != "" {
		w.Text("epoch", st.epoch)
		w.Number("turn", st.turn)
		w.Text("until", strconv.FormatInt(st.until.UnixMilli(), 10))
	}
	return w.End()
}

// decodeState reads the text of appendTo in its one spelling, so that writing
// the state again gives the same bytes; the values inside are not looked into.
// The text has been authenticated: one that does not fit was sealed by another
// release, and ok is false.
func decodeState(b []byte) (st state, ok bool) {
	r, format := jsontext.Open(b, "v")
	if format != stateFormat {
		return st, false
	}
	st.id = r.Text("call")
	st.round = r.Number("round")
	st.asked = r.Number("asked")
	st.carried = r.Number("carried")
	st.version = r.Text("version")
	st.sealed = r.Text("sealed")
	st.journal = r.Flag("journal")
	st.stops = r.Flag("stops")
	st.steps = r.Text("steps")
	st.frame = r.Text("frame")
	st.trace = r.Text("trace")
	st.author = r.Raw("author")
	st.done = readEntries(&r, "done")
	if r.List("pending") {
		st.pending = make([]pending, 0, 1)
		for i := 0; r.Object(i); i++ {
			st.pending = append(st.pending, pending{
				spec: spec{
					kind:    kind(r.First("kind")),
					key:     r.Text("key"),
					message: r.Text("message"),
					url:     r.Text("url"),
					schema:  r.Raw("schema"),
					lenient: r.Flag("lenient"),
					tells:   r.Flag("tells"),
					typ:     r.Text("type"),
				},
				tries:  r.Number("tries"),
				note:   r.Text("note"),
				answer: r.Raw("answer"),
			})
			r.EndObject()
		}
	}
	if st.epoch = r.Text("epoch"); st.epoch != "" {
		st.turn = r.Number("turn")
		until, err := strconv.ParseInt(r.Text("until"), 10, 64)
		if err != nil {
			return st, false
		}
		st.until = time.UnixMilli(until)
	}
	return st, r.End() && st.id != "" && st.round > 0
}

func writeEntries(w *jsontext.Writer, name string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	w.List(name)
	for i, e := range entries {
		w.Object(i, "kind", string(e.kind))
		w.Text("key", e.key)
		w.Text("digest", e.digest)
		w.Raw("value", e.value)
		w.Flag("unknown", e.unknown)
		w.EndObject()
	}
	w.EndList()
}

func readEntries(r *jsontext.Reader, name string) []entry {
	if !r.List(name) {
		return nil
	}
	entries := make([]entry, 0, 4)
	for i := 0; r.Object(i); i++ {
		entries = append(entries, entry{
			kind:    entryKind(r.First("kind")),
			key:     r.Text("key"),
			digest:  r.Text("digest"),
			value:   r.Raw("value"),
			unknown: r.Flag("unknown"),
		})
		r.EndObject()
	}
	return entries
}
