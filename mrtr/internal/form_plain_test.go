package internal_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/form"
)

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
