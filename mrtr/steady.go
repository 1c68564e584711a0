package mrtr

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// steadyTypes has, by type, whether its values are steady. A program has few types of
// results.
var steadyTypes sync.Map

// isSteady reports whether the type of a value alone tells that its JSON comes out in the
// same bytes when it is decoded and encoded again, so that nobody need try.
func isSteady[T any](saved []byte) bool {
	// A text that is not UTF-8 is first encoded as this, and then as the character.
	return isSteadyType(reflect.TypeFor[T]()) && !bytes.Contains(saved, []byte(`\ufffd`))
}

// isSteadyType is isSteady for values whose texts are UTF-8. It knows structs, slices and
// pointers of booleans, numbers and texts. In other types values get lost: a method may
// write more than it reads, an interface does not keep the digits of a number, two keys
// of a map may become one, and an embedded field may not be decoded.
func isSteadyType(t reflect.Type) bool {
	if known, ok := steadyTypes.Load(t); ok {
		return known.(bool)
	}
	steady := steadyWithin(t, nil)
	steadyTypes.Store(t, steady)
	return steady
}

// steadyWithin is isSteadyType for a type within others. A type that contains itself is not
// known.
func steadyWithin(t reflect.Type, around []reflect.Type) bool {
	if slices.Contains(around, t) || encodesItself(t) || decodesItself(t) {
		return false
	}
	around = append(around, t)
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return t != reflect.TypeFor[json.Number]() // its text is written without quotes
	case reflect.Slice:
		return steadyWithin(t.Elem(), around)
	case reflect.Pointer:
		// A pointer to a nil comes back as a nil pointer, which omitempty leaves out.
		inner := t.Elem().Kind()
		return inner != reflect.Pointer && inner != reflect.Slice && steadyWithin(t.Elem(), around)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous || options != "" && options != "omitempty":
				return false
			case f.IsExported() && !steadyWithin(f.Type, around):
				return false
			}
		}
		return true
	}
	return false
}

// decodesItself reports whether a method reads a type, or encodes it as encoding/json/v2
// does.
func decodesItself(t reflect.Type) bool {
	if t.Kind() != reflect.Interface {
		t = reflect.PointerTo(t)
	}
	// The names are constants for the linker, which then drops the methods of others.
	_, writes := t.MethodByName("MarshalJSONTo")
	_, reads := t.MethodByName("UnmarshalJSONFrom")
	return writes || reads ||
		t.Implements(reflect.TypeFor[json.Unmarshaler]()) || t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
