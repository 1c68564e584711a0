package mrtr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// Why a sender is not identified is between the operator and the directory. The
// client gets one text, on tools, prompts and resources, with whatever error
// Options.Principal chose.
func TestAClientDoesNotLearnWhyItIsNotIdentified(t *testing.T) {
	const secret = "ldap-7.internal"
	for explanation, cause := range map[string]error{
		"an error":               errors.New("dial " + secret),
		"a JSON-RPC error":       &jsonrpc.Error{Code: -31077, Message: secret},
		"a wrapped JSON-RPC one": fmt.Errorf("asking the directory: %w", &jsonrpc.Error{Code: -31077, Message: secret}),
		"an error with a hint":   hinted{secret},
	} {
		t.Run(explanation, func(t *testing.T) {
			rt, seen := newRuntime(t, &mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return "", cause }})
			client := connect(t, everything(rt), nil)
			for i, m := range methods {
				_, err := client.Send(t.Context(), m.first)
				require.NoError(t, err)
				messages := client.Messages()
				reply := string(messages[len(messages)-1].JSON)
				require.Contains(t, reply, "This request was refused: its sender is not identified.")
				require.NotContains(t, reply, secret)
				require.NotContains(t, reply, "-31077")
				refused := seen.of(mrtr.PrincipalRefused)
				require.Len(t, refused, i+1, "the observer was not told")
				require.Equal(t, cause, refused[i].Err)
				require.Equal(t, "Options.Principal returned an error", refused[i].Reason)
			}
			require.Zero(t, seen.entries())
		})
	}
}

type hinted struct{ text string }

func (e hinted) Error() string              { return "no" }
func (e hinted) ToolErrorHints() []string   { return []string{e.text} }
func (e hinted) ToolErrorOperation() string { return e.text }

// No error in the chain carries the cause either: a layer outside would find it.
func TestARefusalHidesItsCause(t *testing.T) {
	rt, _ := newRuntime(t, &mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return "", hinted{"x"} }})
	h := mrtr.Tool(rt, mrtr.Native(asking(units, itself)), nil)
	_, _, err := h(t.Context(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}}, input{})
	require.Error(t, err)
	require.NotErrorIs(t, err, hinted{"x"})
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
		{"a principal that is not found", mrtr.Options{Principal: func(context.Context, mcp.Request) (string, error) { return "", errors.New(canary) }},
			nil, `{}`, `level=WARN msg="principal refused" method=tools/call name=tool era=unaskable reason="Options.Principal returned an error"`},
		{"a token without a user", mrtr.Options{}, &mcp.RequestExtra{TokenInfo: &auth.TokenInfo{}}, `{}`,
			`level=ERROR msg="principal refused" method=tools/call name=tool era=unaskable reason="its token names no user: have the verifier set UserID, or set Options.Principal"`},
		{"arguments that mean two things", mrtr.Options{}, nil, `{"` + canary + `":1,"` + canary + `":2}`,
			`level=WARN msg="request refused" method=tools/call name=tool era=unaskable reason="its arguments have no canonical form"`},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			var log bytes.Buffer
			c.options.Observer = mrtr.LogObserver(slog.New(slog.NewTextHandler(&log, nil)))
			rt, _ := newRuntime(t, &c.options)
			h := mrtr.Tool(rt, mrtr.Native(asking(units, itself)), nil)
			_, _, err := h(t.Context(), &mcp.CallToolRequest{Extra: c.extra, Params: &mcp.CallToolParamsRaw{Name: "tool", Arguments: []byte(c.arguments)}}, input{})
			require.Error(t, err)
			require.Contains(t, log.String(), c.want)
			require.Equal(t, 1, strings.Count(log.String(), "\n"))
			require.NotContains(t, log.String(), canary)
		})
	}
}

// The runtime's own stack traces show the words that functions were called with.
func TestALogOfAPanicShowsNoArguments(t *testing.T) {
	var log bytes.Buffer
	rt, _ := newRuntime(t, &mrtr.Options{Observer: mrtr.LogObserver(slog.New(slog.NewTextHandler(&log, nil)))})
	server := serveTool(rt, func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
		return nil, output{fmt.Sprint(transfer(0x7ecabada55, func() { panic("no") }))}, nil
	}, nil)
	require.True(t, call(t, connect(t, server, nil), nil).IsError)
	require.Contains(t, log.String(), "mrtr_test.transfer", "the function is named")
	require.NotContains(t, log.String(), "7ecabada55", "and its argument is not shown")
}

//go:noinline
func transfer(cents int, fail func()) int {
	fail()
	return cents
}

// A client chooses the address of a resource: its characters and its length.
func TestAnAddressInTheLogIsBounded(t *testing.T) {
	const kept = "mem://two/"
	for explanation, c := range map[string]struct{ address, want string }{
		"a long one":              {kept + strings.Repeat("é", 1_500_000), kept + strings.Repeat("é", 123) + "..."},
		"a query":                 {kept + "a?token=" + canary, kept + "a"},
		"a long query":            {kept + "a?" + strings.Repeat("q", 3_000_000), kept + "a"},
		"a fragment":              {kept + "a#" + canary, kept + "a"},
		"a user":                  {"mem://ada:" + canary + "@two/a", "mem://two/a"},
		"an at in the path":       {kept + "a@b", kept + "a@b"},
		"an address without host": {"mem:a", "mem:a"},
	} {
		t.Run(explanation, func(t *testing.T) {
			var log bytes.Buffer
			seen := &recorder{}
			both := observers{seen, mrtr.LogObserver(slog.New(slog.NewTextHandler(&log, nil)))}
			rt, _ := newRuntime(t, &mrtr.Options{Observer: both})
			h := mrtr.Resource(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, uri string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
				return nil, &mcp.ReadResourceResult{}, nil
			}), nil)
			for _, state := range []string{"", "forged"} {
				_, _ = h(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: c.address, RequestState: state}})
			}
			require.Len(t, seen.of(mrtr.StateRefused), 1)
			require.NotEmpty(t, seen.of(mrtr.CallCompleted))
			for _, e := range seen.all() {
				require.Equal(t, c.want, e.Name)
			}
			require.Less(t, log.Len(), 2000)
			require.NotContains(t, log.String(), canary)
		})
	}
}

type observers []mrtr.Observer

func (all observers) Observe(ctx context.Context, e mrtr.Event) {
	for _, o := range all {
		o.Observe(ctx, e)
	}
}

// Which build a call began with is for the operator.
func TestADivergedCallTellsItsVersionToTheLogAlone(t *testing.T) {
	var did deeds
	seen := &recorder{}
	asked := newTrip(newTripRuntime(t, nil), mrtr.Journal(script(&did, "?q", "?r")), "v1-"+canary).begin()
	last := newTrip(newTripRuntime(t, &mrtr.Options{Observer: seen}), mrtr.Journal(script(&did, "?s")), "v2").answer(asked, "x")
	ended(t, last.err, mrtr.Diverged)
	require.NotContains(t, last.err.Error(), canary)
	stopped := seen.of(mrtr.CallStopped)
	require.Len(t, stopped, 1)
	require.Equal(t, "begun with version v1-"+canary, stopped[0].Reason)
}
