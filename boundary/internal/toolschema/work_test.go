package toolschema

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A client that gets very much wrong learns of some of it, and the work for that is
// linear in the size of its request.
func TestFindingsAreBounded(t *testing.T) {
	schema := `{"type":"object","additionalProperties":false,"properties":{` +
		`"list":{"type":"array","items":{"type":"string","pattern":"^[a-z]+$","anyOf":[{"minLength":1},{"maxLength":3}]}},` +
		`"open":{"type":"object","additionalProperties":{"type":"integer","multipleOf":2,"enum":[2,4]}},` +
		`"shut":{"type":"object","additionalProperties":false}}}`
	many := func(n int, item func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, item(i))
		}
		return strings.Join(all, ",")
	}
	for _, tc := range []struct {
		explanation string
		args        func(n int) string
		stops       bool // the work does not grow with n
	}{
		{"unknown names", func(n int) string {
			return `{` + many(n, func(i int) string { return fmt.Sprintf(`"n%d":1`, i) }) + `}`
		}, true},
		{"wrong items", func(n int) string {
			return `{"list":[` + many(n, func(i int) string { return fmt.Sprint(i) }) + `]}`
		}, true},
		{"items that break a pattern", func(n int) string {
			return `{"list":[` + many(n, func(i int) string { return `"A"` }) + `]}`
		}, true},
		{"one wrong item behind good ones", func(n int) string {
			return `{"list":[` + many(n, func(i int) string { return `"a"` }) + `,"A"]}`
		}, false},
		{"wrong members", func(n int) string {
			return `{"open":{` + many(n, func(i int) string { return fmt.Sprintf(`"n%d":3`, i) }) + `}}`
		}, true},
		{"unknown members", func(n int) string {
			return `{"shut":{` + many(n, func(i int) string { return fmt.Sprintf(`"n%d":1`, i) }) + `}}`
		}, true},
	} {
		t.Run(tc.explanation, func(t *testing.T) {
			var steps []int
			for _, n := range []int{1000, 2000, 4000} {
				s := compile(t, schema)
				raw := json.RawMessage(tc.args(n))
				findings := s.Arguments(t.Context(), raw, func() string { return "Some Agent 1" })
				require.Equal(t, findings, s.Arguments(t.Context(), raw, func() string { return "Some Agent 1" }), "the same every time")
				require.NotEmpty(t, findings)
				require.LessOrEqual(t, len(findings), maxFindings)
				hints := 0
				for _, f := range findings {
					hints += min(1, len(f.Hint))
				}
				require.LessOrEqual(t, hints, maxHints)
				require.LessOrEqual(t, s.parts.made, 12, "made once, not for each item")

				var args map[string]any
				require.NoError(t, json.Unmarshal(raw, &args))
				e := explainer{ctx: t.Context(), root: s.source, parts: &s.parts, room: maxFindings}
				e.walk(s.source, args, 0)
				steps = append(steps, e.steps)
			}
			if tc.stops {
				require.LessOrEqual(t, steps[2], 2*maxFindings)
			} else {
				require.LessOrEqual(t, steps[2], 4*1001+8, "%v", steps)
			}
		})
	}
}

// The rest is counted, so that the client knows there is more.
func TestTheRestIsCounted(t *testing.T) {
	args := map[string]int{}
	for i := range 1000 {
		args[fmt.Sprintf("n%04d", i)] = 1
	}
	raw, err := json.Marshal(args)
	require.NoError(t, err)
	findings := compile(t, `{"type":"object","properties":{"a":{}}}`).Arguments(t.Context(), raw, nil)
	require.Len(t, findings, maxFindings)
	require.Equal(t, Finding{Problem: "have 951 more names that are not arguments of this tool"}, findings[0])
	require.Equal(t, "/n0048", findings[maxFindings-1].Pointer)
}

// A hint does not list a thousand names.
func TestHintsAreShort(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf(`"argument_%04d":{}`, i))
	}
	findings := compile(t, `{"type":"object","properties":{`+strings.Join(names, ",")+`}}`).
		Arguments(t.Context(), json.RawMessage(`{"argument_1000":1}`), nil)
	require.Contains(t, findings[0].Hint, ", argument_0019, and 980 more.")
	require.Less(t, len(findings[0].Hint), 500)
}

// A call that has ended has nobody to explain anything to.
func TestExplainingHeedsTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := compile(t, `{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}}}}`)
	var list []any
	for range 100_000 {
		list = append(list, "fine")
	}
	e := explainer{ctx: ctx, root: s.source, parts: &s.parts, room: maxFindings}
	e.walk(s.source, map[string]any{"list": append(list, 1.0)}, 0)
	require.LessOrEqual(t, e.steps, 1<<10)
	require.Empty(t, e.found)
}
