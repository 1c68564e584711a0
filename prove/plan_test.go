package prove_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// watched counts the calls of a tool that pass.
type watched struct {
	next  http.RoundTripper
	calls *atomic.Int64
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Mcp-Method") == "tools/call" {
		w.calls.Add(1)
	}
	return w.next.RoundTrip(r)
}

// A plan says what a run then does, and calls nothing for it.
func TestAPlanCallsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		subject := prove.Subject{Dial: prove.HTTP("http://s", &http.Client{Transport: watched{overPipes(t, hostile{}), &calls}}), HTTP: true}
		dry := &prove.Options{Dry: true}
		plan := must(prove.Run(t.Context(), subject, prove.Scenario{Tool: "t"}, dry))(t)
		require.Zero(t, calls.Load())
		report := must(prove.Run(t.Context(), subject, prove.Scenario{Tool: "t"}, nil))(t)
		require.Equal(t, lacks(report.Findings), lacks(plan.Findings))
		require.Len(t, report.Findings, len(plan.Findings))
		require.NotZero(t, plan.Count(prove.Skip))
		require.Equal(t, len(plan.Findings), plan.Count(prove.Skip)+plan.Count(prove.Try))
		require.Contains(t, plan.String(), "try   state/altered             MUST    A changed, cut, extended,")
		require.Contains(t, plan.String(), "skip  state/other-principal     SHOULD  needs a second caller")
		first, _, _ := strings.Cut(report.String(), "\n")
		require.Contains(t, plan.String(), first, "both say what cannot be tried")
		require.NotContains(t, plan.Summary(), first, "which stands above a report, and not twice")
		require.True(t, strings.HasPrefix(first, "t: not tried for want of "), first)
		require.Regexp(t, `a count of the effects \(\d+ rules; -effects\)`, first)

		_, err := prove.Run(t.Context(), subject, prove.Scenario{Tool: "u"}, dry)
		require.ErrorContains(t, err, `lists no tool "u"`)
		_, err = prove.Run(t.Context(), subject, prove.Scenario{}, dry)
		require.ErrorContains(t, err, "names no tool")
	})
}

func lacks(findings []prove.Finding) map[string]string {
	all := map[string]string{}
	for _, f := range findings {
		if f.Lacks != "" {
			all[f.Rule.Name] = f.Lacks
		}
	}
	return all
}

// A sweep's plan names each tool, and those that are not called.
func TestAPlanOfASweepCallsNothing(t *testing.T) {
	const tools = `[{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"writes","inputSchema":{"type":"object"}},{"name":"::error::","inputSchema":{"type":"object"}}]`
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		dial := prove.HTTP("http://s", &http.Client{Transport: watched{overPipes(t, hostile{tools: tools, sweeps: true}), &calls}})
		text := must(prove.Sweep(t.Context(), dial, nil, &prove.SweepOptions{Dry: true}))(t).String()
		require.Zero(t, calls.Load())
		for _, want := range []string{"reads (modern client): 2 rules, about 4 calls\n", "reads (legacy client): 2 rules", "writes (modern client): 0 rules", "not called: it is not annotated read-only"} {
			require.Contains(t, text, want)
		}
		require.NotContains(t, "\n"+text, "\n::", "a name is no command of a CI")
	})
}
