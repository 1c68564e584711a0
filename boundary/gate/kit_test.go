package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/gate"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

// setting is how a server is set up.
type setting struct {
	store   store.Store
	gate    gate.Options
	options mrtr.Options
	tasks   tasks.Options
	layers  []string // in the order of their installation; only the gate if nil
	during  func(ctx context.Context)
}

// site is a server with tools behind a gate: read, write, wipe, bare, which has no
// annotations, and asks, which asks in which bin to put it. They call during, if it is set.
type site struct {
	testing.TB
	server *mcp.Server
	gate   *gate.Gate
	rt     *mrtr.Runtime
	during func(context.Context)

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

// forger answers reads of gates as onGet says, and keeps what they write first.
type forger struct {
	machine
	onGet  func() ([]byte, error)
	sealed string
}

func (f *forger) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	value, at, err := f.machine.Get(ctx, key)
	if f.onGet != nil && strings.HasPrefix(key.Name, "gate.") {
		if forged, failed := f.onGet(); forged != nil || failed != nil {
			return forged, 1, failed
		}
	}
	return value, at, err
}

func (f *forger) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if strings.HasPrefix(key.Name, "gate.") {
		f.sealed = string(value)
	}
	return f.machine.Create(ctx, key, value, ttl)
}

// stores are those that a runtime may have.
var stores = map[string]func() store.Store{
	"none": func() store.Store { return nil }, "memory": func() store.Store { return store.NewMemory(nil) }, "shared": func() store.Store { return machine{store.NewMemory(nil)} },
}

func newSite(t testing.TB, s setting) *site {
	t.Helper()
	here := &site{TB: t, server: newServer(), during: s.during}
	if s.store != nil {
		s.options.Durable = durable.In(s.store, nil)
	}
	if s.store == nil || s.store.Scope() != store.Process {
		key, err := statecodec.NewKey([]byte("0123456789abcdef0123456789abcdef"))
		require.NoError(t, err)
		s.options.State = &statecodec.Options{Keys: []statecodec.Key{key}, TTL: time.Hour}
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
	t.Cleanup(func() { require.NoError(t, here.rt.Close()) })
	here.addTools(here.server)
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
			m, err = tasks.Install(here.server, &s.tasks)
			t.Cleanup(func() { require.NoError(t, m.Close()) })
		}
		require.NoError(t, err)
	}
	return here
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
}

func (s *site) addTools(server *mcp.Server) {
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
	mcp.AddTool(server, &mcp.Tool{Name: "asks"}, s.asks(nil))
}

func (s *site) asks(o *mrtr.HandlerOptions) mcp.ToolHandlerFor[path, map[string]string] {
	return mrtr.Tool(s.rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, in path) (*mrtr.IncompleteResult, map[string]string, error) {
		chosen, ok := mrtr.Answer(c, bin)
		if !ok {
			return mrtr.Need(bin), nil, nil
		}
		s.note("asks " + in.Path + " " + chosen)
		return nil, map[string]string{"bin": chosen}, nil
	}), o)
}

// add adds a tool that is made by hand.
func (s *site) add(name string, f func(*mcp.CallToolParamsRaw) (*mcp.CallToolResult, error)) {
	s.server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.note(name)
		return f(req.Params)
	})
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

// ways are the three kinds of clients.
var ways = map[string]*wire.Options{"modern": {}, "legacy": {Version: wire.Legacy}, "task": {TakesTasks: true}}

func (s *site) client(o *wire.Options) *wire.Client { return connect(s, s.server, o) }

func connect(t testing.TB, server *mcp.Server, o *wire.Options) *wire.Client {
	t.Helper()
	c, err := wire.Connect(context.Background(), server, o)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
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

func (s *site) send(c *wire.Client, tool, at, state string) *wire.Reply {
	s.Helper()
	reply, err := c.Send(context.Background(), wire.Request{Name: tool, Arguments: path{at}, State: state, Responses: approved})
	require.NoError(s, err)
	return reply
}

// says answers the gate's question with a form, and the tool's with paper.
func says(form map[string]any) wire.Answers { return saying(wire.Accept(form)) }

func saying(a wire.Answer) wire.Answers {
	return wire.Answers{"gate.approve": a, "approve": a, "elicitation/create": a, "bin": wire.Value("paper")}
}

var (
	yes     = says(map[string]any{"approve": true})
	forever = says(map[string]any{"approve": true, "remember": true})
	no      = says(map[string]any{"approve": false})

	approved = map[string]any{"gate.approve": map[string]any{"action": "accept", "content": map[string]any{"approve": true}}, "bin": map[string]any{"action": "accept", "content": map[string]any{}}}
)
