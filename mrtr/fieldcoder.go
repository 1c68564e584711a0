package mrtr

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/internal/compact"
	"github.com/mrtr-go/sdk/internal/jsontext"
)

// fieldCoder reads or writes fields, so that one description of them serves both, in
// both formats. It must not be copied once it has been used.
type fieldCoder struct {
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

func writeCompact(b []byte, fields int) fieldCoder {
	return fieldCoder{mode: writesCompact, writer: compact.Begin(b, compactFormat, fields)}
}

func readCompact(b []byte, fields int) fieldCoder {
	return fieldCoder{mode: readsCompact, reader: compact.Open(b, compactFormat, fields)}
}

func writeLegible(b []byte) fieldCoder {
	return fieldCoder{mode: writesLegible, text: jsontext.Begin(b, "v", legibleFormat)}
}

func readLegible(b []byte) fieldCoder {
	r, format := jsontext.Open(b, "v")
	return fieldCoder{mode: readsLegible, parse: r, failed: format != legibleFormat}
}

// end returns the bytes of a writer.
func (f *fieldCoder) end() []byte {
	if f.mode == writesCompact {
		return f.writer.End()
	}
	return f.text.End()
}

// fits reports whether the bytes were those of a writer, up to their end.
func (f *fieldCoder) fits() bool {
	if f.failed {
		return false
	}
	if f.mode == readsCompact {
		return f.reader.End()
	}
	return f.parse.End()
}

func (f *fieldCoder) prose(name string, v *string) {
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

// key is the key of an object, which its values may repeat.
func (f *fieldCoder) key(name string, v *string) {
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

// token is an identifier.
func (f *fieldCoder) token(name string, v *string) {
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

func (f *fieldCoder) raw(name string, v *json.RawMessage) {
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

func (f *fieldCoder) number(name string, v *int) {
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

func (f *fieldCoder) flag(name string, v *bool) {
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

// time is a time in milliseconds, never left out.
func (f *fieldCoder) time(name string, v *time.Time) {
	switch f.mode {
	case writesCompact:
		f.writer.Time(v.UnixMilli())
	case readsCompact:
		*v = time.UnixMilli(f.reader.Time())
	case writesLegible:
		f.text.Text(name, strconv.FormatInt(v.UnixMilli(), 10))
	case readsLegible:
		ms, err := strconv.ParseInt(f.parse.Text(name), 10, 64)
		f.failed = f.failed || err != nil
		*v = time.UnixMilli(ms)
	}
}

// firstField is the first field of an object in a list, never left out: one of the known
// words.
func firstField[S ~string](f *fieldCoder, name string, known []S, v *S) {
	switch f.mode {
	case writesCompact:
		compact.Word(&f.writer, known, *v)
	case readsCompact:
		*v = compact.ReadWord(&f.reader, known)
	case writesLegible:
		f.text.Object(f.at, name, string(*v))
	case readsLegible:
		*v = S(f.parse.First(name))
	}
}

// object steps into object i of a list, and is false at the end of the list. A writer
// has n objects; a reader finds out.
func (f *fieldCoder) object(name string, i, n, fields int) bool {
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

// endObject steps out of an object of a list.
func (f *fieldCoder) endObject() {
	switch f.mode {
	case readsCompact:
		f.reader.EndObject()
	case writesLegible:
		f.text.EndObject()
	case readsLegible:
		f.parse.EndObject()
	}
}
