package mrtr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
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

// entries counts how often a handler was entered.
func (r *recorder) entries() int { return len(r.of(observe.HandlerEntered)) }

func (r *recorder) abandoned() (reasons []string) {
	for _, e := range r.of(observe.CallAbandoned) {
		reasons = append(reasons, fmt.Sprintf("%s (effects: %t)", e.Reason, e.HasEffects))
	}
	return reasons
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

// connectTo connects a client to a guarded handler on a runtime of its own.
func connectTo(t testing.TB, h nativeHandler, opts *wire.Options) *wire.Client {
	t.Helper()
	rt, _ := newRuntime(t, nil)
	return connect(t, serveTool(rt, h, nil), opts)
}

// play calls a guarded handler once, as a modern client.
func play(t testing.TB, h nativeHandler, answers wire.Answers) *wire.Outcome {
	t.Helper()
	return call(t, connectTo(t, h, nil), answers)
}

// send makes one request.
func send(t testing.TB, client *wire.Client, r wire.Request) *wire.Reply {
	t.Helper()
	reply, err := client.Send(t.Context(), r)
	require.NoError(t, err)
	return reply
}

// refusedWith requires a protocol error.
func refusedWith(t testing.TB, err *jsonrpc.Error, code int64, explanation ...any) {
	t.Helper()
	require.NotNil(t, err, explanation...)
	require.EqualValues(t, code, err.Code, explanation...)
}

// requireCode requires that an error is one of JSON-RPC, with a code.
func requireCode(t testing.TB, err error, code int64, explanation ...any) *jsonrpc.Error {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire, explanation...)
	require.Equal(t, code, wire.Code, explanation...)
	return wire
}

// toldBy is all that an error tells a client: its text and its hints.
func toldBy(err error) string {
	told := err.Error()
	var hinted interface{ ToolErrorHints() []string }
	if errors.As(err, &hinted) {
		told += " " + strings.Join(hinted.ToolErrorHints(), " ")
	}
	return told
}

// newLog is a logger, and the lines that it has written.
func newLog() (*slog.Logger, *bytes.Buffer) {
	var log bytes.Buffer
	return slog.New(slog.NewTextHandler(&log, nil)), &log
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

// forcedStore is under every runtime of these tests that has none of its own, with
//
//	MRTR_STORE=memory go test ./mrtr
//
// The tests hold with a store too, but for those listed in differsWithStore.
var forcedStore = store.NewMemory(nil)

func isStoreForced() bool { return os.Getenv("MRTR_STORE") == "memory" }

func onForcedStore(t testing.TB, o mrtr.Options) mrtr.Options {
	test, _, _ := strings.Cut(t.Name(), "/")
	if !isStoreForced() || o.Durable != nil || differsWithStore[test] != "" {
		return o
	}
	over := store.Store(forcedStore)
	if o.State != nil && len(o.State.Keys) > 0 {
		over = shared{forcedStore}
	}
	o.Durable = durable.In(over, &durable.Options{Patience: 100 * time.Millisecond}) // it never waits
	return o
}

// differsWithStore names the tests of behaviour that a store changes, each with the
// difference. They run without one.
var differsWithStore = map[string]string{
	"TestAllocationGrowsEvenlyWithAnswers":          "a record of the round holds the answers too",
	"TestOpenCallsTakeBoundedMemory":                "records of the rounds are in the same memory",
	"TestDrainUnwindsTheRestWhereItsTimeIsUp":       "what an abandoned call did is undone by the store's time",
	"TestAHeldHandlerThatIsLetGoIsUndone":           "what an abandoned call did is undone by the store's time",
	"TestFramesAreFoundByTheirLastRound":            "a frame keeps its name while its round is asked again, and an old round has its result",
	"TestFramesResumeOnceWhenTwoRetriesRace":        "of two answers to one round the second is refused, and not told that its frame is gone",
	"TestIdemDependsOnTheAnswersBeforeTheEffect":    "a second answer to one round is refused",
	"TestAnAnswerThatItsTypeRefusesInAFreshProcess": "a call that was ended by one answer cannot be completed by another",
	"TestLinearContextIsCancelled":                  "a client that hangs up does not end its round, see TestHangUpDuringWork",
	"TestLinearRunUnwindsWithoutEffects":            "a client that hangs up does not end its round, see TestHangUpDuringWork",
	"TestStepsNoticeAChangedShape":                  "a round that ran gives its result, whichever handler is there now",
	"TestEventsComeInOrder":                         "the events tell of the claim too, see TestEventsOfRememberedRounds",
}

// panicOf requires an error that is a panic.
func panicOf(t testing.TB, err error) *mrtr.PanicError {
	t.Helper()
	var panicked *mrtr.PanicError
	require.ErrorAs(t, err, &panicked)
	return panicked
}

// shared is a memory store as if several processes shared it, whose records are sealed.
type shared struct{ *store.Memory }

func (shared) Scope() store.Scope { return store.Machine }
