package steps

import (
	"reflect"
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
