package sdk_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/promises.md pairs each promise with the tests that hold it. Every test it
// names exists, and it has promises of every package that makes some.
func TestPromisesNameTestsThatExist(t *testing.T) {
	text, err := os.ReadFile("docs/promises.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| .+ \| (.+) \|$`)
	named := regexp.MustCompile("`((?:[\\w.-]+/)*)((?:Test|Fuzz|Example)\\w*)`")
	exists := map[string]map[string]bool{}
	promises := map[string]int{}
	for _, line := range row.FindAllStringSubmatch(string(text), -1) {
		if line[1] == "held by" {
			continue
		}
		tests := named.FindAllStringSubmatch(line[1], -1)
		require.NotEmptyf(t, tests, "a promise without a test: %s", line[0])
		for _, m := range tests {
			dir, test := filepath.Clean("./"+m[1]), m[2]
			if exists[dir] == nil {
				exists[dir] = testsIn(t, dir)
			}
			require.Truef(t, exists[dir][test], "%s names %s, which is not in %s", line[0], test, dir)
			promises[dir]++
		}
	}
	for _, dir := range []string{"statecodec", "mrtr", "sse", "boundary", "wstransport", "store"} {
		require.NotZerof(t, promises[dir], "no promise of %s is listed", dir)
	}
}

func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	require.NotEmptyf(t, files, "no tests in %s", dir)
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = true
			}
		}
	}
	return found
}
