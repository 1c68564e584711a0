package prove_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/pipehttp"
	"github.com/mrtr-go/sdk/prove"
)

// Results and questions are compared with the specification's definitions, beyond
// the parts that a client reads.
func TestResultsAreComparedWithTheDefinitions(t *testing.T) {
	result := func(block string) string {
		return `{"resultType":"complete","content":[{"type":"text","text":"done"` + block + `}]}`
	}
	asks := func(params string) string {
		return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{` + params + `}}},"requestState":"s"}`
	}
	const form = `"message":"?","requestedSchema":` + plainForm
	for _, tc := range []struct {
		explanation string
		server      hostile
		broken      string // the rule; "" for none
	}{
		{"as it should be", hostile{}, ""},
		{"with annotations", hostile{end: result(`,"annotations":{"priority":1,"audience":["user"]}`)}, ""},
		{"a priority of seven", hostile{end: result(`,"annotations":{"priority":7}`)}, "result/schema"},
		{"for an audience of robots", hostile{end: result(`,"annotations":{"audience":["robot"]}`)}, "result/schema"},
		{"_meta that is a text", hostile{end: result(`,"_meta":"x"`)}, "result/schema"},
		{"with a form's mode", hostile{asks: asks(`"mode":"form",` + form)}, ""},
		{"a form that is no object", hostile{asks: asks(`"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object"}}}`)}, "result/questions"},
		{"a form whose property has no type", hostile{asks: asks(`"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`)}, "result/questions"},
	} {
		t.Run(tc.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pipes, end := pipehttp.Serve(tc.server)
				defer end()
				report, err := prove.Run(t.Context(), prove.Subject{Dial: prove.HTTP("http://s", &http.Client{Transport: pipes})}, prove.Scenario{Tool: "t"},
					&prove.Options{Only: []string{"result/schema", "result/questions"}})
				require.NoError(t, err)
				var broken string
				for _, f := range report.Failures(prove.Ours) {
					broken += f.Rule.Name
				}
				require.Equal(t, tc.broken, broken, report.String())
			})
		})
	}
}
