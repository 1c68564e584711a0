// Package field describes the fields of a record once, for writing and for reading, in
// either of two formats. Format 2 is compact, because every character of a state passes
// both ends twice in each round. Format 1 is JSON, which any tool can read.
package field

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/internal/compact"
	"github.com/mrtr-go/sdk/internal/jsontext"
)

// The formats of a record, which begins with the number of its own.
const (
	Legible = 1
	Compact = 2
)

// Coder reads or writes fields, so that one description of them serves both, in both
// formats. It must not be copied once it has been used.
type Coder struct {
	mode   coding
	failed bool
	left   int // of the objects of a list, format 2
	text   jsontext.Writer
	parse  jsontext.Reader
	writer compact.Writer
	reader compact.Reader
	at     int // of the object in its list, format 1
}

type coding int

const (
	writesCompact coding = iota
	readsCompact
	writesLegible
	readsLegible
)

// WriteCompact appends a record of format 2, whose objects have bits for so many fields.
func WriteCompact(b []byte, fields int) Coder {
	return Coder{mode: writesCompact, writer: compact.Begin(b, Compact, fields)}
}

// ReadCompact reads what WriteCompact wrote.
func ReadCompact(b []byte, fields int) Coder {
	return Coder{mode: readsCompact, reader: compact.Open(b, Compact, fields)}
}

// WriteLegible appends a record of format 1.
func WriteLegible(b []byte) Coder {
	return Coder{mode: writesLegible, text: jsontext.Begin(b, "v", Legible)}
}

// ReadLegible reads what WriteLegible wrote. The JSON that it reads shares memory with b.
func ReadLegible(b []byte) Coder {
	r, format := jsontext.Open(b, "v")
	return Coder{mode: readsLegible, parse: r, failed: format != Legible}
}

// End returns the bytes of a writer.
func (f *Coder) End() []byte {
	if f.mode == writesCompact {
		return f.writer.End()
	}
	return f.text.End()
}

// Fits reports whether the bytes were those of a writer, up to their end.
func (f *Coder) Fits() bool {
	if f.failed {
		return false
	}
	if f.mode == readsCompact {
		return f.reader.End()
	}
	return f.parse.End()
}

// Text is a text for people.
func (f *Coder) Text(name string, v *string) {
	switch f.mode {
	case writesCompact:
		f.writer.Text(*v)
	case readsCompact:
		*v = f.reader.Text()
	case writesLegible:
		f.text.Text(name, *v)
	case readsLegible:
		*v = f.parse.Text(name)
	}
}

// Key is the key of an object, which its values may repeat.
func (f *Coder) Key(name string, v *string) {
	switch f.mode {
	case writesCompact:
		f.writer.Key(*v)
	case readsCompact:
		*v = f.reader.Key()
	case writesLegible:
		f.text.Text(name, *v)
	case readsLegible:
		*v = f.parse.Text(name)
	}
}

// Token is an identifier.
func (f *Coder) Token(name string, v *string) {
	switch f.mode {
	case writesCompact:
		f.writer.Token(*v)
	case readsCompact:
		*v = f.reader.Token()
	case writesLegible:
		f.text.Text(name, *v)
	case readsLegible:
		*v = f.parse.Text(name)
	}
}

// Raw is JSON, which is not looked into.
func (f *Coder) Raw(name string, v *json.RawMessage) {
	switch f.mode {
	case writesCompact:
		f.writer.Raw(*v)
	case readsCompact:
		*v = f.reader.Raw()
	case writesLegible:
		f.text.Raw(name, *v)
	case readsLegible:
		*v = f.parse.Raw(name)
	}
}

// A Memo knows the compact text of a value that many records have, since the one costs
// more to make of the other than the rest of a record.
type Memo interface {
	// Short is the text of the value, nil where it is not known yet: then NoteShort
	// gets it, and must copy it.
	Short() []byte
	NoteShort(text []byte)
	// Long is the value of a text, nil where it is not known. It is not changed.
	Long(text []byte) []byte
}

// Schema is Raw for a value that a Memo may know.
func (f *Coder) Schema(name string, v *json.RawMessage, m Memo) {
	switch f.mode {
	case writesCompact:
		if short := m.Short(); short != nil {
			f.writer.Short(short)
		} else if short = f.writer.Raw(*v); short != nil {
			m.NoteShort(short)
		}
	case readsCompact:
		*v = f.reader.Long(m.Long)
	default:
		f.Raw(name, v)
	}
}

// Number is an integer.
func (f *Coder) Number(name string, v *int) {
	switch f.mode {
	case writesCompact:
		f.writer.Number(*v)
	case readsCompact:
		*v = f.reader.Number()
	case writesLegible:
		f.text.Number(name, *v)
	case readsLegible:
		*v = f.parse.Number(name)
	}
}

// Flag is a bool.
func (f *Coder) Flag(name string, v *bool) {
	switch f.mode {
	case writesCompact:
		f.writer.Flag(*v)
	case readsCompact:
		*v = f.reader.Flag()
	case writesLegible:
		f.text.Flag(name, *v)
	case readsLegible:
		*v = f.parse.Flag(name)
	}
}

// Time is a time in milliseconds, never left out.
func (f *Coder) Time(name string, v *time.Time) {
	switch f.mode {
	case writesCompact:
		f.writer.Time(v.UnixMilli())
	case readsCompact:
		*v = time.UnixMilli(f.reader.Time())
	case writesLegible:
		f.text.Text(name, strconv.FormatInt(v.UnixMilli(), 10))
	case readsLegible:
		text := f.parse.Text(name)
		ms, err := strconv.ParseInt(text, 10, 64)
		f.failed = f.failed || err != nil || strconv.FormatInt(ms, 10) != text // one spelling alone
		*v = time.UnixMilli(ms)
	}
}

// First is the first field of an object in a list, never left out: one of the known
// words.
func First[S ~string](f *Coder, name string, known []S, v *S) {
	switch f.mode {
	case writesCompact:
		compact.Word(&f.writer, known, *v)
	case readsCompact:
		*v = compact.ReadWord(&f.reader, known)
	case writesLegible:
		f.text.Object(f.at, name, string(*v))
	case readsLegible:
		*v = S(f.parse.First(name))
		f.failed = f.failed || *v == "" // which the compact format has no way to write
	}
}

// Object steps into object i of a list, and is false at the end of the list. A writer
// has n objects; a reader finds out.
func (f *Coder) Object(name string, i, n, fields int) bool {
	f.at = i
	switch f.mode {
	case writesCompact:
		if i == 0 && !f.writer.List(n) {
			return false
		}
		if i == n {
			f.writer.EndList()
			return false
		}
		f.writer.Object(fields)
	case readsCompact:
		if i == 0 {
			if f.left = f.reader.List(); f.left == 0 {
				return false
			}
		}
		if f.left == i || f.reader.Failed() {
			f.reader.EndList()
			return false
		}
		f.reader.Object(fields)
	case writesLegible:
		switch {
		case n == 0:
			return false
		case i == 0:
			f.text.List(name)
		case i == n:
			f.text.EndList()
			return false
		}
	case readsLegible:
		return (i > 0 || f.parse.List(name)) && f.parse.Object(i)
	}
	return true
}

// EndObject steps out of an object of a list.
func (f *Coder) EndObject() {
	switch f.mode {
	case readsCompact:
		f.reader.EndObject()
	case writesLegible:
		f.text.EndObject()
	case readsLegible:
		f.parse.EndObject()
	}
}
