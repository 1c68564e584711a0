package internal_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

const limit = 16 << 10

type class string

var types = form.Types{Choices: func(t reflect.Type) ([]form.Choice, bool) {
	return []form.Choice{{Value: "first"}, {Value: "second"}}, t == reflect.TypeFor[class]()
}}

type trip struct {
	To    string    `json:"to"`
	When  time.Time `json:"when" jsonschema:"departure"`
	Class class     `json:"class,omitempty"`
	Seats *uint8    `json:"seats"`
	Meals []class   `json:"meals,omitempty"`
}

const tripForm = `{"type":"object","properties":{"to":{"type":"string"},` +
	`"when":{"type":"string","format":"date-time","description":"departure"},` +
	`"class":{"type":"string","enum":["first","second"]},"seats":{"type":"integer","minimum":0,"maximum":255},` +
	`"meals":{"type":"array","items":{"type":"string","enum":["first","second"]},"uniqueItems":true,"maxItems":2}},"required":["to","when"]}`

func TestDerivedForms(t *testing.T) {
	for _, test := range []struct {
		explanation string
		typ         reflect.Type
		want        string
	}{
		{"a struct is the whole form, its fields in order", reflect.TypeFor[trip](), tripForm},
		{"any other type is one property", reflect.TypeFor[bool](), `{"type":"object","properties":{"key":{"type":"boolean"}},"required":["key"]}`},
		{"a small integer has its range", reflect.TypeFor[int8](), `{"type":"object","properties":{"key":{"type":"integer","minimum":-128,"maximum":127}},"required":["key"]}`},
	} {
		for range 2 { // made, and kept
			schema, err := types.Schema(test.typ, "key")
			require.NoError(t, err, test.explanation)
			require.Equal(t, test.want, string(schema), test.explanation)
		}
		schema, _ := types.Schema(test.typ, "key")
		_, err := form.Of(schema)
		require.NoError(t, err, test.explanation)
	}
}

func TestAnswersAreJudged(t *testing.T) {
	f, err := form.Of(json.RawMessage(tripForm))
	require.NoError(t, err)
	require.Equal(t, "class must be one of the choices, meals must be a list of the choices, seats must be of type integer, at least 0, at most 255, "+
		"to must be of type string, when must be a string in the format date-time; required: to, when", f.Expects())
	const when = `"when":"2026-07-28T09:00:00Z"`
	for _, test := range []struct{ explanation, content, want string }{
		{"what is required is enough", `{"to":"Oslo",` + when + `}`, `{"to":"Oslo",` + when + `}`},
		{"a property the form lacks is dropped", `{"to":"Oslo",` + when + `,"other":{"deep":1}}`, `{"to":"Oslo",` + when + `}`},
		{"a required one is missing", `{` + when + `}`, ""},
		{"nothing", `null`, ""},
		{"a value of another type", `{"to":7,` + when + `}`, ""},
		{"no choice of the enum", `{"to":"Oslo",` + when + `,"class":"third"}`, ""},
		{"a number out of range", `{"to":"Oslo",` + when + `,"seats":256}`, ""},
		{"a fraction for an integer", `{"to":"Oslo",` + when + `,"seats":1.5}`, ""},
		{"a time without its zone", `{"to":"Oslo","when":"2026-07-28T09:00:00"}`, ""},
	} {
		var content map[string]any
		require.NoError(t, json.Unmarshal([]byte(test.content), &content))
		answer, err := f.Accept(content, limit)
		if test.want == "" {
			require.Error(t, err, test.explanation)
			require.Error(t, f.Check(json.RawMessage(test.content)), test.explanation)
			continue
		}
		require.NoError(t, err, test.explanation)
		require.JSONEq(t, test.want, string(answer), test.explanation)
		require.NoError(t, f.Check(json.RawMessage(test.content)), test.explanation)
		v, err := form.Decode[trip](answer, "unused")
		require.NoError(t, err, test.explanation)
		require.Equal(t, "Oslo", v.To)
	}
}

// A form of one plain enum is judged without the validator, and its answer read
// without a decoder: both have to agree with the long way.
func TestPlainEnumsTakeTheShortWay(t *testing.T) {
	for _, value := range []string{"metric", `quo"te`, `back\slash`, "grün", "line\nbreak", "</script>"} {
		for _, title := range []string{"", "a title"} {
			schema, err := form.OfChoices("units", []form.Choice{{Value: value, Title: title}, {Value: "other"}})
			require.NoError(t, err)
			f, err := form.Of(schema)
			require.NoError(t, err)
			answer, err := f.Accept(map[string]any{"units": value, "more": 1}, limit)
			require.NoError(t, err)
			read, err := form.Decode[string](answer, "units")
			require.NoError(t, err)
			require.Equal(t, value, read)
			encoded, err := form.Encode(value, "units")
			require.NoError(t, err)
			require.JSONEq(t, string(encoded), string(answer))
			for _, wrong := range []any{"third", 1.0, nil, []any{value}} {
				_, err = f.Accept(map[string]any{"units": wrong}, limit)
				require.Error(t, err)
			}
			_, err = f.Accept(nil, limit)
			require.Error(t, err)
		}
	}
}

// Whatever is accepted fits the schema when it is judged again, reads into the
// type that the form was derived from, and holds nothing else.
func FuzzAccept(f *testing.F) {
	f.Add(`{"to":"Oslo","when":"2026-07-28T09:00:00Z"}`)
	f.Add(`{"to":"","when":"2026-07-28t09:00:00z","seats":3,"meals":["first"],"__proto__":{}}`)
	f.Add(`{"to":"Oslo","when":"2026-07-28T09:00:00Z","seats":-0,"meals":["first","second","first"]}`)
	f.Add(`{"to":"Oslo","when":"2026-02-30T09:00:00Z","class":"third"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var content map[string]any
		if json.Unmarshal([]byte(text), &content) != nil {
			return
		}
		judge, err := form.Of(json.RawMessage(tripForm))
		require.NoError(t, err)
		answer, err := judge.Accept(content, limit)
		if err != nil {
			return
		}
		require.NoError(t, judge.Check(answer))
		_, err = form.Decode[trip](answer, "")
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer), limit)
		var kept map[string]any
		require.NoError(t, json.Unmarshal(answer, &kept))
		for name := range kept {
			require.Contains(t, []string{"to", "when", "class", "seats", "meals"}, name)
		}
	})
}
