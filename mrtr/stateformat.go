package mrtr

import (
	"bytes"
	"time"
)

// A state has two formats. Format 2 is compact, because every character of a state
// passes both ends twice in each round. Format 1 is JSON, which any tool can read: that
// of states which are left legible. Both are read whatever this runtime writes, so that
// instances with other settings serve one another's rounds.
const (
	legibleFormat = 1
	compactFormat = 2
)

// The fields that an object of format 2 has bits for. More of them are another format.
const (
	stateFields   = 16
	entryFields   = 8
	pendingFields = 16
)

// fields names the fields of a state in one fixed order, for a writer and a reader
// of either format. Empty fields are left out.
func (st *state) fields(f *fieldCoder) {
	f.token("call", &st.id)
	f.number("round", &st.round)
	f.number("asked", &st.asked)
	f.number("carried", &st.carried)
	f.token("version", &st.version)
	f.token("sealed", &st.sealed)
	f.flag("journal", &st.journal)
	f.flag("stops", &st.stops)
	f.token("steps", &st.steps)
	f.token("frame", &st.frame)
	f.raw("author", &st.author)
	st.fileTrace()
	f.entries("done", &st.done)
	st.takeTrace()
	for i := 0; f.object("pending", i, len(st.pending), pendingFields); i++ {
		st.pending = nth(st.pending, i)
		st.pending[i].fields(f)
		f.endObject()
	}
	f.token("epoch", &st.epoch)
	if st.epoch != "" {
		f.number("turn", &st.turn)
		until := time.UnixMilli(st.until)
		f.time("until", &until)
		st.until = until.UnixMilli()
	}
}

func (f *fieldCoder) entries(name string, entries *[]entry) {
	for i := range *entries {
		(*entries)[i].settleWording()
	}
	for i := 0; f.object(name, i, len(*entries), entryFields); i++ {
		*entries = nth(*entries, i)
		(*entries)[i].fields(f)
		f.endObject()
	}
}

func (e *entry) fields(f *fieldCoder) {
	firstField(f, "kind", entryKinds[:], &e.kind)
	f.key("key", &e.key)
	f.token("digest", &e.digest)
	f.raw("value", &e.value)
	f.flag("unknown", &e.unknown)
}

func (p *pending) fields(f *fieldCoder) {
	firstField(f, "kind", kinds[:], &p.kind)
	f.key("key", &p.key)
	f.prose("message", &p.message)
	f.prose("url", &p.url)
	f.raw("schema", &p.schema)
	f.flag("lenient", &p.lenient)
	f.flag("tells", &p.tells)
	f.token("type", &p.typ)
	f.number("tries", &p.tries)
	f.prose("note", &p.note)
	f.raw("answer", &p.answer)
}

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

// appendTo writes the state in format 2.
func (st *state) appendTo(b []byte) []byte {
	f := writeCompact(b, stateFields)
	st.fields(&f)
	return f.end()
}

// appendLegible writes the state in format 1.
func (st *state) appendLegible(b []byte) []byte {
	f := writeLegible(b)
	st.fields(&f)
	return f.end()
}

// decodeState reads a state of either format, and shares no memory with the bytes; the
// values inside are not looked into. The bytes have been authenticated: if they do not fit, they were sealed by another
// release, and ok is false.
func decodeState(b []byte) (st state, ok bool) {
	f := readCompact(b, stateFields)
	if len(b) > 0 && b[0] == '{' {
		f = readLegible(bytes.Clone(b))
	}
	st.fields(&f)
	return st, f.fits() && st.id != "" && st.round > 0
}
