package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/internal/toolschema"
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
	}{
		{"unknown names", func(n int) string {
			return `{` + many(n, func(i int) string { return fmt.Sprintf(`"n%d":1`, i) }) + `}`
		}},
		{"wrong items", func(n int) string {
			return `{"list":[` + many(n, func(i int) string { return fmt.Sprint(i) }) + `]}`
		}},
		{"items that break a pattern", func(n int) string {
			return `{"list":[` + many(n, func(i int) string { return `"A"` }) + `]}`
		}},
		{"one wrong item behind good ones", func(n int) string {
			return `{"list":[` + many(n, func(i int) string { return `"a"` }) + `,"A"]}`
		}},
		{"wrong members", func(n int) string {
			return `{"open":{` + many(n, func(i int) string { return fmt.Sprintf(`"n%d":3`, i) }) + `}}`
		}},
		{"unknown members", func(n int) string {
			return `{"shut":{` + many(n, func(i int) string { return fmt.Sprintf(`"n%d":1`, i) }) + `}}`
		}},
	} {
		var work []float64
		for _, n := range []int{1000, 4000} {
			schema, raw := compile(t, schema), json.RawMessage(tc.args(n))
			judge := func() []toolschema.Finding {
				return schema.Arguments(t.Context(), raw, func() string { return "Some Agent 1" })
			}
			findings := judge()
			require.Equal(t, findings, judge(), "%s: the same every time", tc.explanation)
			require.NotEmpty(t, findings, tc.explanation)
			require.LessOrEqual(t, len(findings), 50, tc.explanation)
			hints := 0
			for _, f := range findings {
				hints += min(1, len(f.Hint))
			}
			require.LessOrEqual(t, hints, 10, tc.explanation)
			work = append(work, testing.AllocsPerRun(1, func() { judge() }))
		}
		require.Less(t, work[1], 5*work[0], tc.explanation)
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
	require.Len(t, findings, 50)
	require.Equal(t, toolschema.Finding{Problem: "have 951 more names that are not arguments of this tool"}, findings[0])
	require.Equal(t, "/n0048", findings[49].Pointer)
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
	raw := json.RawMessage(`{"list":[` + strings.Repeat(`"fine",`, 100_000) + `1]}`)
	require.Equal(t, "/list/100000", s.Arguments(t.Context(), raw, nil)[0].Pointer)
	require.NotEqual(t, "/list/100000", s.Arguments(ctx, raw, nil)[0].Pointer)
}
