package vet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/mrtr/internal/vet"
)

// docs/vet.md describes each analyzer in the words of the command, and in the same
// order. The analyzers' URLs point to its headings.
func TestDocsSayWhatHelpSays(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/vet.md")
	require.NoError(t, err)
	var sections strings.Builder
	for _, a := range vet.Analyzers {
		sections.WriteString("\n## " + a.Name + "\n\n" + a.Doc + "\n")
		require.True(t, strings.HasSuffix(a.URL, "/docs/vet.md#"+a.Name), a.URL)
	}
	require.True(t, strings.HasSuffix(string(text), sections.String()), "the end of docs/vet.md should be:\n%s", sections.String())
}
