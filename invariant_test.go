package sdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
)

// The weather tool in every style is one tool to its clients. Each contract is
// played against each style over the wire, and what was seen is held against
// the rules.
func TestInvariant(t *testing.T) {
	require.Len(t, allStyles(), len(options.All))
	for _, s := range allStyles() {
		require.Contains(t, audits, s.name, "nobody says where it audits")
	}
	hold(t, allStyles(), modernContracts(), setting{name: "one instance"})
}

// hold judges, and reports what was found under the style's name.
func hold(t *testing.T, subjects []subject, contracts []contract, in setting) {
	t.Helper()
	found, err := judge(t.Context(), subjects, contracts, in)
	require.NoError(t, err)
	for _, s := range subjects {
		t.Run(s.name, func(t *testing.T) {
			for _, f := range of(found, s.name) {
				t.Error(f)
			}
		})
	}
}
