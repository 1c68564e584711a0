package mrtr_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

const limit = 16 << 10

type cabin string

var types = form.Types{Choices: func(t reflect.Type) ([]form.Choice, bool) {
	return []form.Choice{{Value: "first"}, {Value: "second"}}, t == reflect.TypeFor[cabin]()
}}

type journey struct {
	To    string    `json:"to"`
	When  time.Time `json:"when" jsonschema:"departure"`
	Class cabin     `json:"class,omitempty"`
	Seats *uint8    `json:"seats"`
	Meals []cabin   `json:"meals,omitempty"`
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
		{"a struct is the whole form, its fields in order", reflect.TypeFor[journey](), tripForm},
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
		v, err := form.Decode[journey](answer, "unused")
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
		_, err = form.Decode[journey](answer, "")
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer), limit)
		var kept map[string]any
		require.NoError(t, json.Unmarshal(answer, &kept))
		for name := range kept {
			require.Contains(t, []string{"to", "when", "class", "seats", "meals"}, name)
		}
	})
}

// manyChoices is a list of titled choices, the costliest property that a form can have.
func manyChoices(n int) (schema json.RawMessage, values []any) {
	choices := make([]string, n)
	for i := range choices {
		choices[i] = fmt.Sprintf(`{"const":"c%d","title":"Choice %d"}`, i, i)
		values = append(values, fmt.Sprint("c", i))
	}
	return json.RawMessage(`{"type":"object","properties":{"list":{"type":"array","items":{"anyOf":[` + strings.Join(choices, ",") + `]}}},"required":["list"]}`), values
}

// The work on an answer grows with the answer alone, not with the choices that each
// of its items could be, and ends where the answer is too long. Allocations stand
// for the work: a validator makes some for each item it holds against a choice.
func TestTheCostOfAnAnswerIsLinear(t *testing.T) {
	schema, values := manyChoices(1000)
	f, err := form.Of(schema)
	require.NoError(t, err)

	work := func(content map[string]any, fits bool) float64 {
		return testing.AllocsPerRun(3, func() {
			_, err := f.Accept(content, limit)
			require.Equal(t, fits, err == nil, err)
		})
	}
	require.Less(t, work(map[string]any{"list": values}, true), 2.5*float64(len(values)))

	last := values[len(values)-1]
	for _, items := range []int{2_000, 20_000, 200_000} {
		list := make([]any, items)
		for i := range list {
			list[i] = last
		}
		require.Less(t, work(map[string]any{"list": list}, false), 20.0, "%d items", items)
	}
	require.Less(t, work(map[string]any{"list": []any{strings.Repeat("x", 1<<20)}}, false), 20.0, "one long item")

	unasked := map[string]any{"list": values[:1]}
	for i := range 20_000 {
		unasked[fmt.Sprint("other", i)] = last
	}
	require.Less(t, work(unasked, true), 30.0, "properties that were not asked for")
}

// A long answer is found to be one before any value is judged.
func TestAnAnswerIsMeasuredBeforeItIsJudged(t *testing.T) {
	f, err := form.Of(json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","pattern":"^a*$"},"more":{"type":"string"}}}`))
	require.NoError(t, err)
	for _, test := range []struct {
		explanation string
		content     map[string]any
		note        string
	}{
		{"as long as it may be", map[string]any{"text": strings.Repeat("a", 80)}, ""},
		{"too long in one property", map[string]any{"text": strings.Repeat("b", 200)}, "too long: it may have 100 bytes"},
		{"too long in both together", map[string]any{"text": strings.Repeat("b", 60), "more": strings.Repeat("a", 60)}, "too long"},
		{"too long once it is encoded", map[string]any{"more": strings.Repeat("\x01", 60)}, "too long"},
		{"of the right length", map[string]any{"text": "b"}, "text must be"},
	} {
		_, err := f.Accept(test.content, 100)
		if test.note == "" {
			require.NoError(t, err, test.explanation)
			continue
		}
		require.ErrorContains(t, err, test.note, test.explanation)
	}
}

// Forms that are kept stay within 8 MiB as their schemas weigh, more of them where the library
// has to judge. A full collection starts afresh.
func TestKeptFormsAreBounded(t *testing.T) {
	for explanation, test := range map[string]struct {
		schema string
		weighs int // at least
	}{
		"long texts":                          {`{"type":"object","title":"%d","description":"` + strings.Repeat("x", 50_000) + `","properties":{"a":{"type":"string"}}}`, 8 * 50_000},
		"properties for the library to judge": {`{"type":"object","title":"%d","properties":{` + patterns(40) + `}}`, 40 * 4 << 10},
		"keywords beside the properties":      {`{"type":"object","title":"%d","minProperties":1,"description":"` + strings.Repeat("x", 5_000) + `","properties":{"a":{"type":"string"}}}`, 96 * 5_000},
		"more than there is room for":         {`{"type":"object","title":"%d","minProperties":1,"description":"` + strings.Repeat("x", 90_000) + `","properties":{"a":{"type":"string"}}}`, 9 << 20},
	} {
		most := 8 << 20 / test.weighs
		var kept []string
		for i := range most + 20 {
			schema := fmt.Sprintf(test.schema, i)
			f, err := form.Of(json.RawMessage(schema))
			require.NoError(t, err, explanation)
			form.Keep(json.RawMessage(schema), f)
			kept = slices.DeleteFunc(append(kept, schema), func(schema string) bool { f, _ := form.Kept(schema); return f == nil })
			require.LessOrEqual(t, len(kept), most, explanation)
			require.Equal(t, most > 0, len(kept) > 0 && kept[len(kept)-1] == schema, explanation)
		}
	}
}

// patterns are properties that only the library can judge.
func patterns(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"string","pattern":"^[a-z]+$"}`, i))
	}
	return strings.Join(all, ",")
}

// A form with nothing to replace keeps its spelling, and one that is plain at first sight
// costs nothing.
func TestPlainLeavesAloneWhatIsPlain(t *testing.T) {
	plain := json.RawMessage(`{"type":"object","properties":{"q":{"type":"string","title":"Größe"}}}`)
	require.Zero(t, testing.AllocsPerRun(10, func() { form.Plain(plain) }))
	for _, schema := range []string{
		string(plain),
		`{"title":"\u00e9\n","properties":{"\u0071":{"title":"a\/b"}}}`,
		`{"properties":{"title":{"enum":["\u202e"],"default":"\u202e"},"description":{"items":{"anyOf":[{"const":"\u001b"}]}}}}`,
		`{"title":`, `[`, `"\u202e"`,
	} {
		require.Equal(t, schema, string(form.Plain(json.RawMessage(schema))))
	}
	require.Equal(t, `{"title":"\u005cu202e","a":"\u202e"}`, string(form.Plain(json.RawMessage(`{"title":"\u202e","a":"\u202e"}`))))
}
