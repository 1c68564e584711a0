package mrtr

import (
	"bytes"
	"time"

	"github.com/mrtr-go/sdk/internal/form"
	"github.com/mrtr-go/sdk/mrtr/internal/field"
)

// A state has the two formats of package field: the legible one where states are left
// legible, else the compact one. Both are read whatever this runtime writes, so that
// instances with other settings serve one another's rounds.

// The fields that an object of the compact format has bits for. More of them are another format.
const (
	stateBits   = 16
	entryBits   = 8
	pendingBits = 16
)

// fields names the fields of a state in one fixed order, for a writer and a reader
// of either format. Empty fields are left out.
func (st *state) fields(f *field.Coder) {
	f.Token("call", &st.id)
	f.Number("round", &st.round)
	f.Number("asked", &st.asked)
	f.Number("carried", &st.carried)
	f.Token("version", &st.version)
	f.Token("sealed", &st.sealed)
	f.Flag("journal", &st.journal)
	f.Flag("stops", &st.stops)
	f.Token("steps", &st.steps)
	f.Token("frame", &st.frame)
	f.Raw("author", &st.author)
	st.fileTrace()
	entryFields(f, "done", &st.done)
	st.takeTrace()
	for i := 0; f.Object("pending", i, len(st.pending), pendingBits); i++ {
		st.pending = nthPending(st.pending, i)
		st.pending[i].fields(f)
		f.EndObject()
	}
	var t turns
	if st.turns != nil {
		t = *st.turns
	}
	if f.Token("epoch", &t.epoch); t.epoch == "" {
		return
	}
	f.Number("turn", &t.next)
	until := time.UnixMilli(t.until)
	f.Time("until", &until)
	t.until = until.UnixMilli()
	if st.turns == nil {
		read := t
		st.turns = &read
	}
}

func entryFields(f *field.Coder, name string, entries *[]entry) {
	for i := range *entries {
		(*entries)[i].settleWording()
	}
	for i := 0; f.Object(name, i, len(*entries), entryBits); i++ {
		*entries = nth(*entries, i)
		(*entries)[i].fields(f)
		f.EndObject()
	}
}

func (e *entry) fields(f *field.Coder) {
	field.First(f, "kind", entryKinds[:], &e.kind)
	f.Key("key", &e.key)
	f.Token("digest", &e.digest)
	f.Raw("value", &e.value)
	f.Flag("unknown", &e.unknown)
}

func (p *pending) fields(f *field.Coder) {
	field.First(f, "kind", kinds[:], &p.kind)
	f.Key("key", &p.key)
	f.Text("message", &p.message)
	f.Text("url", &p.url)
	f.Schema("schema", &p.schema, p)
	f.Flag("lenient", &p.lenient)
	f.Flag("tells", &p.tells)
	f.Token("type", &p.typ)
	f.Number("tries", &p.tries)
	f.Text("note", &p.note)
	f.Raw("answer", &p.answer)
}

// A question knows the compact text of its schema by its form, and a question that came
// with a state finds its schema by the text. Other kinds of question have no form.

func (p *pending) Short() []byte {
	if p.form == nil {
		return nil
	}
	return p.form.Short(p.key)
}

func (p *pending) NoteShort(text []byte) {
	if p.form != nil {
		p.form.NoteShort(p.key, text)
	}
}

func (p *pending) Long(text []byte) []byte { return form.Long(p.key, text) }

// The kinds by their number in format 2. New ones are added at the end.
var (
	entryKinds = [...]entryKind{answerEntry, effectEntry, nestedEntry, failedEntry, triedEntry, knownEntry, skippedEntry, traceEntry}
	kinds      = [...]kind{formKind, urlKind, sampleKind, toolsKind, rootsKind}
)

// nth is the list with an element of this number. A reader has to make it.
func nth[T any](list []T, i int) []T {
	if i < len(list) {
		return list
	}
	return append(list, *new(T))
}

// nthPending is nth for questions, each of which a reader gives a spec of its own. Most
// states have one question, whose two parts are one allocation.
func nthPending(list []pending, i int) []pending {
	switch {
	case i < len(list):
		return list
	case i > 0:
		return append(list, pending{spec: &spec{}})
	}
	first := &struct {
		list [1]pending
		spec spec
	}{}
	first.list[0].spec = &first.spec
	return first.list[:]
}

// appendTo writes the state in format 2.
func (st *state) appendTo(b []byte) []byte {
	f := field.WriteCompact(b, stateBits)
	st.fields(&f)
	return f.End()
}

// appendLegible writes the state in format 1.
func (st *state) appendLegible(b []byte) []byte {
	f := field.WriteLegible(b)
	st.fields(&f)
	return f.End()
}

// decodeState reads a state of either format, and shares no memory with the bytes; the
// values inside are not looked into. The bytes have been authenticated: if they do not fit, they were sealed by another
// release, and ok is false.
func decodeState(b []byte) (st state, ok bool) {
	f := field.ReadCompact(b, stateBits)
	if len(b) > 0 && b[0] == '{' {
		f = field.ReadLegible(bytes.Clone(b))
	}
	st.fields(&f)
	return st, f.Fits() && st.id != "" && st.round > 0
}
