package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

type recorder struct {
	mu     sync.Mutex
	events []observe.Event
}

func (r *recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) all() []observe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]observe.Event(nil), r.events...)
}

func (r *recorder) of(kind observe.Kind) []observe.Event {
	var found []observe.Event
	for _, e := range r.all() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

func newRuntime(t testing.TB, opts *mrtr.Options) (*mrtr.Runtime, *recorder) {
	t.Helper()
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	seen := &recorder{}
	if o.Listener == nil {
		o.Listener = observe.With(seen)
	}
	rt, err := mrtr.New(&o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt, seen
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
}

func connect(t testing.TB, server *mcp.Server, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.Connect(context.Background(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

type input struct {
	Location string   `json:"location,omitempty"`
	Tags     []string `json:"tags,omitempty"`
}

type output struct {
	Said string `json:"said"`
}

type nativeHandler = mrtr.GuardedFunc[input, output]

func serveStyle[In, Out any](rt *mrtr.Runtime, style mrtr.Style[In, Out], opts *mrtr.HandlerOptions) *mcp.Server {
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, opts))
	return server
}

func serveTool(rt *mrtr.Runtime, h nativeHandler, opts *mrtr.HandlerOptions) *mcp.Server {
	return serveStyle(rt, mrtr.Native(h), opts)
}

func asking[T any](q mrtr.Question[T], say func(T) string) nativeHandler {
	return func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		v, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), output{}, nil
		}
		return nil, output{say(v)}, nil
	}
}

func itself(s string) string { return s }

var units = mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)

func call(t testing.TB, client *wire.Client, answers wire.Answers) *wire.Outcome {
	t.Helper()
	// A requirement that fails in a handler ends its goroutine, and nobody answers.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := client.Call(ctx, "tool", map[string]any{}, answers)
	require.NoError(t, err)
	return out
}

func said(t testing.TB, out *wire.Outcome, want string) {
	t.Helper()
	require.Nil(t, out.Error)
	require.False(t, out.IsError, out.Text)
	require.Equal(t, "", out.State)
	require.JSONEq(t, string(mustJSON(output{want})), string(out.Structured))
}

func send(t testing.TB, client *wire.Client, r wire.Request) *wire.Reply {
	t.Helper()
	reply, err := client.Send(t.Context(), r)
	require.NoError(t, err)
	return reply
}

func newLog() (*slog.Logger, *bytes.Buffer) {
	var log bytes.Buffer
	return slog.New(slog.NewTextHandler(&log, nil)), &log
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func modernMeta() mcp.Meta {
	return mcp.Meta{
		mcp.MetaKeyProtocolVersion:    wire.Modern,
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
}

func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

type stage struct {
	ctx context.Context
	*mrtr.Call
	guarded bool
}

type stageFunc[In, Out any] = func(s *stage, in In) (Out, error)

type cut struct {
	need *mrtr.IncompleteResult
	err  error
}

func catch(need **mrtr.IncompleteResult, err *error) {
	switch v := recover().(type) {
	case nil:
	case cut:
		*need, *err = v.need, v.err
	default:
		panic(v)
	}
}

func ask[T any](s *stage, q mrtr.Question[T]) T {
	if s.guarded {
		v, ok := mrtr.Answer(s.Call, q)
		if !ok {
			panic(cut{need: mrtr.Need(q)})
		}
		return v
	}
	v, err := linear.Ask(s.ctx, s.Call, q)
	return unless(err, v)
}

func once[T any](s *stage, key string, f func(context.Context, string) (T, error)) T {
	v, err := mrtr.Once(s.ctx, s.Call, key, f)
	return unless(err, v)
}

func unless[T any](err error, v T) T {
	if err != nil {
		panic(cut{err: err})
	}
	return v
}

func guardedOf[In, Out any](body stageFunc[In, Out]) mrtr.GuardedFunc[In, Out] {
	return func(ctx context.Context, c *mrtr.Call, in In) (need *mrtr.IncompleteResult, out Out, err error) {
		defer catch(&need, &err)
		out, err = body(&stage{ctx, c, true}, in)
		return nil, out, err
	}
}

func linearOf[In, Out any](body stageFunc[In, Out]) linear.Func[In, Out] {
	return func(ctx context.Context, c *mrtr.Call, in In) (out Out, err error) {
		var none *mrtr.IncompleteResult
		defer catch(&none, &err)
		return body(&stage{ctx, c, false}, in)
	}
}

func everyStyle[In, Out any](body stageFunc[In, Out]) map[string]mrtr.Style[In, Out] {
	top := linearOf(body)
	return map[string]mrtr.Style[In, Out]{
		"native": mrtr.Native(guardedOf(body)), "coroutine": linear.Coroutine(top),
		"journal": linear.Journal(top), "resumable": linear.Resumable(top),
	}
}

var (
	legacyClient   = &wire.Options{Version: wire.Legacy}
	legacyMute     = &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing}
	negotiatedDown = &wire.Options{Version: wire.Modern, Handshake: true}
)

const (
	canary   = "CANARY-4711"
	deadline = time.Minute
)

func after(d time.Duration, answer wire.Answer) wire.Answer {
	return func(q wire.Question) any {
		time.Sleep(d)
		return answer(q)
	}
}
