package durable_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
)

// The tool of these tests plans a trip. It is called as the SDK would call it,
// without a wire in between, so that a test holds the context of each round.
type tripIn struct {
	Who string `json:"who"`
}

type tripOut struct {
	Plan string `json:"plan"`
}

type tripTool struct {
	handler mcp.ToolHandlerFor[tripIn, tripOut]
	rt      *mrtr.Runtime // nil if nobody asks for it
	mute    bool          // the client declares nothing that it can be asked
}

// tripReply is the outcome of a round: questions and a state, or an end.
type tripReply struct {
	asks  []string
	state string
	plan  string
	err   error
}

// sharedKey is for instances that serve one another's rounds.
var sharedKey = statecodec.GenerateKey()

// newTripRuntime makes a runtime, and sees at the end that nothing of it is
// left.
func newTripRuntime(tb testing.TB, opts *mrtr.Options) *mrtr.Runtime {
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	if o.State == nil {
		o.State = &statecodec.Options{Keys: []statecodec.Key{sharedKey}}
	}
	rt, err := mrtr.New(&o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, rt.Close())
		require.Zero(tb, rt.Stats().Held)
	})
	return rt
}

func newTrip(rt *mrtr.Runtime, style tripStyle, version string) *tripTool {
	return &tripTool{rt: rt, handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Version: version})}
}

// ends ends the instance that a call was asked by, so that nothing is held there any more.
func (tool *tripTool) ends(tb testing.TB, asked tripReply) tripReply {
	tb.Helper()
	require.NoError(tb, tool.rt.Close())
	return asked
}

// serveTrip is a tool of its own runtime.
func serveTrip(tb testing.TB, style tripStyle) *tripTool {
	return newTrip(newTripRuntime(tb, nil), style, "")
}

func (tool *tripTool) round(ctx context.Context, who, state string, responses mcp.InputResponseMap) tripReply {
	in := tripIn{Who: who}
	arguments, err := json.Marshal(in)
	if err != nil {
		return tripReply{err: err}
	}
	capabilities := map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
	if tool.mute {
		clear(capabilities)
	}
	res, out, err := tool.handler(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: mcp.Meta{
			mcp.MetaKeyProtocolVersion:    "2026-07-28",
			mcp.MetaKeyClientCapabilities: capabilities,
		},
		Name: "trip", Arguments: arguments, RequestState: state, InputResponses: responses,
	}}, in)
	if err != nil || res == nil || res.InputRequests == nil {
		return tripReply{plan: out.Plan, err: err}
	}
	return tripReply{asks: slices.Sorted(maps.Keys(res.InputRequests)), state: res.RequestState}
}

// begin is the first round, for a caller nobody knows.
func (tool *tripTool) begin() tripReply { return tool.round(context.Background(), "", "", nil) }

// answer is the next round: every question asked is answered with value.
func (tool *tripTool) answer(before tripReply, value string) tripReply {
	return tool.round(context.Background(), "", before.state, accepting(before, value))
}

// underWay sends a request, and does not wait for its reply.
func underWay(send func() tripReply) <-chan tripReply {
	reply := make(chan tripReply, 1)
	go func() { reply <- send() }()
	return reply
}

func accepting(before tripReply, value string) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range before.asks {
		responses[key] = accept(key, value)
	}
	return responses
}

func accept(key, value string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: value}}
}

func declining(before tripReply) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range before.asks {
		responses[key] = &mcp.ElicitResult{Action: "decline"}
	}
	return responses
}

// text asks for a text.
func text(key string) mrtr.Question[string] { return mrtr.Elicit[string](key, key+"?") }

type (
	tripStyle   = mrtr.Style[tripIn, tripOut]
	linearStyle = func(linear.Func[tripIn, tripOut]) tripStyle
)

// linearStyles are the engines of linear code.
var linearStyles = map[string]linearStyle{
	"coroutine": linear.Coroutine[tripIn, tripOut],
	"journal":   linear.Journal[tripIn, tripOut],
	"resumable": linear.Resumable[tripIn, tripOut],
}

// eachLinear runs a test once for each engine of linear code.
func eachLinear(t *testing.T, test func(t *testing.T, style linearStyle)) {
	require.NotEmpty(t, linearStyles)
	for name, style := range linearStyles {
		t.Run(name, func(t *testing.T) { test(t, style) })
	}
}

// deeds counts effects by name.
type deeds struct {
	mu   sync.Mutex
	done map[string]int
}

// do is an effect: it counts, and its value is its name.
func (d *deeds) do(name string) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) {
		d.note(name)
		return name, nil
	}
}

func (d *deeds) note(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done == nil {
		d.done = map[string]int{}
	}
	d.done[name]++
	return d.done[name]
}

func (d *deeds) count(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done[name]
}

// soon waits for what another goroutine is about to do.
func soon(tb testing.TB, condition func() bool, what string) {
	tb.Helper()
	for deadline := time.Now().Add(5 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			require.Fail(tb, "not in five seconds: "+what)
		}
	}
}

// inBubble runs a subtest in a bubble of its own, whose time passes while everybody waits.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// stage is one run of a handler. The same code asks on it in every style but Steps.
type stage struct {
	ctx context.Context
	*mrtr.Call
	guarded bool
}

type stageFunc[In, Out any] = func(s *stage, in In) (Out, error)

// cut is the panic that ends a run early: with an error, or with a question that a
// guarded handler needs.
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

// ask is Ask, and in a guarded handler a guard.
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

// once is Once. A failure ends the run.
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

// everyStyle is one handler in every style but Steps, whose code differs.
func everyStyle[In, Out any](body stageFunc[In, Out]) map[string]mrtr.Style[In, Out] {
	top := linearOf(body)
	return map[string]mrtr.Style[In, Out]{
		"native": mrtr.Native(guardedOf(body)), "coroutine": linear.Coroutine(top),
		"journal": linear.Journal(top), "resumable": linear.Resumable(top),
	}
}

type onceBody = func(ctx context.Context, c *mrtr.Call) (string, error)

// guardedTrip runs body at the top of each round, and asks its questions one a round.
func guardedTrip(body onceBody, keys ...string) tripStyle {
	return mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
		plan, err := body(s.ctx, s.Call)
		unless(err, plan)
		for _, key := range keys {
			ask(s, text(key))
		}
		return tripOut{Plan: plan}, nil
	}))
}

// around runs body at the top of each entry, with two questions below, and again after
// each of them as long as it says "later".
func around(body onceBody) stageFunc[tripIn, tripOut] {
	return func(s *stage, _ tripIn) (tripOut, error) {
		plan := "later"
		run := func() {
			if plan == "later" {
				said, err := body(s.ctx, s.Call)
				plan = unless(err, said)
			}
		}
		for _, key := range []string{"q", "r"} {
			run()
			ask(s, text(key))
		}
		run()
		return tripOut{Plan: plan}, nil
	}
}

type tripSteps = steps.List[tripIn, tripOut]

type tripAt = steps.At[tripIn]

// asks makes the function of an asking step.
func asks(key string, did *deeds) func(context.Context, *tripAt) (mrtr.Question[string], error) {
	return func(context.Context, *tripAt) (mrtr.Question[string], error) {
		did.note("question " + key)
		return text(key), nil
	}
}

func ends(plan string) func(context.Context, *tripAt) (tripOut, error) {
	return func(context.Context, *tripAt) (tripOut, error) { return tripOut{Plan: plan}, nil }
}

func mustBuild(t testing.TB, list *tripSteps) tripStyle {
	t.Helper()
	style, err := list.Build()
	require.NoError(t, err)
	return style
}

// undo undoes the effect under a key, whatever there is to undo.
func undo(key string, f func() error) mrtr.Undoing {
	return mrtr.UndoOf(key, func(context.Context, *mrtr.Call, mrtr.Undo[any]) error { return f() })
}
