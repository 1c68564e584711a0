package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
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
	server.AddPrompt(&mcp.Prompt{Name: "p"}, mrtr.Prompt(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
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
			h := mrtr.Resource(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, uri string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
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
