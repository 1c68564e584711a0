package mrtr

import (
	"cmp"
	"encoding/json"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

// A state is sealed as JSON, so that any tool can read one that is left readable:
//
//	{"v":3, "call":id, "round":2, "asked":1, "from":version,
//	 "done":[{"key":"place","digest":"…","value":{"place":"Springfield"}}],
//	 "pending":[{"key":"units","text":"Which units?","form":{…}}]}
//
// It has one spelling: the members in the order in which they are written below, and none
// that has its default, which is "answer" for the kind of an entry and "form" for that of
// a question. The bytes of values are kept, because idempotency keys are made of them.

// stateFormat is the version of the encoding. A state of another version was sealed by
// another release, and does not open.
const stateFormat = 3

// appendTo appends the state's JSON.
func (st *state) appendTo(b []byte) []byte {
	w := jsontext.Begin(b, "v", stateFormat)
	w.Text("call", st.id)
	w.Flag("unentered", st.round == 0)
	w.Number("round", st.round)
	w.Number("asked", int(st.asked))
	w.Number("carried", int(st.carried))
	w.Text("from", st.version)
	w.Text("by", st.sealed)
	w.Flag("journal", st.journal)
	w.Flag("stops", st.stops)
	w.Text("steps", st.steps)
	w.Text("frame", st.frame)
	if st.seen != nil {
		w.Text("trace", st.seen.trace.Parent)
		w.Text("tracestate", st.seen.trace.State)
	}
	w.Raw("author", st.author)
	writeEntries(&w, "done", st.done)
	if len(st.pending) > 0 {
		w.List("pending")
		for i := range st.pending {
			st.pending[i].write(&w, i)
		}
		w.EndList()
	}
	if t := st.turns; t != nil {
		w.Text("epoch", t.epoch)
		w.Number("turn", t.next)
		w.Number("until", int(t.until))
	}
	return w.End()
}

// decodeState reads a state, and shares no memory with the bytes. They have been
// authenticated: if they do not fit, they were sealed by another release, and ok is false.
func decodeState(b []byte) (st state, ok bool) {
	r, format := jsontext.Open(b, "v")
	if format != stateFormat {
		return st, false
	}
	id, unentered := r.Text("call"), r.Flag("unentered")
	round, asked, carried := r.Number("round"), r.Number("asked"), r.Number("carried")
	st = state{
		id: id, round: round, asked: int32(asked), carried: int32(carried),
		version: r.Text("from"), sealed: r.Text("by"), journal: r.Flag("journal"), stops: r.Flag("stops"),
		steps: r.Text("steps"), frame: r.Text("frame"),
	}
	st.useTrace(Trace{Parent: r.Text("trace"), State: r.Text("tracestate")})
	st.author = r.Raw("author")
	st.done = readEntries(&r, "done")
	if r.List("pending") {
		for i := 0; r.Object(i); i++ {
			st.pending = appendPending(st.pending)
			st.pending[i].read(&r)
		}
	}
	if epoch := r.Text("epoch"); epoch != "" {
		st.turns = &turns{epoch, r.Number("turn"), int64(r.Number("until"))}
	}
	return st, r.End() && id != "" && round >= 0 && unentered == (round == 0) && int(st.asked) == asked && int(st.carried) == carried
}

// writeEntries writes a list of entries, of a state or of the record of a turn.
func writeEntries(w *jsontext.Writer, name string, entries []entry) {
	if len(entries) == 0 {
		return
	}
	w.List(name)
	for i := range entries {
		e := &entries[i]
		w.Object(i, "key", e.key)
		if e.kind != answerEntry {
			w.Text("kind", string(e.kind))
		}
		w.Text("digest", e.wording())
		w.Raw("value", e.value)
		w.Flag("unknown", e.unknown)
		w.Flag("free", e.free)
		w.EndObject()
	}
	w.EndList()
}

func readEntries(r *jsontext.Reader, name string) (entries []entry) {
	if !r.List(name) {
		return nil
	}
	for i := 0; r.Object(i); i++ {
		entries = append(entries, entry{
			key: r.First("key"), kind: cmp.Or(entryKind(r.Text("kind")), answerEntry),
			digest: r.Text("digest"), value: r.Raw("value"), unknown: r.Flag("unknown"), free: r.Flag("free"),
		})
		r.EndObject()
	}
	return entries
}

func (p *pending) write(w *jsontext.Writer, i int) {
	w.Object(i, "key", p.key)
	if p.kind != formKind {
		w.Text("kind", string(p.kind))
	}
	w.Text("text", p.message)
	w.Text("url", p.url)
	w.Raw("form", p.schema)
	w.Flag("lenient", p.lenient)
	w.Flag("tells", p.tells)
	w.Text("type", p.typ)
	w.Number("tries", int(p.tries))
	w.Text("note", p.note)
	w.Raw("answer", p.answer)
	if p.lapses != 0 {
		w.Number("until", int(p.lapses))
		w.Raw("default", p.fallback())
	}
	w.EndObject()
}

// appendPending appends a question with a spec of its own. Most states have one question,
// whose two parts are one allocation.
func appendPending(list []pending) []pending {
	if list != nil {
		return append(list, pending{spec: &spec{}})
	}
	first := &struct {
		list [1]pending
		spec spec
	}{}
	first.list[0].spec = &first.spec
	return first.list[:]
}

func (p *pending) read(r *jsontext.Reader) {
	p.key, p.kind = r.First("key"), cmp.Or(kind(r.Text("kind")), formKind)
	p.message, p.url = r.Text("text"), r.Text("url")
	if schema := r.RawText("form"); schema != "" {
		// The process that asked the question has its form, and the schema too.
		if p.form, p.schema = form.Kept(schema); p.form == nil {
			p.schema = json.RawMessage(schema)
		}
	}
	p.lenient, p.tells, p.typ = r.Flag("lenient"), r.Flag("tells"), r.Text("type")
	p.tries, p.note, p.answer = int32(r.Number("tries")), r.Text("note"), r.Raw("answer")
	if p.lapses = int64(r.Number("until")); p.lapses != 0 {
		p.absence = &absence{answer: r.Raw("default")}
	}
	r.EndObject()
}

// writeEffects writes entries for a record, nil where there are none.
func writeEffects(effects []entry) json.RawMessage {
	if len(effects) == 0 {
		return nil
	}
	w := jsontext.Begin(nil, "v", stateFormat)
	writeEntries(&w, "done", effects)
	return w.End()
}

func readEffects(b json.RawMessage) []entry {
	if len(b) == 0 {
		return nil
	}
	r, _ := jsontext.Open(b, "v")
	return readEntries(&r, "done")
}
