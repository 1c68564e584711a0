package sdk_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every Go block in the README and in docs names the file it was taken from, in
// a comment above it, and stands there word for word: what is read has been
// compiled and run.
func TestGoBlocksInTheDocsAreCompiledCode(t *testing.T) {
	docs := []string{"README.md"}
	entries, err := os.ReadDir("docs")
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") {
			docs = append(docs, "docs/"+e.Name())
		}
	}
	block := regexp.MustCompile("(?s)(?:<!-- from (\\S+) -->\n)?```go\n(.*?)```")
	blocks := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, m := range block.FindAllStringSubmatch(string(text), -1) {
			blocks++
			require.NotEmptyf(t, m[1], "%s: a Go block that names no file:\n%s", doc, m[2])
			source, err := os.ReadFile(m[1])
			require.NoError(t, err)
			require.Containsf(t, dedent(string(source)), dedent(m[2]), "%s: the block from %s is not what stands there", doc, m[1])
		}
	}
	require.NotZero(t, blocks)
}

// dedent drops the indentation, which differs between a block and its source.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
