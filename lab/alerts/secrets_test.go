package alerts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
)

// Whatever hostile clients send, no series and no span has it, and there are no more series than
// after the first of them. The log has the name that they called, if the server does not know it,
// and nothing else: cut, and in quotes, in the line that says so.
func TestNothingThatAClientSendsIsALabel(t *testing.T) {
	clients := 500
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		clients = 10_000
	}
	const canary, named = "CANARY0", "NAMED0" // an id of letters and 2 to 7 has no zero
	f := newSite(t)
	i := f.start("a")
	meta := func(n int, client *wire.Client) map[string]any {
		m := client.Meta()
		m["traceparent"] = fmt.Sprintf("00-%s-%d", canary, n)
		m["tracestate"] = fmt.Sprintf("%s=%d", strings.ToLower(canary), n)
		m["x/"+canary] = n
		return m
	}
	client := i.client(nil)
	attack := func(n int) {
		hostile := fmt.Sprintf("%s %d\n\x1b[31m\"level=ERROR", canary, n)
		content := map[string]any{"sure": hostile, hostile: hostile}
		answer := map[string]any{"sure": map[string]any{"action": "accept", "content": content}, hostile: map[string]any{"action": hostile}}
		name := fmt.Sprintf("%s %d\n\x1b[31m\"level=ERROR %s", named, n, strings.Repeat("x", 1<<10))
		asked, err := client.Send(t.Context(), wire.Request{Name: "refund", Arguments: none{}})
		require.NoError(t, err)
		for _, r := range []struct {
			method string
			params map[string]any
		}{
			{"tools/call", map[string]any{"name": name, "arguments": map[string]any{}}},
			{"tools/call", map[string]any{"name": "refund", "arguments": map[string]any{hostile: hostile}}},
			{"tools/call", map[string]any{"name": "refund", "arguments": map[string]any{}, "requestState": hostile}},
			{"tools/call", map[string]any{"name": "refund", "arguments": map[string]any{}, "requestState": asked.State, "inputResponses": answer}},
			{"prompts/get", map[string]any{"name": name}},
			{"resources/read", map[string]any{"uri": "mem://" + named + fmt.Sprint(n)}},
			{"tasks/get", map[string]any{"taskId": hostile}},
			{"x/" + named + fmt.Sprint(n), map[string]any{}},
		} {
			r.params["_meta"] = meta(n, client)
			_, err := client.Exchange(t.Context(), wire.Request{Method: r.method, Params: r.params})
			require.NoError(t, err)
		}
	}
	attack(0)
	attack(1) // the second of equal first requests joins the call of the first
	series := func() (n int) {
		for _, s := range f.scrape() {
			if !strings.HasPrefix(s.name, "mrtr_store_duration_") { // the store is swept now and then
				n++
			}
		}
		return n
	}
	first := series()
	for n := 2; n < clients; n++ {
		attack(n)
	}
	require.Equal(t, first, series())
	for _, s := range f.scrape() {
		require.NotRegexp(t, "(?i)"+canary+"|"+named, s.series())
	}
	require.Greater(t, len(f.log.lines()), clients)
	for _, line := range f.log.lines() {
		require.NotRegexp(t, "(?i)"+canary, line)
		require.True(t, strings.HasPrefix(line, "time="), line)
		if strings.Contains(line, named) {
			require.Regexp(t, ` level=WARN msg="(tool|prompt|resource|request) call refused"`, line)
			require.Less(t, len(line), 2<<10)
		}
	}
	spans := fleet.Must(json.Marshal(f.spans.GetSpans()))(t)
	require.Contains(t, string(spans), "it does not fit")
	require.NotRegexp(t, "(?i)"+canary+"|"+named, string(spans))
	require.Greater(t, len(f.spans.GetSpans()), clients)
}
