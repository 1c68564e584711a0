package docs_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The appendix of SPEC.md has the members of a state that the engine writes, and its version.
func TestTheAppendixHasEveryMemberOfAState(t *testing.T) {
	code, err := os.ReadFile("mrtr/state.go")
	require.NoError(t, err)
	questions, err := os.ReadFile("mrtr/internal/question/pending.go")
	require.NoError(t, err)
	code = append(code, questions...)
	spec, err := os.ReadFile("statecodec/SPEC.md")
	require.NoError(t, err)
	_, appendix, found := strings.Cut(string(spec), "\n## Appendix")
	require.True(t, found)
	var written, described []string
	for _, m := range regexp.MustCompile(`w\.(?:Text|Number|Raw|Flag|List|Object)\((?:i, )?"(\w+)"|jsontext\.Begin\(b, "(\w+)"`).FindAllStringSubmatch(string(code), -1) {
		written = append(written, m[1]+m[2])
	}
	for _, m := range regexp.MustCompile("(?m)^- `(\\w+)`(?:, `(\\w+)`)?:|; `(\\w+)`: ").FindAllStringSubmatch(appendix, -1) {
		described = append(described, strings.Fields(strings.Join(m[1:], " "))...)
	}
	require.ElementsMatch(t, written, described)
	version := regexp.MustCompile(`const stateFormat = (\d+)`).FindSubmatch(code)
	require.NotNil(t, version)
	require.Contains(t, appendix, "the version of this format, `"+string(version[1])+"`")
}
