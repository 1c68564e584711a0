package mrtr_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

// recorder is an Observer that keeps everything.
type recorder struct {
	mu     sync.Mutex
	events []mrtr.Event
}

func (r *recorder) Observe(_ context.Context, e mrtr.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) all() []mrtr.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]mrtr.Event(nil), r.events...)
}

// of is the events of one kind.
func (r *recorder) of(kind mrtr.EventKind) []mrtr.Event {
	var found []mrtr.Event
	for _, e := range r.all() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// entries counts how often a handler was entered.
func (r *recorder) entries() int { return len(r.of(mrtr.HandlerEntered)) }

// newRuntime makes a runtime whose events are recorded.
func newRuntime(t testing.TB, opts *mrtr.Options) (*mrtr.Runtime, *recorder) {
	t.Helper()
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	seen := &recorder{}
	if o.Observer == nil {
		o.Observer = seen
	}
	o = onForcedStore(t, o)
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

// nativeHandler is the handler of most tests.
type nativeHandler = mrtr.GuardedFunc[input, output]

// serveTool serves one guarded handler as "tool".
func serveTool(rt *mrtr.Runtime, h nativeHandler, opts *mrtr.HandlerOptions) *mcp.Server {
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Native(h), opts))
	return server
}

// asking is a handler that asks one question and repeats its answer.
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

// call runs "tool" to its end.
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

func keys(n int) []statecodec.Key {
	ring := make([]statecodec.Key, n)
	for i := range ring {
		ring[i] = statecodec.GenerateKey()
	}
	return ring
}

// ended requires that a call ended for a reason.
func ended(t testing.TB, err error, reason mrtr.Reason, explanation ...any) *mrtr.Error {
	t.Helper()
	var ended *mrtr.Error
	require.ErrorAs(t, err, &ended, explanation...)
	require.Equal(t, reason, ended.Reason, explanation...)
	return ended
}
