package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// setting is how a server is set up.
type setting struct {
	store   store.Store
	gate    gate.Options
	options mrtr.Options
	tasks   *tasks.Options
	layers  []string // in the order of their installation; only the gate if nil
	// during is called while the tool runs.
	during func(ctx context.Context)
}

// site is a server with five tools behind a gate: read, write, wipe, bare, which has no
// annotations, and asks, which asks in which bin to put it.
type site struct {
	testing.TB
	server *mcp.Server
	gate   *gate.Gate
	rt     *mrtr.Runtime
	during func(context.Context)
	asks   mcp.ToolHandlerFor[path, map[string]string]

	mu    sync.Mutex
	calls []string
	user  string // whom the server takes the caller for
}

type path struct {
	Path string `json:"path,omitempty"`
}

var bin = mrtr.Choose("bin", "Which bin?", mrtr.Choices("paper", "glass")...)

// machine is a store in memory that stands for a machine's.
type machine struct{ *store.Memory }

func (machine) Scope() store.Scope { return store.Machine }

func newSite(t testing.TB, s setting) *site {
	t.Helper()
	here := &site{TB: t, server: mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)}
	s.options.Store = s.store
	if s.store != nil && s.store.Scope() != store.Process && s.options.State == nil {
		s.options.State = &statecodec.Options{Keys: []statecodec.Key{testKey(t)}}
	}
	s.options.Principal = func(context.Context, mcp.Request) (string, error) {
		here.mu.Lock()
		defer here.mu.Unlock()
		if here.user == "unknown" {
			return "", errors.New("who is it?")
		}
		return here.user, nil
	}
	var err error
	here.rt, err = mrtr.New(&s.options)
	require.NoError(t, err)
	here.during = s.during
	here.addPlain(here.server)
	here.addAsks()
	if s.layers == nil {
		s.layers = []string{"gate"}
	}
	for _, layer := range s.layers {
		switch layer {
		case "gate":
			here.gate, err = gate.Install(here.server, here.rt, &s.gate)
		case "boundary":
			err = boundary.Install(here.server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)})
		case "tasks":
			s.tasks.Runtime = here.rt
			var m *tasks.Manager
			m, err = tasks.Install(here.server, s.tasks)
			t.Cleanup(func() { require.NoError(t, m.Close()) })
		}
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, here.rt.Close()) })
	return here
}

func (s *site) addPlain(server *mcp.Server) {
	no := false
	for name, annotations := range map[string]*mcp.ToolAnnotations{
		"read": {ReadOnlyHint: true}, "write": {DestructiveHint: &no}, "wipe": {Title: "Wipe a file"}, "bare": nil,
	} {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: annotations}, func(ctx context.Context, _ *mcp.CallToolRequest, in path) (*mcp.CallToolResult, any, error) {
			if s.during != nil {
				s.during(ctx)
			}
			s.note(name + " " + in.Path)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + " done"}}}, nil, nil
		})
	}
}

// addNaive adds a tool that asks, and believes every state.
func (s *site) addNaive(server *mcp.Server, names ...string) {
	for _, name := range names {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.RequestState == "" {
				form := json.RawMessage(`{"type":"object","properties":{}}`)
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"bin": &mcp.ElicitParams{Message: "Which bin?", RequestedSchema: form}}, RequestState: "inner"}, nil
			}
			s.note(name + " with state " + req.Params.RequestState)
			return &mcp.CallToolResult{}, nil
		})
	}
}

func (s *site) addAsks() {
	s.asks = mrtr.Tool(s.rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, in path) (*mrtr.IncompleteResult, map[string]string, error) {
		chosen, ok := mrtr.Answer(c, bin)
		if !ok {
			s.note("asks")
			return mrtr.Need(bin), nil, nil
		}
		s.note("asks " + in.Path + " " + chosen)
		return nil, map[string]string{"bin": chosen}, nil
	}), nil)
	mcp.AddTool(s.server, &mcp.Tool{Name: "asks"}, s.asks)
}

// another is a server with the tools of this one, the same runtime, and no gate.
func (s *site) another() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "another", Version: "1"}, nil)
	s.addPlain(server)
	mcp.AddTool(server, &mcp.Tool{Name: "asks"}, s.asks)
	return server
}

func connect(t testing.TB, server *mcp.Server, o *wire.Options) *wire.Client {
	t.Helper()
	c, err := wire.Connect(context.Background(), server, o)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func testKey(t testing.TB) statecodec.Key {
	key, err := statecodec.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	require.NoError(t, err)
	return key
}

func (s *site) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

// called are the calls of tools since it was called last.
func (s *site) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// as lets the server take the caller for somebody from here on.
func (s *site) as(user string) *site {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user = user
	return s
}

func (s *site) client(o *wire.Options) *wire.Client {
	s.Helper()
	return connect(s.TB, s.server, o)
}

// ways are the three kinds of clients.
var ways = map[string]*wire.Options{
	"modern": {}, "legacy": {Version: wire.Legacy}, "task": {TakesTasks: true},
}

func (s *site) call(c *wire.Client, tool string, args any, answers wire.Answers) *wire.Outcome {
	s.Helper()
	if args == nil {
		args = path{"/a"}
	}
	out, err := c.Call(context.Background(), tool, args, answers)
	require.NoError(s, err)
	return out
}

func (s *site) send(c *wire.Client, r wire.Request) *wire.Reply {
	s.Helper()
	reply, err := c.Send(context.Background(), r)
	require.NoError(s, err)
	return reply
}

// says answers the gate's question with a form, and the tool's with paper.
func says(form map[string]any) wire.Answers {
	return saying(wire.Accept(form))
}

func saying(a wire.Answer) wire.Answers {
	return wire.Answers{"gate.approve": a, "approve": a, "elicitation/create": a, "bin": wire.Value("paper")}
}

var (
	yes      = says(map[string]any{"approve": true})
	forever  = says(map[string]any{"approve": true, "remember": true})
	no       = says(map[string]any{"approve": false})
	response = map[string]any{"gate.approve": map[string]any{"action": "accept", "content": map[string]any{"approve": true}}}
)

func badState(t testing.TB, reply *wire.Reply) {
	t.Helper()
	require.NotNil(t, reply.Error, "%s", reply.Result)
	require.EqualValues(t, -32602, reply.Error.Code)
	require.Equal(t, statecodec.Refusal, reply.Error.Message)
}
