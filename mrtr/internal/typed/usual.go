package typed

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// maxDepth bounds the values that are decoded here.
const maxDepth = 64

// maxDigits is how many digits a number may have that a float64 holds exactly.
const maxDigits = 15

// usual decodes arguments that mean the same whether they are decoded from their own bytes,
// or first into a map and then from the text that encoding/json makes of that, as go-sdk
// does. They are an object in which no name stands twice, no name has an escape and no number
// is one that a float64 rounds.
func usual(text json.RawMessage) (object map[string]any, ok bool) {
	w := jsontext.Walk(text, maxDepth).Plain()
	value, ok := usualValue(w)
	object, isObject := value.(map[string]any)
	return object, ok && isObject && w.End()
}

func usualValue(w *jsontext.Walker) (value any, ok bool) {
	ok = true
	switch w.Kind() {
	case '{':
		object := map[string]any{}
		for name := range w.Members {
			member, usual := usualValue(w)
			_, twice := object[string(name)]
			ok = ok && usual && !twice
			object[string(name)] = member
		}
		return object, ok
	case '[':
		list := []any{}
		for range w.Elements {
			element, usual := usualValue(w)
			ok = ok && usual
			list = append(list, element)
		}
		return list, ok
	case '"', 't', 'f', 'n':
		return w.Decode(), true
	}
	number := w.Value()
	value, err := strconv.ParseFloat(string(number), 64)
	return value, err == nil && len(number) <= maxDigits
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberText      = reflect.TypeFor[json.Number]()
)

// decodesAlike reports whether the value of a type depends on what its text means, and not
// on how it is spelled. Types with a decoder of their own see the spelling, and a json.Number
// is it. above are the types that t is a part of.
func decodesAlike(t reflect.Type, above []reflect.Type) bool {
	if slices.Contains(above, t) {
		return true
	}
	if t == numberText || t.Kind() != reflect.Interface && (reflect.PointerTo(t).Implements(jsonUnmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler)) {
		return false
	}
	above = append(above, t)
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return true
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return decodesAlike(t.Elem(), above)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && decodesAlike(t.Key(), above) && decodesAlike(t.Elem(), above)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && !decodesAlike(f.Type, above) {
				return false
			}
		}
		return true
	}
	return false
}
