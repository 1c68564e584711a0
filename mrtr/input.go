package mrtr

import (
	"encoding/json"
	"reflect"
)

// repeat hands out the input of a handler that may be entered more than once
// in a round, so that no entry sees what another did to it.
func repeat[In any](in In, mutable bool) func() (In, error) {
	if !mutable {
		return func() (In, error) { return in, nil }
	}
	snapshot, err := json.Marshal(in)
	first := true
	return func() (again In, _ error) {
		if first {
			first = false
			return in, nil
		}
		if err == nil {
			err = json.Unmarshal(snapshot, &again)
		}
		return again, err
	}
}

// hasReferences reports whether a copy of a value shares memory with it.
func hasReferences(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for f := range fieldsOf(t) {
			if hasReferences(f.Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return hasReferences(t.Elem())
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return true
	}
	return false
}
