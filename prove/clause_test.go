package prove_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

func allRules() []prove.Rule {
	return slices.Concat(prove.Rules(), prove.TaskRules(), prove.SweepRules())
}

// A rule demands no more than the passage that it quotes. One of ours quotes none.
func TestNoRuleDemandsMoreThanItsClause(t *testing.T) {
	require.NotEmpty(t, allRules())
	for _, r := range allRules() {
		require.NotEmpty(t, r.Clause, r.Name)
		source := r.Clause.Source()
		if r.Level == prove.Ours || r.Level == prove.Promise {
			require.Zero(t, source, "%s quotes the specification, which does not demand it", r.Name)
			continue
		}
		require.NotEmpty(t, source.Quote, r.Name)
		require.True(t, strings.HasPrefix(source.URL, "https://modelcontextprotocol.io/"), "%s: %s", r.Name, source.URL)
		require.True(t, r.Level.Covers(source.Demands()), "%s demands a %s, and its clause a %s: %s", r.Name, r.Level, source.Demands(), source.Quote)
	}
}

func TestWhatAPassageDemands(t *testing.T) {
	for _, tc := range []struct {
		source prove.Source
		level  prove.Level
	}{
		{prove.Source{}, prove.Ours},
		{prove.Source{Quote: "Servers MUST NOT do it.", URL: "https://s"}, prove.Must},
		{prove.Source{Quote: "Servers SHOULD do it.", URL: "https://s"}, prove.Should},
		{prove.Source{Quote: "Servers do it.", URL: "https://s"}, prove.Should},
		{prove.Source{Quote: "The members of a result.", URL: "https://s/schema#result"}, prove.Must},
	} {
		require.Equal(t, tc.level, tc.source.Demands(), tc.source.Quote)
	}
}

// Whoever reads a finding as JSON finds the words that it rests on.
func TestARuleAsJSONHasItsSource(t *testing.T) {
	text := must(json.Marshal(prove.Rules()[0]))(t)
	var rule struct{ Name, Quote, URL string }
	require.NoError(t, json.Unmarshal(text, &rule))
	require.Equal(t, prove.Rules()[0].Name, rule.Name)
	require.Contains(t, rule.Quote, "MUST reject state that fails verification")
	require.Contains(t, rule.URL, "/basic/patterns/mrtr#")
	var back prove.Rule
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, prove.Rules()[0].Clause, back.Clause)
}
