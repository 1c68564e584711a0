package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/relay"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

type trip struct {
	To string `json:"to"`
}

type plan struct {
	Text string `json:"text"`
}

var (
	seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	meal = mrtr.Elicit[string]("meal", "Which meal?")
)

// newDesk is a server of ours: its tool holds a seat, asks twice, and sells a ticket.
func newDesk(w *mrtrtest.World) *mcp.Server {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	effect := func(name string) func(context.Context, string) error {
		return func(context.Context, string) error { w.Effect(name); return nil }
	}
	book := mrtr.Native(func(ctx context.Context, c *mrtr.Call, in trip) (*mrtr.IncompleteResult, plan, error) {
		if err := mrtr.Do(ctx, c, "hold", effect("hold")); err != nil {
			return nil, plan{}, err
		}
		s, ok := mrtr.Answer(c, seat)
		if !ok {
			return mrtr.Need(seat), plan{}, nil
		}
		m, ok := mrtr.Answer(c, meal)
		if !ok {
			return mrtr.Need(meal), plan{}, nil
		}
		return nil, plan{in.To + ", " + s + ", " + m}, mrtr.Do(ctx, c, "ticket", effect("ticket"))
	}).OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[struct{}]) error { w.Undo("hold"); return nil }))
	server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "book"}, book)
	return server
}

// newTrip is a server on go-sdk alone, whose state is nobody's secret.
func newTrip(*mrtrtest.World) *mcp.Server { return wire.NewTripServer(wire.Trip) }

// connected is a session for a gateway.
func connected(server *mcp.Server) *mcp.ClientSession {
	there, here := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), there, nil); err != nil {
		panic(err)
	}
	return dialed(here)
}

func dialed(transport mcp.Transport) *mcp.ClientSession {
	client := mcp.NewClient(&mcp.Implementation{Name: "gateway", Version: "1"}, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	session, err := client.Connect(context.Background(), transport, nil)
	if err != nil {
		panic(err)
	}
	return session
}

// gateway builds the instances of a gateway before one upstream.
func gateway(upstream mrtrtest.Build) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		return newGatewayOf(w, mrtrtest.Shared(w, "upstream", func() *mcp.ClientSession { return connected(upstream(w)) }))
	}
}

// newGatewayOf is an instance with all the tools of an upstream, as tasks.
func newGatewayOf(w *mrtrtest.World, upstream *mcp.ClientSession) *mcp.Server {
	server, rt := newGateway(w, nil)
	if err := relay.AddAll(context.Background(), server, rt, upstream, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}}); err != nil {
		panic(err)
	}
	return server
}

// newGateway is an instance without a tool.
func newGateway(w *mrtrtest.World, kept keep.Durability) (*mcp.Server, *mrtr.Runtime) {
	key, err := statecodec.NewKey(w.Key())
	if err != nil {
		panic(err)
	}
	if kept == nil {
		kept = durable.In(w.Store(), nil)
	}
	rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}, Durable: kept})
	if err != nil {
		panic(err)
	}
	w.Cleanup(func() { _ = rt.Close() })
	server := mcp.NewServer(&mcp.Implementation{Name: "gateway", Version: "1"}, nil)
	m, err := tasks.Install(server, &tasks.Options{Runtime: rt, PollInterval: time.Millisecond})
	if err != nil {
		panic(err)
	}
	w.Cleanup(func() { _ = m.Close() })
	return server, rt
}

// A client of the gateway is asked the same as one of the upstream, and gets the same, in every
// era, also if each of its requests reaches another instance of the gateway. The upstream has
// its effects once, and undoes them when the user declines there.
func TestAGatewayPassesEverythingOn(t *testing.T) {
	type end struct {
		Text, Structured string
		IsError          bool
		Asked, Effects   []string
	}
	endOf := func(out *mrtrtest.Outcome) end {
		require.Nil(t, out.Error)
		e := end{Text: out.Text, Structured: string(out.Structured), IsError: out.IsError, Effects: out.Effects}
		for _, q := range out.Asked {
			var form any // go-sdk's client keeps no order of its members
			require.NoError(t, json.Unmarshal([]byte(q.Schema), &form))
			e.Asked = append(e.Asked, fmt.Sprint(q.Message, form))
		}
		return e
	}
	scripts := map[string]mrtrtest.Answers{
		"answered":  {"seat": {mrtrtest.Value("window")}, "meal": {mrtrtest.Value("fish")}, "place": {mrtrtest.Value("Lisbon")}, "by": {mrtrtest.Value("train")}},
		"declined":  {"seat": {mrtrtest.Value("window")}, "meal": {mrtrtest.Decline}, "place": {mrtrtest.Value("Lisbon")}, "by": {mrtrtest.Value("train")}},
		"cancelled": {"seat": {mrtrtest.Cancel}, "place": {mrtrtest.Value("Lisbon")}, "by": {mrtrtest.Value("train")}},
	}
	arguments := map[string]any{"book": trip{"Lisbon"}, "trip": wire.TripIn{Who: "Ada"}}
	cells := 0
	for tool, upstream := range map[string]mrtrtest.Build{"book": newDesk, "trip": newTrip} {
		for name, answers := range scripts {
			script := mrtrtest.Script{Tool: tool, Arguments: arguments[tool], Answers: answers}
			want := endOf(mrtrtest.Call(t, upstream, script, nil))
			require.NotEmpty(t, want.Asked)
			for _, era := range []mrtrtest.Era{mrtrtest.Modern, mrtrtest.Legacy, mrtrtest.TakesTasks} {
				for _, fresh := range []bool{false, true} {
					if fresh && era == mrtrtest.Legacy {
						continue // which is one request
					}
					opts := &mrtrtest.Options{Era: era, FreshInstances: fresh}
					cells++
					t.Run(fmt.Sprintf("%s/%s/%s", tool, name, opts), func(t *testing.T) {
						require.Equal(t, want, endOf(mrtrtest.Call(t, gateway(upstream), script, opts)))
					})
				}
			}
		}
	}
	require.Equal(t, 2*3*5, cells)
}

// fake is an upstream that a test plays.
type fake func(params *mcp.CallToolParams) (*mcp.CallToolResult, error)

func (f fake) CallTool(_ context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return f(params)
}

func build(upstream relay.Upstream) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		server, rt := newGateway(w, nil)
		mrtr.Add(server, rt, &mcp.Tool{Name: "t", InputSchema: map[string]any{"type": "object"}}, relay.Tool(upstream, "t"))
		return server
	}
}

func done(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// The upstream is in the trace of the request. A state that the gateway did not seal never reaches
// it, and neither does one that the upstream itself gave to somebody.
func TestAForgedStateIsRefused(t *testing.T) {
	calls, meta := 0, mcp.Meta{}
	home := &mrtrtest.Deployment{Name: "home", Build: build(fake(func(params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		calls, meta = calls+1, params.Meta
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": wire.TextForm("A?", "a")}, RequestState: "upstream's"}, nil
	}))}
	instance, err := home.Start()
	require.NoError(t, err)
	link, err := instance.Connect(t.Context(), "ada")
	require.NoError(t, err)
	client, err := wire.Dial(t.Context(), link, nil)
	require.NoError(t, err)
	traced := mcp.Meta{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "v=1", "baggage": "tenant=a"}
	sent := maps.Clone(client.Meta())
	maps.Copy(sent, traced)
	sent["secret"] = "x"
	res, err := client.Exchange(t.Context(), wire.Request{Method: "tools/call", Name: "t", Params: map[string]any{"name": "t", "arguments": struct{}{}, "_meta": sent}})
	require.NoError(t, err)
	asked, err := wire.ReadReply(res)
	require.NoError(t, err)
	require.NotContains(t, asked.State, "upstream's")
	delete(meta, mcp.MetaKeyClientCapabilities)
	require.Equal(t, traced, meta)
	forged := []byte(asked.State)
	forged[len(forged)/2] ^= 1
	for _, state := range []string{"upstream's", string(forged)} {
		refused, err := client.Send(t.Context(), wire.Request{Name: "t", Arguments: struct{}{}, State: state, Responses: map[string]any{"a": map[string]any{"action": "accept", "content": map[string]any{"a": "x"}}}})
		require.NoError(t, err)
		require.EqualValues(t, -32602, refused.Error.Code)
	}
	require.Equal(t, 1, calls)
	require.NoError(t, client.Close())
	require.NoError(t, instance.Stop())
	require.NoError(t, home.Close())
}

// An upstream may give its questions any key, use one again, put a question in other words, and
// want to be called again without any. It gets the answers under its own keys, as its schemas
// want them.
func TestWhateverAnUpstreamAsks(t *testing.T) {
	var got []string
	round := 0
	upstream := fake(func(params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		responses, err := json.Marshal(params.InputResponses)
		require.NoError(t, err)
		got = append(got, params.RequestState+" "+string(responses))
		round++
		res := &mcp.CallToolResult{RequestState: fmt.Sprint(round), InputRequests: mcp.InputRequestMap{}}
		switch round {
		case 1, 2, 3:
			res.InputRequests["name"] = wire.TextForm(fmt.Sprintf("Name, for the %d. time?", round), "n")
		case 4:
			for _, key := range []string{"no key of ours!", strings.Repeat("k", 70), "question"} {
				res.InputRequests[key] = wire.TextForm("What?", "n")
			}
		case 5: // a state alone
		case 6:
			res.InputRequests["visit"] = &mcp.ElicitParams{Mode: "url", Message: "Log in.", URL: "https://example.org/login"}
			res.InputRequests["model"] = &mcp.CreateMessageWithToolsParams{MaxTokens: 10} //lint:ignore SA1019 still legal on the wire
			res.InputRequests["roots"] = &mcp.ListRootsParams{}                           //lint:ignore SA1019 still legal on the wire
		default:
			return done("done"), nil
		}
		return res, nil
	})
	name := mrtrtest.Accept(map[string]any{"n": "Ada"})
	out := mrtrtest.Call(t, build(upstream), mrtrtest.Script{Tool: "t", Arguments: struct{}{}, Answers: mrtrtest.Answers{
		"name": {mrtrtest.Accept(map[string]any{"n": 7}), name}, "name-2": {name}, "name-3": {mrtrtest.Decline},
		"question": {name}, "question-2": {name}, "question-3": {name},
		"visit": {mrtrtest.Accept(map[string]any{})}, "model": {mrtrtest.Raw(`{"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}`)}, "roots": {mrtrtest.Raw(`{"roots":[]}`)},
	}}, nil)
	require.Equal(t, "done", out.Text, "%+v", out.Error)
	ada := `{"action":"accept","content":{"n":"Ada"}}`
	require.Equal(t, []string{
		" null", `1 {"name":` + ada + `}`, `2 {"name":` + ada + `}`, `3 {"name":{"action":"decline"}}`,
		`4 {"` + strings.Repeat("k", 70) + `":` + ada + `,"no key of ours!":` + ada + `,"question":` + ada + `}`,
		"5 null", `6 {"model":{"content":{"type":"text","text":"hi"},"model":"m","role":"assistant"},"roots":{"roots":[]},"visit":{"action":"accept"}}`,
	}, got)
}

// The upstream learns what this client can be asked. Its refusal is the client's.
func TestTheUpstreamKnowsTheClient(t *testing.T) {
	for capabilities, want := range map[string]string{
		"{}": `{}`, `{"elicitation":{}}`: `{"elicitation":{"form":{}}}`,
		string(wire.Everything): `{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}}}`,
	} {
		var got string
		out := mrtrtest.Call(t, build(fake(func(params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			text, err := json.Marshal(params.Meta)
			got = string(text)
			return nil, errors.Join(err, &jsonrpc.Error{Code: -32021, Message: "Missing required client capability", Data: json.RawMessage(`{"requiredCapabilities":{"roots":{}}}`)})
		})), mrtrtest.Script{Tool: "t", Arguments: struct{}{}}, &mrtrtest.Options{Capabilities: capabilities})
		require.JSONEq(t, `{"io.modelcontextprotocol/clientCapabilities":`+want+`}`, got)
		require.EqualValues(t, -32021, out.Error.Code)
		require.JSONEq(t, `{"requiredCapabilities":{"roots":{}}}`, string(out.Error.Data))
	}
}

// The client of an upstream that gives no answer learns whether it may have done something, and
// nothing of where it is.
func TestAnUpstreamThatGivesNoAnswer(t *testing.T) {
	const unknown = "The server behind this tool gave no answer, and nobody knows what it has done: do not call the tool again without checking."
	unreached := fmt.Errorf("%w: %w", &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}, &net.OpError{Op: "dial", Err: errors.New("10.0.0.7 refused")})
	for cause, want := range map[error]string{
		unreached: "The server behind this tool cannot be reached. Nothing was done.",
		fmt.Errorf("10.0.0.7: %w", io.ErrUnexpectedEOF): unknown,
	} {
		out := mrtrtest.Call(t, build(fake(func(*mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, cause })), mrtrtest.Script{Tool: "t", Arguments: struct{}{}}, nil)
		require.True(t, out.IsError)
		require.Equal(t, want, out.Text)
	}
	idle := 0
	out := mrtrtest.Call(t, build(fake(func(*mcp.CallToolParams) (*mcp.CallToolResult, error) {
		idle++
		return &mcp.CallToolResult{RequestState: "again"}, nil
	})), mrtrtest.Script{Tool: "t", Arguments: struct{}{}}, nil)
	require.True(t, out.IsError)
	require.Equal(t, 3, idle)
	require.Equal(t, unknown, out.Text)
	for _, cause := range []error{unreached, callerror.NotBegun("Later.", "busy")} {
		worked := false // before it asks to be called again
		out := mrtrtest.Call(t, build(fake(func(*mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if worked {
				return nil, cause
			}
			worked = true
			return &mcp.CallToolResult{RequestState: "again"}, nil
		})), mrtrtest.Script{Tool: "t", Arguments: struct{}{}}, nil)
		require.Nil(t, out.Error)
		require.Equal(t, unknown, out.Text)
	}
}

// The upstream sells the ticket, and its connection breaks behind a router. The gateway does not send
// the request again, not for a task either: the call ends as one whose outcome nobody knows.
func TestAnInstanceOfTheUpstreamIsLost(t *testing.T) {
	for _, era := range []mrtrtest.Era{mrtrtest.Modern, mrtrtest.TakesTasks} {
		var sold atomic.Int32
		var web *httptest.Server
		desk := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		mcp.AddTool(desk, &mcp.Tool{Name: "sell"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			if sold.Add(1) == 1 {
				web.CloseClientConnections()
				<-ctx.Done()
			}
			return done("sold"), nil, nil
		})
		handler, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return desk }, nil)
		require.NoError(t, err)
		web = httptest.NewServer(handler)
		defer web.Close()
		address, err := url.Parse(web.URL)
		require.NoError(t, err)
		router, err := mcphttp.NewRouter(map[string]*url.URL{"a": address}, nil)
		require.NoError(t, err)
		defer router.Close()
		front := httptest.NewServer(router)
		defer front.Close()
		out := mrtrtest.Call(t, func(w *mrtrtest.World) *mcp.Server {
			session := dialed(&mcp.StreamableClientTransport{Endpoint: front.URL})
			w.Cleanup(func() { _ = session.Close() })
			return newGatewayOf(w, session)
		}, mrtrtest.Script{Tool: "sell", Arguments: struct{}{}}, &mrtrtest.Options{Era: era, User: "ada"})
		require.EqualValues(t, 1, sold.Load(), "%v", era)
		require.NotNil(t, out.Error)
		require.Contains(t, out.Error.Message, "nobody knows how far it came")
	}
}

// An instance of the gateway dies while the upstream sells the ticket. Another one does not sell
// it again: the call ends as one whose outcome nobody knows.
func TestAnInstanceThatDiesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := &mrtrtest.Deployment{Name: "home", Build: gateway(newDesk)}
		dial := func() (*mrtrtest.Instance, *wire.Client) {
			instance, err := home.Start()
			require.NoError(t, err)
			link, err := instance.Connect(t.Context(), "ada")
			require.NoError(t, err)
			client, err := wire.Dial(t.Context(), link, nil)
			require.NoError(t, err)
			return instance, client
		}
		dead, first := dial()
		request := wire.Request{Name: "book", Arguments: trip{"Lisbon"}}
		answers := wire.Answers{"seat": wire.Value("window"), "meal": wire.Value("fish")}
		for range 2 {
			asked, err := first.Send(t.Context(), request)
			require.NoError(t, err)
			request.State = asked.State
			request.Responses, err = answers.Responses(asked.Asks)
			require.NoError(t, err)
		}
		over := make(chan struct{})
		home.CrashAtEffect(over)
		_, err := first.Send(t.Context(), request)
		require.Error(t, err)
		require.Error(t, dead.Died())
		home.CrashAtEffect(nil)
		alive, second := dial()
		var reply *wire.Reply
		for range 20 {
			if reply, err = second.Send(t.Context(), request); reply.Error == nil || reply.Error.Code != -31001 {
				break
			}
			time.Sleep(5 * time.Second)
		}
		require.NoError(t, err)
		require.Nil(t, reply.Error)
		require.True(t, reply.IsError)
		require.Contains(t, reply.Text, "nobody knows")
		require.Equal(t, map[string]int{"hold": 1, "ticket": 1}, home.Effects())
		close(over)
		require.NoError(t, second.Close())
		require.NoError(t, dead.Stop())
		require.NoError(t, alive.Stop())
		require.NoError(t, home.Close())
	})
}

// A style without an upstream is the zero Style, which nobody can register.
func TestNoUpstream(t *testing.T) {
	require.Nil(t, relay.Tool(nil, "t").Enter)
	require.Nil(t, relay.Tool(fake(nil), "").Enter)
	require.NotNil(t, relay.Tool(fake(nil), "t").Enter)
}
