package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code in a package's comment stands in a file of its tests, word for word.
func TestCodeInPackageCommentsIsCompiled(t *testing.T) {
	for _, c := range []struct {
		comment, compiled string
		blocks            int
	}{
		{"mrtr/mrtrtest/doc.go", "mrtr/mrtrtest/example_test.go", 2},
		{"prove/provetest/provetest.go", "prove/provetest/desk_test.go", 1},
	} {
		source, err := os.ReadFile(c.comment)
		require.NoError(t, err)
		comment, _, _ := strings.Cut(string(source), "\npackage ")
		compiled, err := os.ReadFile(c.compiled)
		require.NoError(t, err)
		blocks := regexp.MustCompile(`(?m)(?:^//\t.*\n)+`).FindAllString(comment, -1)
		require.Len(t, blocks, c.blocks, c.comment)
		for _, block := range blocks {
			require.Contains(t, unindented(string(compiled)), unindented(strings.ReplaceAll(block, "//\t", "")), c.comment)
		}
	}
}
