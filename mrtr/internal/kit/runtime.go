// Package kit is what the tests of the engine, its styles and its keepers share: runtimes
// whose events are recorded, a tool that is called with and without a wire, and one handler
// in every style.
package kit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// Main collects garbage rarely: these tests allocate much and keep little.
func Main(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// Tried reports whether the nth cell of a long table is played here: one in five is, others
// each time where the table is a map, and at night all are.
func Tried(n int) bool { return n%5 == 0 || os.Getenv("MRTR_NIGHTLY") == "1" }

// Recorder is an Observer that keeps everything.
type Recorder struct {
	mu     sync.Mutex
	events []observe.Event
}

func (r *Recorder) Observe(_ context.Context, e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *Recorder) All() []observe.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]observe.Event(nil), r.events...)
}

// Of is the events of one kind.
func (r *Recorder) Of(kind observe.Kind) []observe.Event {
	var found []observe.Event
	for _, e := range r.All() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// Entries counts how often a handler was entered.
func (r *Recorder) Entries() int { return len(r.Of(observe.HandlerEntered)) }

func (r *Recorder) Abandoned() (reasons []string) {
	for _, e := range r.Of(observe.CallAbandoned) {
		reasons = append(reasons, fmt.Sprintf("%s (effects: %t)", e.Reason, e.HasEffects))
	}
	return reasons
}

// NewRuntime makes a runtime whose events are recorded.
func NewRuntime(t testing.TB, opts *mrtr.Options) (*mrtr.Runtime, *Recorder) {
	t.Helper()
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	seen := &Recorder{}
	if o.Listener == nil {
		o.Listener = observe.With(seen)
	}
	o = onForcedStore(t, o)
	rt, err := mrtr.New(&o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	return rt, seen
}

// forcedStore is under every runtime of these tests that has none of its own, with
//
//	MRTR_STORE=memory go test ./mrtr ./mrtr/steps ./mrtr/given ./mrtr/linear ./mrtr/visit
//
// The tests hold with a store too, but for those that call Differs.
var forcedStore = store.NewMemory(nil)

func StoreForced() bool { return os.Getenv("MRTR_STORE") == "memory" }

// different holds the names of the tests that called Differs.
var different sync.Map

// Differs says what a store changes in the behaviour that a test is about: it runs without one.
func Differs(t testing.TB, why string) {
	require.NotEmpty(t, why)
	different.Store(t.Name(), true)
}

func onForcedStore(t testing.TB, o mrtr.Options) mrtr.Options {
	test, _, _ := strings.Cut(t.Name(), "/")
	if _, differs := different.Load(test); differs || !StoreForced() || o.Durable != nil {
		return o
	}
	over := store.Store(forcedStore)
	if o.State != nil && len(o.State.Keys) > 0 {
		over = Shared{forcedStore}
	}
	o.Durable = durable.In(over, &durable.Options{Patience: 100 * time.Millisecond}) // it never waits
	if o.Same == mrtr.SameInherit {                                                  // the equal calls of two tests are not one call
		o.Same = mrtr.SameNone
	}
	return o
}

// Shared is a memory store as if several processes shared it, whose records are sealed.
type Shared struct{ *store.Memory }

func (Shared) Scope() store.Scope { return store.Machine }

// SharedKey is for instances that serve one another's rounds.
var SharedKey = statecodec.GenerateKey()

func Keys(n int) []statecodec.Key {
	ring := make([]statecodec.Key, n)
	for i := range ring {
		ring[i] = statecodec.GenerateKey()
	}
	return ring
}

// NewLog is a logger, and the lines that it has written.
func NewLog() (*slog.Logger, *bytes.Buffer) {
	var log bytes.Buffer
	return slog.New(slog.NewTextHandler(&log, nil)), &log
}

func NewServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
}

func Connect(t testing.TB, server *mcp.Server, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.Connect(context.Background(), server, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// The clients that are not modern.
var (
	Legacy         = &wire.Options{Version: wire.Legacy}
	LegacyMute     = &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing}
	NegotiatedDown = &wire.Options{Version: wire.Modern, Handshake: true}
)

type Input struct {
	Location string   `json:"location,omitempty"`
	Tags     []string `json:"tags,omitempty"`
}

type Output struct {
	Said string `json:"said"`
}

// Handler is the handler of most tests.
type Handler = mrtr.GuardedFunc[Input, Output]

// ServeStyle serves one handler as "tool".
func ServeStyle[In, Out any](rt *mrtr.Runtime, style mrtr.Style[In, Out], opts *mrtr.HandlerOptions) *mcp.Server {
	server := NewServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, opts))
	return server
}

// ServeTool serves one guarded handler as "tool".
func ServeTool(rt *mrtr.Runtime, h Handler, opts *mrtr.HandlerOptions) *mcp.Server {
	return ServeStyle(rt, mrtr.Native(h), opts)
}

// ConnectTo connects a client to a guarded handler on a runtime of its own.
func ConnectTo(t testing.TB, h Handler, opts *wire.Options) *wire.Client {
	t.Helper()
	rt, _ := NewRuntime(t, nil)
	return Connect(t, ServeTool(rt, h, nil), opts)
}

// Asking is a handler that asks one question and repeats its answer.
func Asking[T any](q mrtr.Question[T], say func(T) string) Handler {
	return func(_ context.Context, c *mrtr.Call, _ Input) (*mrtr.IncompleteResult, Output, error) {
		v, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), Output{}, nil
		}
		return nil, Output{say(v)}, nil
	}
}

func Itself(s string) string { return s }

var Units = mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)

// Call runs "tool" to its end.
func Call(t testing.TB, client *wire.Client, answers wire.Answers) *wire.Outcome {
	t.Helper()
	// A requirement that fails in a handler ends its goroutine, and nobody answers.
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := client.Call(ctx, "tool", map[string]any{}, answers)
	require.NoError(t, err)
	return out
}

// Play calls a guarded handler once, as a modern client.
func Play(t testing.TB, h Handler, answers wire.Answers) *wire.Outcome {
	t.Helper()
	return Call(t, ConnectTo(t, h, nil), answers)
}

// Send makes one request.
func Send(t testing.TB, client *wire.Client, r wire.Request) *wire.Reply {
	t.Helper()
	reply, err := client.Send(t.Context(), r)
	require.NoError(t, err)
	return reply
}

// ModernMeta is the metadata of a modern client that can be asked with a form.
func ModernMeta() mcp.Meta {
	return mcp.Meta{
		mcp.MetaKeyProtocolVersion:    wire.Modern,
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
}

func After(d time.Duration, answer wire.Answer) wire.Answer {
	return func(q wire.Question) any {
		time.Sleep(d)
		return answer(q)
	}
}
