package steps

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// appendShape writes the key and kind of a step, and the form in which its type is encoded.
func (s *step[In]) appendShape(text []byte) []byte {
	kind := "do"
	if s.asks {
		kind = "ask"
	}
	if s.isTogether() {
		kind = "also"
	}
	text = append(text, s.key+"\x00"+kind+"\x00"...)
	return append(appendShape(text, s.typ, nil), 0)
}

// appendShape writes the form in which a type is encoded as JSON, with the names and package
// paths of the types in it, so that a value is not read as another type that happens to fit.
// The types in around are being written, and are not entered again.
func appendShape(b []byte, t reflect.Type, around []reflect.Type) []byte {
	if t.Name() != "" {
		b = strconv.AppendQuote(b, t.PkgPath()+"."+t.Name())
	}
	b = append(b, t.Kind().String()...)
	if slices.Contains(around, t) || encodesItself(t) {
		return b
	}
	around = append(around[:len(around):len(around)], t)
	switch t.Kind() {
	case reflect.Array:
		b = strconv.AppendInt(b, int64(t.Len()), 10)
		b = appendShape(append(b, '['), t.Elem(), around)
	case reflect.Pointer, reflect.Slice:
		b = appendShape(append(b, '['), t.Elem(), around)
	case reflect.Map:
		b = appendShape(append(b, '['), t.Key(), around)
		b = appendShape(append(b, ','), t.Elem(), around)
	case reflect.Struct:
		b = append(b, '{')
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue // JSON does not carry it
			}
			b = append(b, f.Name...)
			b = strconv.AppendQuote(append(b, ' '), f.Tag.Get("json"))
			b = append(appendShape(append(b, ' '), f.Type, around), ';')
		}
		b = append(b, '}')
	}
	return b
}

// encodesItself reports whether the form of a type is that of a method.
func encodesItself(t reflect.Type) bool {
	for _, own := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if t.Implements(own) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}
