package mrtr_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

// newCallAdvised matches advice to make a new call.
var newCallAdvised = regexp.MustCompile(`(?i)again|new call|retry`)

// notAdvisedToCallAgain requires that a text, with its hints, does not advise to make the
// call again.
func notAdvisedToCallAgain(t *testing.T, told string) {
	t.Helper()
	require.NotRegexp(t, newCallAdvised, strings.ReplaceAll(told, "do not call the tool again without checking", ""))
}

// A legacy client's question that is not answered ends its call in the bridge, and its
// error reports the effects as any other does.
func TestALegacyClientThatDoesNotAnswerIsToldWhatWasDone(t *testing.T) {
	effects := map[string]struct {
		book         func(context.Context, string) (any, error)
		effect, told string
	}{
		"nothing": {book: nothingDone},
		"done": {func(context.Context, string) (any, error) { return "1A", nil },
			"applied", `"book" was done: do not call the tool again without checking.`},
		"in doubt": {func(context.Context, string) (any, error) { return nil, context.DeadlineExceeded },
			"unknown", `Whether "book" was done is unknown: do not call the tool again without checking.`},
	}
	cases := 0
	for how, effect := range effects {
		for name, style := range booking(t, effect.book, func() error { return nil }) {
			cases++
			t.Run(how+"/"+name, func(t *testing.T) {
				rt, seen := kit.NewRuntime(t, nil)
				server := kit.ServeStyle(rt, style, nil)
				out, err := kit.Connect(t, server, kit.Legacy).Call(t.Context(), "tool", kit.In{Who: "me"},
					wire.Answers{"*": wire.Fail(-32000, "nobody is here")})
				require.NoError(t, err)
				require.True(t, out.IsError)
				stopped := seen.Of(observe.CallStopped)
				require.Len(t, stopped, 1)
				err = stopped[0].Err
				require.Equal(t, effect.effect, kit.EffectOf(err))
				told := kit.ToldBy(err)
				require.Contains(t, told, effect.told)
				notAdvisedToCallAgain(t, told)
			})
		}
	}
	require.Equal(t, len(effects)*5, cases)
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
				if name == "advice.go" {
					found++
				}
				require.Contains(t, []string{"advice.go", "../sse/rounds.go"}, name, sentence.Value)
				return true
			})
		}
	}
	require.NotZero(t, found)
}
