package mrtr_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newCallAdvised matches advice to make a new call.
var newCallAdvised = regexp.MustCompile(`(?i)again|new call|retry`)

// notAdvisedToCallAgain requires that a text, with its hints, does not advise to make the
// call again.
func notAdvisedToCallAgain(t *testing.T, told string) {
	t.Helper()
	require.NotRegexp(t, newCallAdvised, strings.ReplaceAll(told, "do not call the tool again without checking", ""))
}

// One file has the sentences that advise a client. The others have none that could
// contradict what the call has done.
func TestAdviceIsWrittenInOnePlace(t *testing.T) {
	advises := regexp.MustCompile(`(?i)\b(call|try|send|begin|retry)\b[^"]*\bagain\b|new call|again later`)
	found := 0
	for _, dir := range []string{".", "../sse"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				sentence, ok := n.(*ast.BasicLit)
				if !ok || sentence.Kind != token.STRING || !advises.MatchString(sentence.Value) {
					return true
				}
				if name == "errors.go" {
					found++
				}
				require.Contains(t, []string{"errors.go", "../sse/rounds.go"}, name, sentence.Value)
				return true
			})
		}
	}
	require.NotZero(t, found)
}
