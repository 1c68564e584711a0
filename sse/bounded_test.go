package sse

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBounded(t *testing.T) {
	const rest = `,"required":["a"],"additionalProperties":false}`
	list := func(more string) string {
		return `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}` + more + `}}`
	}
	for _, test := range []struct{ explanation, schema, want string }{
		{"a form without lists", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"a list says its length", list(`,"maxItems":1`) + rest, list(`,"maxItems":1`) + `,"required":["a"],"additionalProperties":false,"allOf":[{"properties":{"a":{"maxItems":1}}}]}`},
		{"a list is as long as its choices are many", list("") + rest, list("") + `,"required":["a"],"additionalProperties":false,"allOf":[{"properties":{"a":{"maxItems":2}}}]}`},
		{"a form with an allOf of its own", list(`,"maxItems":1`) + `,"allOf":[{}]}`, list(`,"maxItems":1`) + `,"allOf":[{}]}`},
		{"no schema", `7`, `7`},
	} {
		got, err := json.Marshal(bounded(json.RawMessage(test.schema)))
		require.NoError(t, err, test.explanation)
		require.Equal(t, test.want, string(got), test.explanation)
	}
	require.Nil(t, bounded(nil))
}
