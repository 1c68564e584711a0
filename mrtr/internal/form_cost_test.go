package internal_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

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
