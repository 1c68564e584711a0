package form

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyChoices is the schema of a list of titled choices, the costliest that a form
// can have.
func manyChoices(t *testing.T, n int) (schema json.RawMessage, values []any) {
	t.Helper()
	choices := make([]Choice, n)
	for i := range choices {
		choices[i] = Choice{Value: fmt.Sprint("c", i), Title: fmt.Sprint("Choice ", i)}
		values = append(values, choices[i].Value)
	}
	items, err := enumSchema(choices, "anyOf")
	require.NoError(t, err)
	return objectSchema([]field{{name: "list", schema: json.RawMessage(`{"type":"array","items":` + string(items) + `}`), required: true}}), values
}

// The work on an answer grows with the answer alone, not with the choices that each
// of its items could be, and ends where the answer is too long. Allocations stand
// for the work: a validator makes some for each item it holds against a choice.
func TestTheCostOfAnAnswerIsLinear(t *testing.T) {
	const limit = 16 << 10
	schema, values := manyChoices(t, 1000)
	f, err := read(schema)
	require.NoError(t, err)
	require.Nil(t, f.properties["list"].rest, "the library judges no list of choices")

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
	f, err := read(json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","pattern":"^a*$"},"more":{"type":"string"}}}`))
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

// Forms that are kept stay within their bound, whatever their size.
func TestKeptFormsAreBounded(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, test := range []struct {
		explanation string
		schema      func(i int) json.RawMessage
	}{
		{"one choice each", func(i int) json.RawMessage { return choicesOf(t, i, 1) }},
		{"a thousand choices each", func(i int) json.RawMessage { return choicesOf(t, i, 1000) }},
		{"a hundred properties each, for the library to judge", func(i int) json.RawMessage {
			fields := make([]field, 100)
			for j := range fields {
				fields[j] = field{name: fmt.Sprint("f", i, "-", j), schema: json.RawMessage(`{"type":"string","pattern":"^[a-z]+$"}`)}
			}
			return objectSchema(fields)
		}},
		{"keywords beside the properties", func(i int) json.RawMessage {
			schema := strings.TrimSuffix(string(choicesOf(t, i, 1)), "}") + `,"minProperties":1,"anyOf":[`
			return json.RawMessage(schema + strings.Repeat(`{"maxProperties":9},`, 100) + `{}]}`)
		}},
	} {
		var c collection
		before := heap()
		first, err := read(test.schema(0))
		require.NoError(t, err, test.explanation)
		fits := maxKept / first.weigh(test.schema(0))
		for i := range 2*fits + fits/2 {
			schema := test.schema(i)
			f, err := read(schema)
			require.NoError(t, err, test.explanation)
			c.keep(schema, f)
			require.LessOrEqual(t, c.weight, maxKept, test.explanation)
		}
		require.NotEmpty(t, c.bySchema, test.explanation)
		require.LessOrEqual(t, len(c.bySchema), fits, test.explanation)
		taken := int64(heap()) - int64(before)
		t.Logf("%s: %d forms weigh %d and take %d bytes", test.explanation, len(c.bySchema), c.weight, taken)
		require.Less(t, taken, int64(c.weight), test.explanation)
		runtime.KeepAlive(c.bySchema)
	}
}

func choicesOf(t *testing.T, form, n int) json.RawMessage {
	t.Helper()
	choices := make([]Choice, n)
	for i := range choices {
		choices[i] = Choice{Value: fmt.Sprint("value ", form, " ", i), Title: fmt.Sprint("title ", i)}
	}
	schema, err := OfChoices("units", choices)
	require.NoError(t, err)
	return schema
}
