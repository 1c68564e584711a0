package form

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"time"
)

// IsWhole reports whether a Go type stands for the whole object of an answer. Any
// other type stands for its one property.
func IsWhole(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Map || t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()
}

// Decode reads an answer, whose one property, where T is not a whole form, has the
// given name.
func Decode[T any](answer json.RawMessage, name string) (T, error) {
	var v T // it does not escape here, as it does to a decoder
	if s, ok := any(&v).(*string); ok {
		if text, ok := plainText(answer, name); ok {
			*s = text
			return v, nil
		}
	}
	return decode[T](answer, name)
}

func decode[T any](answer json.RawMessage, name string) (v T, err error) {
	if IsWhole(reflect.TypeFor[T]()) {
		err = json.Unmarshal(answer, &v)
		return v, err
	}
	var content map[string]json.RawMessage
	if err = json.Unmarshal(answer, &content); err == nil {
		err = json.Unmarshal(content[name], &v)
	}
	return v, err
}

// plainText reads {"name":"text"} without a decoder, where the text needs no
// unescaping, as in the answers to most enums.
func plainText(answer json.RawMessage, name string) (string, bool) {
	rest, ok := bytes.CutPrefix(answer, []byte(`{"`))
	if !ok || len(rest) < len(name)+5 || string(rest[:len(name)]) != name {
		return "", false
	}
	rest, ok = bytes.CutPrefix(rest[len(name):], []byte(`":"`))
	text, end := bytes.CutSuffix(rest, []byte(`"}`))
	if !ok || !end || bytes.ContainsAny(text, `"\`) {
		return "", false
	}
	return string(text), true
}

// Encode is the reverse of [Decode].
func Encode[T any](v T, name string) (json.RawMessage, error) {
	if IsWhole(reflect.TypeFor[T]()) {
		return json.Marshal(v)
	}
	return json.Marshal(map[string]T{name: v})
}

// Refuses reports whether decoding into a type can fail for an answer that fits the
// type's form, because the type, or one inside it, decodes itself.
func Refuses(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[time.Time]() { // its format is judged
		return false
	}
	if refusesItself(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Slice:
		return refusesItself(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i).Type
			if t.Field(i).Anonymous && Refuses(f) {
				return true
			}
			for f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice {
				f = f.Elem()
			}
			if f != reflect.TypeFor[time.Time]() && refusesItself(f) {
				return true
			}
		}
	}
	return false
}

func refusesItself(t reflect.Type) bool {
	return implements[json.Unmarshaler](t) || implements[encoding.TextUnmarshaler](t)
}

// readsText reports whether encoding/json reads a type from strings alone, whatever
// its kind.
func readsText(t reflect.Type) bool {
	return implements[encoding.TextUnmarshaler](t) && !implements[json.Unmarshaler](t)
}

func implements[I any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}
