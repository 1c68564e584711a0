package mrtr_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

func TestMain(m *testing.M) { kit.Main(m) }

func TestOptionsAreCheckedWhenTheRuntimeIsMade(t *testing.T) {
	for explanation, opts := range map[string]*mrtr.Options{
		"a policy that is none":    {Legacy: 99},
		"negative state":           {Limits: mrtr.Limits{MaxStateBytes: -1}},
		"negative frames":          {Limits: mrtr.Limits{MaxFrames: -1}},
		"negative life of a frame": {Limits: mrtr.Limits{FrameTTL: -1}},
		"negative rounds":          {Bridge: &sse.BridgeOptions{MaxRounds: -1}},
		"negative wait":            {Bridge: &sse.BridgeOptions{AnswerTimeout: -time.Second}},

		"more rounds than a call has":             {Bridge: &sse.BridgeOptions{MaxRounds: 10}},
		"a state that no token holds":             {Limits: mrtr.Limits{MaxStateBytes: 16 << 20}},
		"a state that the token is too small for": {Limits: mrtr.Limits{MaxStateBytes: 4096}, State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}},
	} {
		_, err := mrtr.New(opts)
		kit.Misuse(t, err, explanation)
	}
	for explanation, opts := range map[string]*mrtr.Options{
		"as many rounds as a call has":              {Bridge: &sse.BridgeOptions{MaxRounds: 9, MaxStateRounds: 2}},
		"fewer frames than one may have by default": {Limits: mrtr.Limits{MaxFrames: 10}},
		"a large state":                             {Limits: mrtr.Limits{MaxStateBytes: 12_000_000}},
		"a small token":                             {State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}},
		"a state that just fits":                    {Limits: mrtr.Limits{MaxStateBytes: 2304}, State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}},
	} {
		rt, err := mrtr.New(opts)
		require.NoError(t, err, explanation)
		require.NoError(t, rt.Close())
	}
	_, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: make([]statecodec.Key, 1)}})
	var usage *statecodec.UsageError
	require.ErrorAs(t, err, &usage, "a key that is none")
}

// Without Options.Principal the principal is who the bearer token speaks for.
func TestThePrincipalIsTheTokensUser(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	var principal string
	h := mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		principal = c.Principal()
		return nil, kit.Output{}, nil
	}), nil)
	for _, c := range []struct {
		extra *mcp.RequestExtra
		want  string
	}{
		{nil, ""},
		{&mcp.RequestExtra{}, ""},
		{&mcp.RequestExtra{TokenInfo: &auth.TokenInfo{UserID: "ada"}}, "ada"},
	} {
		_, _, err := h(context.Background(), &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: "tool"}, Extra: c.extra}, kit.Input{})
		require.NoError(t, err)
		require.Equal(t, c.want, principal)
	}
}

// Two first requests of a caller whom nobody knows are one call by a key that is long enough to be
// a secret, wherever it stands, and by nothing else.
func TestTheKeyThatAClientSends(t *testing.T) {
	const long, short = "0123456789abcdef", "0123456789abcde"
	for name, c := range map[string]struct {
		header string
		meta   mcp.Meta
		holds  int
	}{
		"none":                 {"", nil, 2},
		"a header":             {long, nil, 1},
		"a short header":       {short, nil, 2},
		"_meta":                {"", mcp.Meta{"idempotencyKey": long}, 1},
		"_meta, short":         {"", mcp.Meta{"idempotencyKey": short}, 2},
		"_meta, with a dash":   {"", mcp.Meta{"idempotency-key": long}, 1},
		"_meta, with a prefix": {"", mcp.Meta{"io.modelcontextprotocol/idempotencyKey": long}, 1},
		"_meta, another":       {"", mcp.Meta{"example.org/use": long}, 2},
		"no text":              {"", mcp.Meta{"idempotencyKey": 1e16}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			rt, _ := kit.NewRuntime(t, &mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
			var did kit.Deeds
			h := mrtr.Tool(rt, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
				_, err := mrtr.Once(ctx, c, "hold", did.Do("hold"))
				return mrtr.Need(kit.Units), kit.Output{}, err
			}), nil)
			for range 2 {
				meta := kit.ModernMeta()
				maps.Copy(meta, c.meta)
				_, _, err := h(t.Context(), &mcp.CallToolRequest{
					Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool"}, Extra: &mcp.RequestExtra{Header: http.Header{"Idempotency-Key": {c.header}}},
				}, kit.Input{})
				require.NoError(t, err)
			}
			require.Equal(t, c.holds, did.Count("hold"))
		})
	}
}

func TestALogObserverWithoutALoggerUsesTheDefault(t *testing.T) {
	logger, log := kit.NewLog()
	before := slog.Default()
	slog.SetDefault(logger)
	defer slog.SetDefault(before)
	rt, _ := kit.NewRuntime(t, &mrtr.Options{Listener: observe.With(observe.Log(nil))})
	kit.Said(t, kit.Call(t, kit.Connect(t, kit.ServeTool(rt, kit.Asking(kit.Units, kit.Itself), nil), nil), wire.Answers{"units": wire.Value("metric")}), "metric")
	require.Contains(t, log.String(), "call completed")
}

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
	server := kit.NewServer()
	mcp.AddTool(server, &mcp.Tool{Name: "wipe"}, mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		return ask(c), kit.Output{}, nil
	}), opts))
	server.AddPrompt(&mcp.Prompt{Name: "wipe"}, rt.Prompt(mrtr.Native(func(_ context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
		return ask(c), nil, nil
	}), opts))
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "wipe", URITemplate: "wipe://{disk}"}, rt.Resource(mrtr.Native(func(_ context.Context, c *mrtr.Call, _ string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
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
	reply := kit.Send(t, sandbox, first)
	require.Nil(t, reply.Error)
	require.Equal(t, "input_required", reply.ResultType)
	first.State = reply.State
	first.Responses = map[string]any{"sure": map[string]any{"action": "accept", "content": map[string]any{"sure": true}}}
	reply = kit.Send(t, production, first)
	return reply
}

// Two servers of one process with one Runtime, which nothing tells apart, must not
// take one another's states: a yes for the sandbox would wipe production.
func TestAStateDoesNotCrossToAnotherServerOfTheProcess(t *testing.T) {
	for _, first := range wipes {
		t.Run(first.Method, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			wiped := 0
			sandbox := kit.Connect(t, wiping(rt, func() { t.Error("the sandbox was not asked") }, nil), nil)
			production := kit.Connect(t, wiping(rt, func() { wiped++ }, nil), nil)
			yes(t, sandbox, production, first)
			require.Zero(t, wiped)

			messages := production.Messages()
			require.Contains(t, string(messages[len(messages)-1].JSON), "This request was refused: its server is not set up correctly.")
			refused := seen.Of(observe.RequestRefused)
			require.Len(t, refused, 1, "the operator was not told")
			usage := kit.Misuse(t, refused[0].Err)
			require.Equal(t, usage.Error(), refused[0].Reason)
			require.Contains(t, usage.Error(), fmt.Sprintf("two handlers are registered as %s %q with one Runtime", first.Method, first.Name))
		})
	}
}

// An audience tells the handlers apart, at every instance, and names those that
// belong together.
func TestAnAudienceTellsServersApart(t *testing.T) {
	ring := kit.Keys(1)
	options := &mrtr.Options{State: &statecodec.Options{Keys: ring}, Audience: "fleet"}
	for _, first := range wipes {
		t.Run(first.Method, func(t *testing.T) {
			wiped := map[string]int{}
			serve := func(rt *mrtr.Runtime, audience string) *wire.Client {
				return kit.Connect(t, wiping(rt, func() { wiped[audience]++ }, &mrtr.HandlerOptions{Audience: audience}), nil)
			}
			one, _ := kit.NewRuntime(t, options)
			sandbox, production := serve(one, "sandbox"), serve(one, "production")
			two, seen := kit.NewRuntime(t, options)
			elsewhere := serve(two, "production")
			again := serve(two, "production") // a second server of the instance, for the same thing

			for _, other := range []*wire.Client{production, elsewhere} {
				reply := yes(t, sandbox, other, first)
				kit.RefusedWith(t, reply.Error, -32602)
			}
			require.Empty(t, wiped)
			require.Len(t, seen.Of(observe.StateRefused), 1)
			for _, other := range []*wire.Client{production, elsewhere, again} {
				require.Nil(t, yes(t, production, other, first).Error)
			}
			require.Equal(t, map[string]int{"production": 3}, wiped)
		})
	}
}

// Audiences of the runtime and the handler are two fields: no two pairs are one.
func TestAudiencesAreNotRunTogether(t *testing.T) {
	ring := kit.Keys(1)
	serve := func(fleet, own string) *wire.Client {
		rt, _ := kit.NewRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: ring}, Audience: fleet})
		return kit.Connect(t, wiping(rt, func() { t.Error("it crossed") }, &mrtr.HandlerOptions{Audience: own}), nil)
	}
	reply := yes(t, serve(`a`, `b"c`), serve(`a"b`, `c`), wipes[0])
	require.NotNil(t, reply.Error)
	reply = yes(t, serve(`a`, `"b`), serve(`a"`, `b`), wipes[0])
	require.NotNil(t, reply.Error)
}

// A client that reads one address after another does not fill the memory.
func TestAddressesThatAreRememberedAreBounded(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	h := rt.Resource(mrtr.Native(func(context.Context, *mrtr.Call, string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
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

// The calls that wait for their users are counted by tool and by how they wait, with the time of
// the one that has waited longest, until they are answered.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, err := mrtr.New(nil)
		require.NoError(t, err)
		defer rt.Close()
		server := kit.NewServer()
		held := linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (kit.Output, error) {
			v, err := linear.Ask(ctx, c, kit.Units)
			return kit.Output{Said: v}, err
		})
		mcp.AddTool(server, &mcp.Tool{Name: "held"}, mrtr.Tool(rt, held, nil))
		mcp.AddTool(server, &mcp.Tool{Name: "native"}, mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), nil))
		modern, err := wire.Connect(t.Context(), server, nil)
		require.NoError(t, err)
		defer modern.Close()
		legacy, err := wire.Connect(t.Context(), server, kit.Legacy)
		require.NoError(t, err)
		begin := func(tool string) string {
			reply, err := modern.Send(t.Context(), wire.Request{Name: tool, Arguments: kit.Input{}})
			require.NoError(t, err)
			return reply.State
		}
		first := begin("held")
		time.Sleep(time.Minute)
		begin("held")
		begin("native")
		left := make(chan struct{})
		for _, tool := range []string{"held", "native"} {
			go func() {
				_, _ = legacy.Call(t.Context(), tool, kit.Input{}, wire.Answers{"units": wire.Silent})
				left <- struct{}{}
			}()
			synctest.Wait()
		}
		time.Sleep(time.Second)
		waits := func(name string, in era.Era, way string, calls int, longest time.Duration) listen.Waiting {
			return listen.Waiting{Method: "tools/call", Name: name, Era: in, Way: way, Calls: calls, Longest: longest}
		}
		require.Equal(t, []listen.Waiting{
			waits("held", era.Modern, listen.WayHeld, 2, time.Minute+time.Second),
			waits("held", era.Legacy, listen.WayLegacy, 1, time.Second),
			waits("native", era.Legacy, listen.WayLegacy, 1, time.Second),
		}, rt.Waiting())

		require.NoError(t, legacy.Close())
		<-left
		<-left
		_, err = modern.Send(t.Context(), wire.Request{Name: "held", Arguments: kit.Input{}, State: first, Responses: map[string]any{
			"units": map[string]any{"action": "accept", "content": map[string]any{"units": "metric"}},
		}})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []listen.Waiting{waits("held", era.Modern, listen.WayHeld, 1, time.Second)}, rt.Waiting())
	})
}
