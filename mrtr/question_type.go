package mrtr

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/mrtr-go/sdk/internal/form"
)

// answerType is a Go type that decodes itself, and so can refuse an answer that
// fits its form. The state names it, so that the answer is judged before the
// handler is entered: by any process that has made a question of the type before.
// In another, the handler finds out ([Call.refuseAnswer]).
type answerType struct {
	typ  reflect.Type
	read func(answer json.RawMessage, key string) error
}

var selfDecoding struct {
	names sync.Map // reflect.Type to its name in states, "" where the form decides
	types sync.Map // from that name to an *answerType
}

// answerTypeName names the type of an answer in the state, if it decodes itself.
func answerTypeName[T any]() string {
	t := reflect.TypeFor[T]()
	if name, ok := selfDecoding.names.Load(t); ok {
		return name.(string)
	}
	base := t // of an optional question
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	name := ""
	if form.Refuses(base) {
		name = registerAnswerType[T]()
	}
	selfDecoding.names.Store(t, name)
	return name
}

// registerAnswerType lets this process judge answers by a type, whether or not it
// decodes itself.
func registerAnswerType[T any]() (name string) {
	base := reflect.TypeFor[T]()
	for base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	sum := sha256.Sum256([]byte(base.PkgPath() + "\x00" + base.String()))
	name = base64.RawURLEncoding.EncodeToString(sum[:9])
	own := &answerType{typ: base, read: func(answer json.RawMessage, key string) error {
		_, err := decodeAnswer[T](answer, key)
		return err
	}}
	if other, loaded := selfDecoding.types.LoadOrStore(name, own); loaded && other.(*answerType).typ != base {
		// Two types that were declared in functions share a name. Either could be
		// meant, so that the handler has to find out.
		selfDecoding.types.Store(name, &answerType{typ: base, read: func(json.RawMessage, string) error { return nil }})
	}
	return name
}

// refusal says why the type of an answer refuses it, "" if it does not, or if this
// process does not know the type.
func (p *pending) refusal(answer json.RawMessage) string {
	if p.typ == "" {
		return ""
	}
	t, ok := selfDecoding.types.Load(p.typ)
	if !ok {
		return ""
	}
	return refusalBy(t.(*answerType).read, answer, p.key)
}

// refusalBy is the note for the user. It names the properties that were refused. The
// text of an error is not the user's business, since it may repeat the answer or
// name a Go type; an error has advice for the user where it has a method
// ToolErrorHints.
func refusalBy(read func(json.RawMessage, string) error, answer json.RawMessage, key string) string {
	err := read(answer, key)
	if err == nil {
		return ""
	}
	var content map[string]json.RawMessage
	var refused []string
	if json.Unmarshal(answer, &content) == nil && len(content) > 1 {
		for _, name := range slices.Sorted(maps.Keys(content)) {
			alone, _ := json.Marshal(map[string]json.RawMessage{name: content[name]})
			if read(alone, key) != nil {
				refused = append(refused, name)
			}
		}
	}
	if len(refused) == 0 { // it is one property, or they do not go together
		refused = slices.Sorted(maps.Keys(content))
	}
	note := "The answer cannot be used: " + strings.Join(refused, ", ") + "."
	var advice interface{ ToolErrorHints() []string }
	if errors.As(err, &advice) {
		note += " " + strings.Join(advice.ToolErrorHints(), " ")
	}
	return note
}
