package mrtr_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/sse"
)

// Agents, logs and the boundary act on these answers, and clients see the texts.
func TestReasonsOfErrors(t *testing.T) {
	for _, test := range []struct {
		err             mrtr.Error
		typ             string
		expected, quiet bool
		text            string
	}{
		{mrtr.Error{Reason: mrtr.Declined, Key: "q"}, "declined", true, true, `Stopped: "q" was declined.`},
		{mrtr.Error{Reason: mrtr.Declined, Detail: "the price was too high"}, "declined", true, true, `Stopped: the price was too high.`},
		{mrtr.Error{Reason: mrtr.Declined, Detail: "The price was too high."}, "declined", true, true, `Stopped: The price was too high.`},
		{mrtr.Error{Reason: mrtr.Cancelled, Key: "q"}, "cancelled", true, true, `Stopped: "q" was cancelled.`},
		{mrtr.Error{Reason: mrtr.Unanswered, Key: "q"}, "unanswered", true, false, `Stopped: "q" was asked 4 times without a usable answer.`},
		{mrtr.Error{Reason: mrtr.CannotBeAsked, Key: "q", Detail: "roots"}, "client_cannot_be_asked", true, false, `This client cannot be asked for "q": it lacks roots.`},
		{mrtr.Error{Reason: mrtr.FrameGone}, "frame_gone", true, false, `This call's frame is gone: it was held by a server that no longer has it. What it has done is unknown: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.FrameGone, Applied: []string{"a", "b"}}, "frame_gone", true, false, `This call's frame is gone: it was held by a server that no longer has it. "a", "b" were done, and perhaps more: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.FrameGone, Applied: []string{"a"}, Unknown: []string{"b"}}, "frame_gone", true, false, `This call's frame is gone: it was held by a server that no longer has it. "a" was done; whether "b" was done is unknown: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.Diverged, Detail: "x"}, "diverged", true, false, `The tool took another way in this call than before: x. Call the tool again.`},
		{mrtr.Error{Reason: mrtr.Diverged, Detail: "x", Applied: []string{"a"}}, "diverged", true, false, `The tool took another way in this call than before: x. "a" was done: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.Diverged, Detail: "x", Unknown: []string{"b"}}, "diverged", true, false, `The tool took another way in this call than before: x. Whether "b" was done is unknown: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.Busy, Detail: "7"}, "busy", true, false, `Too many calls are waiting for answers (limit 7). Try again later.`},
		{mrtr.Error{Reason: mrtr.Busy, Detail: "7", Applied: []string{"a"}}, "busy", true, false, `Too many calls are waiting for answers (limit 7). "a" was done: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.LimitExceeded, Detail: "9 rounds"}, "limit_exceeded", false, false, `Stopped: more than 9 rounds.`},
		{mrtr.Error{Reason: mrtr.ShuttingDown}, "shutting_down", true, false, `Stopped: this server is shutting down. Call the tool again.`},
		{mrtr.Error{Reason: mrtr.ShuttingDown, Applied: []string{"a"}}, "shutting_down", true, false, `Stopped: this server is shutting down. "a" was done: do not call the tool again without checking.`},
	} {
		t.Run(test.text, func(t *testing.T) {
			require.Equal(t, test.typ, test.err.ToolErrorType())
			require.Equal(t, test.expected, test.err.ToolErrorExpected())
			require.Equal(t, test.quiet, test.err.ToolErrorQuiet())
			require.EqualError(t, &test.err, test.text)
		})
	}
}

// A legacy client's own error is the answer to a question, and its code means
// nothing to the call.
func TestACodeOfTheClientIsNotPassedOn(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	server := kit.NewServer()
	server.AddPrompt(&mcp.Prompt{Name: "p"}, rt.Prompt(mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		_, err := kit.Units.AskOver(ctx, c.Session())
		return nil, nil, fmt.Errorf("asking: %w", err)
	}), nil))
	var seen error
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if err != nil {
				seen = err
			}
			return res, err
		}
	})
	out, err := kit.Connect(t, server, kit.Legacy).Run(t.Context(), wire.Request{Method: "prompts/get", Name: "p"}, wire.Answers{"units": wire.Fail(-32000, "no screen")})
	require.NoError(t, err)
	kit.RefusedWith(t, out.Error, -31000)
	var failed *sse.Error
	require.ErrorAs(t, seen, &failed)
	require.Equal(t, sse.Failed, failed.Reason)
}

// The log names the operator's task, and how urgent it is.
func TestARefusedRequestIsLogged(t *testing.T) {
	for _, c := range []struct {
		explanation string
		options     mrtr.Options
		extra       *mcp.RequestExtra
		arguments   string
		want        string
	}{
		{"a principal that is not found", mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return "", errors.New(kit.Canary) }},
			nil, `{}`, `level=WARN msg="principal refused" method=tools/call name=tool era=unaskable reason="Options.Principal returned an error"`},
		{"a token without a user", mrtr.Options{}, &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{}}, `{}`,
			`level=ERROR msg="principal refused" method=tools/call name=tool era=unaskable reason="its token names no user: have the verifier set UserID, or set Options.Principal"`},
		{"arguments that mean two things", mrtr.Options{}, nil, `{"` + kit.Canary + `":1,"` + kit.Canary + `":2}`,
			`level=WARN msg="request refused" method=tools/call name=tool era=unaskable reason="its arguments have no canonical form"`},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			logger, log := kit.NewLog()
			c.options.Listener = observe.With(observe.Log(logger))
			rt, _ := kit.NewRuntime(t, &c.options)
			h := mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), nil)
			_, _, err := h(t.Context(), &mcp.CallToolRequest{Extra: c.extra, Params: &mcp.CallToolParamsRaw{Name: "tool", Arguments: []byte(c.arguments)}}, kit.Input{})
			require.Error(t, err)
			require.Contains(t, log.String(), c.want)
			require.Equal(t, 1, strings.Count(log.String(), "\n"))
			require.NotContains(t, log.String(), kit.Canary)
		})
	}
}

// A client chooses the address of a resource: its characters and its length.
func TestAnAddressInTheLogIsBounded(t *testing.T) {
	const kept = "mem://two/"
	for explanation, c := range map[string]struct{ address, want string }{
		"a long one":              {kept + strings.Repeat("é", 1_500_000), kept + strings.Repeat("é", 123) + "..."},
		"a query":                 {kept + "a?token=" + kit.Canary, kept + "a"},
		"a long query":            {kept + "a?" + strings.Repeat("q", 3_000_000), kept + "a"},
		"a fragment":              {kept + "a#" + kit.Canary, kept + "a"},
		"a user":                  {"mem://ada:" + kit.Canary + "@two/a", "mem://two/a"},
		"an at in the path":       {kept + "a@b", kept + "a@b"},
		"an address without host": {"mem:a", "mem:a"},
	} {
		t.Run(explanation, func(t *testing.T) {
			logger, log := kit.NewLog()
			seen := &kit.Recorder{}
			both := observers{seen, observe.Log(logger)}
			rt, _ := kit.NewRuntime(t, &mrtr.Options{Listener: observe.With(both)})
			h := rt.Resource(mrtr.Native(func(_ context.Context, c *mrtr.Call, uri string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
				return nil, &mcp.ReadResourceResult{}, nil
			}), nil)
			for _, state := range []string{"", "forged"} {
				_, _ = h(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: c.address, RequestState: state}})
			}
			require.Len(t, seen.Of(observe.StateRefused), 1)
			require.NotEmpty(t, seen.Of(observe.CallCompleted))
			for _, e := range seen.All() {
				require.Equal(t, c.want, e.Name)
			}
			require.Less(t, log.Len(), 2000)
			require.NotContains(t, log.String(), kit.Canary)
		})
	}
}

type observers []observe.Observer

func (all observers) Observe(ctx context.Context, e observe.Event) {
	for _, o := range all {
		o.Observe(ctx, e)
	}
}

// An error chain that never ends is cut, and ends the call like any other.
func TestAnErrorThatUnwrapsToItself(t *testing.T) {
	loop := &endless{}
	last := kit.ServeTrip(t, linear.Journal(kit.Linear(kit.Around(func(ctx context.Context, c *mrtr.Call) (string, error) {
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "", loop })
		return "", err
	})))).Begin()
	require.EqualError(t, last.Err, "again")
}

// endless unwraps to an error of the same chain as often as a chain is looked at.
type endless struct{ depth int }

func (e *endless) Error() string { return "again" }
func (e *endless) Unwrap() error {
	if e.depth > 100 {
		return nil
	}
	return &endless{e.depth + 1}
}

// A replay meets the failure in the state, and one that cannot be read as an error too.
func TestFailuresAreReadFromTheState(t *testing.T) {
	var did kit.Deeds
	rt := kit.TripRuntime(t, nil)
	mrtr.Unsigned(rt)
	var met []string
	tool := kit.NewTrip(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		_, err := mrtr.Once(ctx, c, "book", did.Do("book"))
		met = append(met, fmt.Sprint(err))
		return kit.Out{}, nil
	}), "")
	last := tool.Round(t.Context(), "", `{"v":4,"call":"mine","round":1,"style":"journaled code","done":[{"key":"book","kind":"failed","value":{"text":"the desk is closed"}}]}`, nil)
	require.NoError(t, last.Err)
	require.Equal(t, []string{"the desk is closed"}, met)
	last = tool.Round(t.Context(), "", `{"v":4,"call":"mine","round":1,"style":"journaled code","done":[{"key":"book","kind":"failed","value":1}]}`, nil)
	require.NoError(t, last.Err, "the handler goes on from any error")
	require.Contains(t, met[1], "cannot be read")
	require.Zero(t, did.Count("book"))
}

// FuzzFailure reads back whatever an error said.
func FuzzFailure(f *testing.F) {
	for _, text := range []string{"", "closed", "a\nb", "\xff", `"`, "\x00", "The tool failed unexpectedly."} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, wrapped bool) {
		err := errors.New(text)
		said := err
		if wrapped {
			said = fmt.Errorf("x: %w", err)
		}
		first, replayed := mrtr.Failures(said)
		require.EqualError(t, replayed, first.Error())
		require.ErrorIs(t, first, err)
		require.ErrorIs(t, replayed, err)
		require.NotErrorIs(t, replayed, kit.ErrClosed)
	})
}

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
	for _, dir := range []string{".", "internal/report", "../sse"} {
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
				require.Contains(t, []string{"errors.go", "internal/report/report.go", "../sse/rounds.go"}, name, sentence.Value)
				return true
			})
		}
	}
	require.NotZero(t, found)
}

// Each word that the package's documentation begins with has an example.
func TestEveryWordHasAnExample(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var examples strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		examples.Write(text)
	}
	shownBy := map[string]string{ // whose example has the word in it
		"Runtime": "New", "Style": "Native", "Reason": "Error", "Declined": "Error_declined", "Add": "Stop",
	}
	words := regexp.MustCompile(`\[([A-Z][A-Za-z0-9.]*)\]`).FindAllStringSubmatch(string(doc), -1)
	require.NotEmpty(t, words)
	for _, w := range words {
		word := cmp.Or(shownBy[w[1]], strings.ReplaceAll(w[1], ".", "_"))
		require.True(t, regexp.MustCompile(`\nfunc Example`+word+`(_[a-z]\w*)?\(`).MatchString(examples.String()), "%s has no example", w[1])
	}
}
