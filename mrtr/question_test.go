package mrtr_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

type (
	empty     struct{}
	nested    struct{ Inner struct{ A string } }
	strange   struct{ C chan int }
	embedding struct{ *trip }
	twice     struct {
		A string `json:"B"`
		B string
	}
	quoted struct {
		N int `json:"n,string"`
	}
	hidden struct {
		Shown string
		_     int
	}
	slice   struct{ Names []string }
	setting struct {
		Name string `jsonschema:"minLength=5"`
	}
	pointers struct{ P **string }
	number   int
	nothing  string
	repeated string
	broken   string
)

func (number) Choices() []mrtr.Choice   { return mrtr.Choices("1") }
func (nothing) Choices() []mrtr.Choice  { return nil }
func (repeated) Choices() []mrtr.Choice { return mrtr.Choices("a", "a") }
func (broken) Choices() []mrtr.Choice   { return mrtr.Choices("a\xff") }

// A question that cannot be asked says so when it is made.
func TestWrongQuestions(t *testing.T) {
	schema := func(s string) mrtr.AnyQuestion { return mrtr.ElicitSchema("q", "?", json.RawMessage(s)) }
	for _, wrong := range []struct {
		explanation string
		question    mrtr.AnyQuestion
		says        string
	}{
		{"the zero question", mrtr.Question[string]{}, "zero Question"},
		{"no key", mrtr.Elicit[string]("", "?"), "1 to 64 characters"},
		{"a long key", mrtr.Elicit[string](strings.Repeat("k", 65), "?"), "1 to 64 characters"},
		{"a strange key", mrtr.Elicit[string]("a b", "?"), "only letters"},
		{"no message", mrtr.Elicit[string]("q", ""), "message"},
		{"a message that is not UTF-8", mrtr.Elicit[string]("q", "\xff"), "UTF-8"},
		{"a map", mrtr.Elicit[map[string]any]("q", "?"), "not a struct"},
		{"a pointer", mrtr.Elicit[*string]("q", "?"), "cannot be asked for"},
		{"a pointer to a struct", mrtr.Elicit[*trip]("q", "?"), "not a struct"},
		{"a function", mrtr.Elicit[func()]("q", "?"), "cannot be asked for"},
		{"an interface", mrtr.Elicit[any]("q", "?"), "cannot be asked for"},
		{"a complex number", mrtr.Elicit[complex128]("q", "?"), "cannot be asked for"},
		{"an array", mrtr.Elicit[[2]class]("q", "?"), "cannot be asked for"},
		{"a list of anything", mrtr.Elicit[[]string]("q", "?"), "only hold an enum"},
		{"a struct without fields", mrtr.Elicit[empty]("q", "?"), "no fields"},
		{"a nested struct", mrtr.Elicit[nested]("q", "?"), "Inner"},
		{"a strange field", mrtr.Elicit[strange]("q", "?"), "chan int"},
		{"an embedded pointer", mrtr.Elicit[embedding]("q", "?"), "named fields only"},
		{"two fields of one name", mrtr.Elicit[twice]("q", "?"), `two fields are named "B"`},
		{"a number in quotes", mrtr.Elicit[quoted]("q", "?"), `option "string"`},
		{"an unexported field", mrtr.Elicit[hidden]("q", "?"), "exported"},
		{"a tag that sets nothing", mrtr.Elicit[setting]("q", "?"), `"minLength=5" would set nothing`},
		{"a list of numbers", schema(`{"type":"object","properties":{"a":{"type":"array","items":{"enum":[1,2]}}}}`), "must be strings"},
		{"a list in a struct", mrtr.Elicit[slice]("q", "?"), "Names"},
		{"a pointer to a pointer", mrtr.Elicit[pointers]("q", "?"), "cannot be asked for"},
		{"an enum of numbers", mrtr.Elicit[number]("q", "?"), "only string types"},
		{"an enum of nothing", mrtr.Elicit[nothing]("q", "?"), "nothing to choose"},
		{"an enum with a value twice", mrtr.Elicit[repeated]("q", "?"), "given twice"},
		{"an enum that is not UTF-8", mrtr.Elicit[broken]("q", "?"), "UTF-8"},
		{"choices of nothing", mrtr.Choose("q", "?"), "nothing to choose"},
		{"an empty choice", mrtr.Choose("q", "?", mrtr.Choices("a", "")...), "empty"},
		{"no address", mrtr.ElicitURL("q", "?", "login"), "absolute address"},
		{"an address without a message", mrtr.ElicitURL("q", "", "https://example.org"), "message"},
		{"no params", mrtr.Sample("q", nil), "needs params"},
		{"roots without a key", mrtr.Roots(""), "1 to 64"},
		{"no schema", schema(``), "cannot be read"},
		{"no JSON", schema(`{`), "cannot be read"},
		{"not an object", schema(`{"type":"string"}`), "object"},
		{"no properties", schema(`{"type":"object"}`), "properties"},
		{"required and not described", schema(`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`), `requires "b"`},
		{"an object inside", schema(`{"type":"object","properties":{"a":{"type":"object"}}}`), "form may use"},
		{"a type or null", schema(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`), "form may use"},
		{"a list of anything, as a schema", schema(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`), "name its choices"},
		{"a format nobody allows", schema(`{"type":"object","properties":{"a":{"type":"string","format":"ipv4"}}}`), `"ipv4"`},
		{"a default for a Confirm", mrtr.Confirm("q", "?").Default(true), "no default"},
		{"a default that is no choice", units.Default("kelvin"), "cannot be an answer"},
		{"a default of another type", mrtr.ElicitSchema("q", "?", json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)).Default(map[string]any{"a": 1}), "cannot be an answer"},
		{"an optional wrong question", mrtr.Optional(mrtr.Elicit[func()]("q", "?")), "cannot be asked for"},
	} {
		t.Run(wrong.explanation, func(t *testing.T) {
			err := wrong.question.Err()
			var usage *mrtr.UsageError
			require.ErrorAs(t, err, &usage)
			require.Contains(t, err.Error(), wrong.says)

			// Asked all the same, it ends the call with that error, unsent.
			rt, seen := newRuntime(t, nil)
			client := connect(t, serveTool(rt, needing(wrong.question), nil), nil)
			out := call(t, client, nil)
			require.True(t, out.IsError)
			require.Equal(t, err.Error(), out.Text)
			require.Empty(t, seen.of(mrtr.QuestionsAsked))
		})
	}
}

func TestTheSchemasOfForms(t *testing.T) {
	type titled struct {
		When time.Time `json:"when" jsonschema:"the day you \"leave\""`
	}
	for _, c := range []struct {
		question mrtr.AnyQuestion
		schema   string
	}{
		{mrtr.Elicit[string]("q", "?"), `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`},
		{mrtr.Elicit[bool]("q", "?"), `{"type":"object","properties":{"q":{"type":"boolean"}},"required":["q"]}`},
		{mrtr.Elicit[uint8]("q", "?"), `{"type":"object","properties":{"q":{"type":"integer","minimum":0,"maximum":255}},"required":["q"]}`},
		{mrtr.Elicit[int64]("other", "?"), `{"type":"object","properties":{"other":{"type":"integer"}},"required":["other"]}`},
		{mrtr.Elicit[class]("q", "?"), `{"type":"object","properties":{"q":{"type":"string","enum":["first","second"]}},"required":["q"]}`},
		{mrtr.Elicit[[]class]("q", "?"), `{"type":"object","properties":{"q":{"type":"array","items":{"type":"string","enum":["first","second"]},"uniqueItems":true,"maxItems":2}},"required":["q"]}`},
		{mrtr.Choose("q", "?", mrtr.Choice{Value: "a", Title: "A"}, mrtr.Choice{Value: "b"}),
			`{"type":"object","properties":{"q":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"b"}]}},"required":["q"]}`},
		{mrtr.Elicit[titled]("q", "?"), `{"type":"object","properties":{"when":{"type":"string","format":"date-time","description":"the day you \"leave\""}},"required":["when"]}`},
	} {
		require.NoError(t, c.question.Err())
		rt, _ := newRuntime(t, nil)
		out := call(t, connect(t, serveTool(rt, needing(c.question), nil), nil), nil)
		require.NotEmpty(t, out.Questions)
		require.JSONEq(t, c.schema, string(out.Questions[0].Schema))
	}
}
