package vet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/mrtr/internal/vet"
)

// docs/vet.md says of each analyzer what the command says, word for word, and in
// the same order. Its headings are what the analyzers' URLs point to.
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
