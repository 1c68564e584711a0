package mrtrtest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code in the package's comment stands in these files, word for word, and is
// compiled and run there.
func TestTheCodeInTheCommentIsCompiled(t *testing.T) {
	var compiled strings.Builder
	for _, file := range []string{"desk_test.go", "example_test.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		compiled.WriteString(unindented(string(text)))
	}
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile(`(?:\n//\t.*)+`).FindAllString(string(doc), -1)
	require.Len(t, blocks, 3)
	for _, block := range blocks {
		require.Contains(t, compiled.String(), unindented(strings.ReplaceAll(block, "\n//\t", "\n")))
	}
}

func unindented(text string) string {
	return regexp.MustCompile(`(?m)^\s+`).ReplaceAllString(text, "")
}
