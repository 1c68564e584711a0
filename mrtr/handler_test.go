package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

// wiping serves tools, prompts and resources that wipe the server,
// if the user confirms. They ask in the same words everywhere.
func wiping(rt *mrtr.Runtime, wiped func(), opts *mrtr.HandlerOptions) *mcp.Server {
	sure := mrtr.Confirm("sure", "Wipe everything?")
	ask := func(c *mrtr.Call) *mrtr.IncompleteResult {
		yes, ok := mrtr.Answer(c, sure)
		if !ok {
			return mrtr.Need(sure)
		}
		if yes {
			wiped()
		}
		return nil
	}
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "wipe"}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		return ask(c), output{}, nil
	}), opts))
	server.AddPrompt(&mcp.Prompt{Name: "wipe"}, mrtr.Prompt(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return ask(c), nil, nil
	}), opts))
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "wipe", URITemplate: "wipe://{disk}"}, mrtr.Resource(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
		return ask(c), &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "wipe://disk"}}}, nil
	}), opts))
	return server
}

var wipes = []wire.Request{
	{Method: "tools/call", Name: "wipe"},
	{Method: "prompts/get", Name: "wipe"},
	{Method: "resources/read", Name: "wipe://disk"},
}

// yes confirms a call that one server began at another one.
func yes(t *testing.T, sandbox, production *wire.Client, first wire.Request) *wire.Reply {
	t.Helper()
	reply, err := sandbox.Send(t.Context(), first)
	require.NoError(t, err)
	require.Nil(t, reply.Error)
	require.Equal(t, "input_required", reply.ResultType)
	first.State = reply.State
	first.Responses = map[string]any{"sure": map[string]any{"action": "accept", "content": map[string]any{"sure": true}}}
	reply, err = production.Send(t.Context(), first)
	require.NoError(t, err)
	return reply
}

// Two servers of one process with one Runtime, which nothing tells apart, must not
// take one another's states: a yes for the sandbox would wipe production.
func TestAStateDoesNotCrossToAnotherServerOfTheProcess(t *testing.T) {
	for _, first := range wipes {
		t.Run(first.Method, func(t *testing.T) {
			rt, seen := newRuntime(t, nil)
			wiped := 0
			sandbox := connect(t, wiping(rt, func() { t.Error("the sandbox was not asked") }, nil), nil)
			production := connect(t, wiping(rt, func() { wiped++ }, nil), nil)
			yes(t, sandbox, production, first)
			require.Zero(t, wiped)

			messages := production.Messages()
			require.Contains(t, string(messages[len(messages)-1].JSON), "This request was refused: its server is not set up correctly.")
			refused := seen.of(mrtr.RequestRefused)
			require.Len(t, refused, 1, "the operator was not told")
			var usage *mrtr.UsageError
			require.ErrorAs(t, refused[0].Err, &usage)
			require.Equal(t, usage.Error(), refused[0].Reason)
			require.Contains(t, usage.Error(), fmt.Sprintf("two handlers are registered as %s %q with one Runtime", first.Method, first.Name))
		})
	}
}

// An audience tells the handlers apart, at every instance, and names those that
// belong together.
func TestAnAudienceTellsServersApart(t *testing.T) {
	ring := keys(1)
	options := &mrtr.Options{State: &statecodec.Options{Keys: ring}, Audience: "fleet"}
	for _, first := range wipes {
		t.Run(first.Method, func(t *testing.T) {
			wiped := map[string]int{}
			serve := func(rt *mrtr.Runtime, audience string) *wire.Client {
				return connect(t, wiping(rt, func() { wiped[audience]++ }, &mrtr.HandlerOptions{Audience: audience}), nil)
			}
			one, _ := newRuntime(t, options)
			sandbox, production := serve(one, "sandbox"), serve(one, "production")
			two, seen := newRuntime(t, options)
			elsewhere := serve(two, "production")
			again := serve(two, "production") // a second server of the instance, for the same thing

			for _, other := range []*wire.Client{production, elsewhere} {
				reply := yes(t, sandbox, other, first)
				require.NotNil(t, reply.Error)
				require.EqualValues(t, -32602, reply.Error.Code)
			}
			require.Empty(t, wiped)
			require.Len(t, seen.of(mrtr.StateRefused), 1)
			for _, other := range []*wire.Client{production, elsewhere, again} {
				require.Nil(t, yes(t, production, other, first).Error)
			}
			require.Equal(t, map[string]int{"production": 3}, wiped)
		})
	}
}

// Audiences of the runtime and the handler are two fields: no two pairs are one.
func TestAudiencesAreNotRunTogether(t *testing.T) {
	ring := keys(1)
	serve := func(fleet, own string) *wire.Client {
		rt, _ := newRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: ring}, Audience: fleet})
		return connect(t, wiping(rt, func() { t.Error("it crossed") }, &mrtr.HandlerOptions{Audience: own}), nil)
	}
	reply := yes(t, serve(`a`, `b"c`), serve(`a"b`, `c`), wipes[0])
	require.NotNil(t, reply.Error)
	reply = yes(t, serve(`a`, `"b`), serve(`a"`, `b`), wipes[0])
	require.NotNil(t, reply.Error)
}

// One handler is the same at every server that it is registered with.
func TestOneHandlerAtManyServersSharesItsStates(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	h := mrtr.Tool(rt, mrtr.Native(asking(units, itself)), nil)
	client := func() *wire.Client {
		server := newServer()
		mcp.AddTool(server, &mcp.Tool{Name: "tool"}, h)
		return connect(t, server, nil)
	}
	requireOpens(t, client(), begin(t, client(), wire.Request{Name: "tool"}))
}

// A client that reads one address after another does not fill the memory.
func TestAddressesThatAreRememberedAreBounded(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	h := mrtr.Resource(rt, mrtr.Native(func(context.Context, *mrtr.Call, string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
		return nil, nil, nil
	}), nil)
	most := 0
	for i := range 10_000 {
		_, err := h(t.Context(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: fmt.Sprint("mem://", i)}})
		require.NoError(t, err)
		most = max(most, mrtr.CountRegistrations(rt))
	}
	require.Equal(t, 4096, most)
}
