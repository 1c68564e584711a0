package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// tried reports whether the nth cell of a long table is played here: one in three is, others
// each time where the table is a map, and in CI all are.
func tried(n int) bool { return n%3 == 0 || os.Getenv("MRTR_NIGHTLY") == "1" }

// TestMain collects garbage rarely: these tests allocate much and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// recorder is an Observer that keeps everything.
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

// of is the events of one kind.
func (r *recorder) of(kind observe.Kind) []observe.Event {
	var found []observe.Event
	for _, e := range r.all() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// newRuntime makes a runtime whose events are recorded.
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

// nativeHandler is the handler of most tests.
type nativeHandler = mrtr.GuardedFunc[input, output]

// serveStyle serves one handler as "tool".
func serveStyle[In, Out any](rt *mrtr.Runtime, style mrtr.Style[In, Out], opts *mrtr.HandlerOptions) *mcp.Server {
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, opts))
	return server
}

// serveTool serves one guarded handler as "tool".
func serveTool(rt *mrtr.Runtime, h nativeHandler, opts *mrtr.HandlerOptions) *mcp.Server {
	return serveStyle(rt, mrtr.Native(h), opts)
}

var units = mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)

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

// misuse requires an error that says the program is wrong.
func misuse(t testing.TB, err error, explanation ...any) *mrtr.UsageError {
	t.Helper()
	var usage *mrtr.UsageError
	require.ErrorAs(t, err, &usage, explanation...)
	return usage
}

// effectOf is an error's report of effects, "" if there is none.
func effectOf(err error) string {
	var effect interface{ ToolErrorEffect() string }
	if !errors.As(err, &effect) {
		return ""
	}
	return effect.ToolErrorEffect()
}

// send makes one request.
func send(t testing.TB, client *wire.Client, r wire.Request) *wire.Reply {
	t.Helper()
	reply, err := client.Send(t.Context(), r)
	require.NoError(t, err)
	return reply
}

// requireCode requires that an error is one of JSON-RPC, with a code.
func requireCode(t testing.TB, err error, code int64, explanation ...any) *jsonrpc.Error {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire, explanation...)
	require.Equal(t, code, wire.Code, explanation...)
	return wire
}

// failsWith requires an error result with a text.
func failsWith(t testing.TB, out *wire.Outcome, text string) {
	t.Helper()
	require.Nil(t, out.Error)
	require.True(t, out.IsError)
	require.Equal(t, text, out.Text)
}

// modernMeta is the metadata of a modern client that can be asked with a form.
func modernMeta() mcp.Meta {
	return mcp.Meta{
		mcp.MetaKeyProtocolVersion:    wire.Modern,
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
}

// shared is a memory store as if several processes shared it, whose records are sealed.
type shared struct{ *store.Memory }

func (shared) Scope() store.Scope { return store.Machine }

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

var errClosed = errors.New("the desk is closed")

// fullError survives JSON.
type fullError struct {
	Train string `json:"train"`
}

func (e *fullError) Error() string            { return e.Train + " is full" }
func (e *fullError) ToolErrorType() string    { return "full" }
func (e *fullError) ToolErrorExpected() bool  { return true }
func (e *fullError) ToolErrorHints() []string { return []string{"Take another train."} }
func (e *fullError) ToolErrorSelector() (string, []string) {
	return "train", []string{"IC 2"}
}

// spoken is an output with a text of its own.
type spoken struct {
	N int `json:"n"`
}

func (s spoken) Text() string { return fmt.Sprintf("It is %d.", s.N) }

// soonBetter is an error after which the same request may be sent again.
type soonBetter struct{ error }

func (soonBetter) ToolErrorRetryable() bool { return true }

var legacyClient = &wire.Options{Version: wire.Legacy}
