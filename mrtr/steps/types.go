package steps

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

// canAsk reports whether some question can have answers of this type. A list knows the types of
// its questions before the questions.
func canAsk(t reflect.Type, key string) bool {
	for t.Kind() == reflect.Pointer { // of an optional question, and of the client's own answers
		t = t.Elem()
	}
	if isReply(t) {
		return canAsk(t.Field(0).Type, key)
	}
	switch t {
	case reflect.TypeFor[mcp.CreateMessageWithToolsResult](), reflect.TypeFor[mcp.ListRootsResult](), reflect.TypeFor[mcp.ElicitResult](), reflect.TypeFor[struct{}]():
		return true
	}
	if t.Kind() == reflect.Map || form.Fillable(t) {
		return true
	}
	_, err := forms.Schema(t, key)
	return err == nil
}

// forms are those of the types that a form can ask for.
var forms = form.Types{Choices: func(t reflect.Type) (all []form.Choice, ok bool) {
	enum, ok := reflect.New(t).Interface().(interface{ Choices() []mrtr.Choice })
	if !ok {
		return nil, false
	}
	for _, c := range enum.Choices() {
		all = append(all, form.Choice(c))
	}
	return all, true
}}

// isYesOrNo reports whether answers of this type may be a person's consent.
func isYesOrNo(t reflect.Type) bool {
	if isReply(t) {
		t = t.Field(0).Type
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Bool
}

var replied = reflect.TypeFor[mrtr.Replied[any]]()

// isReply reports whether a type is a [mrtr.Replied], whose first field is the answer.
func isReply(t reflect.Type) bool {
	generic, _, _ := strings.Cut(replied.Name(), "[")
	return t.PkgPath() == replied.PkgPath() && strings.HasPrefix(t.Name(), generic+"[")
}

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
