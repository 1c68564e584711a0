package prove_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/pipehttp"
	"github.com/mrtr-go/sdk/prove"
)

func TestEveryRuleOfASweepHasItsPromise(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(prove.Rules(), prove.SweepRules()...) {
		require.False(t, seen[r.Name], r.Name)
		seen[r.Name] = true
		require.NotEmpty(t, r.Says, r.Name)
		require.NotEmpty(t, r.Level, r.Name)
		require.NotEmpty(t, r.Clause, r.Name)
	}
}

// A sweep asks for no tool by name, and reports each of them as both clients.
func TestASweepReportsEachToolAsBothClients(t *testing.T) {
	const tools = `[{"name":"reads","inputSchema":{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}},"annotations":{"readOnlyHint":true}},{"name":"writes","inputSchema":{"type":"object"}}]`
	synctest.Test(t, func(t *testing.T) {
		pipes, end := pipehttp.Serve(hostile{tools: tools, asks: plainReply})
		defer end()
		var progress int
		dial := prove.HTTP("http://careless", &http.Client{Transport: pipes})
		reports, err := prove.Sweep(t.Context(), dial, nil, &prove.SweepOptions{Progress: func(prove.Finding) { progress++ }})
		require.NoError(t, err)
		outcomes := map[string]prove.Outcome{}
		found := 0
		for _, r := range reports {
			for _, f := range r.Findings {
				outcomes[r.Client+" "+r.Tool+" "+f.Rule.Name] = f.Outcome
				if f.Rule.Name != "sweep/read-only" {
					found++
				}
			}
		}
		require.Equal(t, found, progress)
		require.Equal(t, map[string]prove.Outcome{
			"modern reads sweep/good-input": prove.Pass, "modern reads sweep/missing-argument": prove.Fail,
			"modern reads sweep/wrong-type": prove.Fail, "modern reads sweep/not-an-object": prove.Fail,
			"modern writes sweep/read-only": prove.Skip, "modern  sweep/unknown-tool": prove.Fail, "modern  sweep/one-answer": prove.Pass,
			"legacy  sweep/initialize": prove.Fail, // it knows no such method
		}, outcomes)
	})
	_, err := prove.Sweep(t.Context(), prove.HTTP("http://127.0.0.1:1", nil), nil, nil)
	require.ErrorContains(t, err, "modern client: ")
	require.ErrorContains(t, err, "legacy client: ")
	_, err = prove.Sweep(t.Context(), prove.HTTP("http://127.0.0.1:1", nil), nil, &prove.SweepOptions{Clients: []string{"new"}})
	require.ErrorContains(t, err, `there is no client "new"`)
}
