package form

import (
	"encoding"
	"encoding/json"
	"reflect"
	"time"
)

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
