package form

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
)

// Accept judges the content of an answer. It returns the answer as JSON, with the
// properties that the form asks for and no others. An answer that is of no use is
// an error, whose text is for the user who is asked again: it names the properties
// that did not fit, and repeats nothing of the answer.
//
// An answer of more than limit bytes is refused before its values are judged, and
// properties that were not asked for are not looked at. So the work is bounded by
// the form and the limit, whatever a client sends.
func (f *Form) Accept(content map[string]any, limit int) (json.RawMessage, error) {
	if text, ok := content[f.only].(string); ok && len(text) <= limit && f.plain[text] {
		return f.onlyText(text), nil
	}
	var misfits []string
	asked := make(map[string]any, len(f.properties))
	left := limit
	for name, p := range f.properties {
		v, ok := content[name]
		v = decoded(v)
		switch {
		case !ok && p.required, ok && !p.kindFits(v):
			misfits = append(misfits, name+" "+p.expects)
		case ok:
			if left -= len(name) + size(v, left); left < 0 {
				return nil, tooLong(limit)
			}
			asked[name] = v
		}
	}
	for name, v := range asked {
		if note := f.properties[name].judge(v); note != "" {
			misfits = append(misfits, name+" "+note)
		}
	}
	if len(misfits) > 0 {
		return nil, didNotFit(misfits...)
	}
	if f.whole != nil && f.whole.Validate(asked) != nil {
		return nil, didNotFit(f.expects)
	}
	for name, v := range asked {
		if n, ok := v.(float64); ok && n == 0 && f.properties[name].kind == "integer" {
			asked[name] = 0.0 // an integer has no -0, which Go's unsigned types do not read
		}
	}
	answer, err := json.Marshal(asked)
	if err == nil && len(answer) > limit { // some characters take six bytes
		return nil, tooLong(limit)
	}
	return answer, err
}

// Check judges an answer that is encoded already, such as a default.
func (f *Form) Check(answer json.RawMessage) error {
	var content map[string]any
	if err := json.Unmarshal(answer, &content); err != nil {
		return err
	}
	_, err := f.Accept(content, math.MaxInt)
	return err
}

// Covers reports whether an encoded answer fits and has no property that the form does not
// ask for, such as one that it asked for before a deployment.
func (f *Form) Covers(answer json.RawMessage) bool {
	var content map[string]json.RawMessage
	if json.Unmarshal(answer, &content) != nil {
		return false
	}
	for name := range content {
		if _, asked := f.properties[name]; !asked {
			return false
		}
	}
	return f.Check(answer) == nil
}

// LacksAll reports whether these are all properties that the form requires.
func (f *Form) LacksAll(missing []string) bool {
	for name, p := range f.properties {
		if p.required && !slices.Contains(missing, name) {
			return false
		}
	}
	return true
}

// Misfit says why an answer is of no use, in words for the user.
type Misfit struct{ note string }

func (m *Misfit) Error() string { return m.note }

func didNotFit(misfits ...string) error {
	slices.Sort(misfits)
	return &Misfit{"The answer did not fit: " + strings.Join(misfits, ", ") + "."}
}

// Misfit is the error of an answer that somebody else judged: these properties did not fit.
// Without one that the form has, it names what the form expects.
func (f *Form) Misfit(properties []string) error {
	var misfits []string
	for _, name := range properties {
		if p := f.properties[name]; p != nil {
			misfits = append(misfits, name+" "+p.expects)
		}
	}
	if len(misfits) == 0 {
		misfits = []string{f.expects}
	}
	return didNotFit(misfits...)
}

func tooLong(limit int) error {
	return &Misfit{"The answer was too long: it may have " + strconv.Itoa(limit) + " bytes."}
}

// decoded gives a value as a JSON decoder gives it. Only a value that a Go program
// put there itself has another type.
func decoded(v any) any {
	switch v.(type) {
	case nil, string, bool, float64, []any, map[string]any:
		return v
	}
	var plain any
	if text, err := json.Marshal(v); err != nil || json.Unmarshal(text, &plain) != nil {
		return nil // which fits nothing
	}
	return plain
}

// size is about how many bytes of JSON a value takes, and more than limit as soon
// as it is known to be more.
func size(v any, limit int) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []any:
		n := 0
		for _, item := range v {
			if n += 2; n > limit {
				return n
			}
			if text, ok := item.(string); ok {
				n += len(text)
			}
		}
		return n
	}
	return 1
}

// onlyText is the answer to a form whose one property is a string.
func (f *Form) onlyText(text string) json.RawMessage {
	value := make(json.RawMessage, 0, len(f.only)+len(text)+8)
	value = append(jsontext.AppendString(append(value, '{'), f.only), ':')
	return append(jsontext.AppendString(value, text), '}')
}

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
