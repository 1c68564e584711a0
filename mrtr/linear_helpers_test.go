package mrtr_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
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
	mute    bool // the client declares nothing that it can be asked
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
	o = onForcedStore(tb, o)
	rt, err := mrtr.New(&o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, rt.Close())
		require.Zero(tb, mrtr.CountFrames(rt))
		require.Zero(tb, mrtr.HeldBytes(rt))
	})
	return rt
}

func newTrip(rt *mrtr.Runtime, style mrtr.Style[tripIn, tripOut], version string) *tripTool {
	return &tripTool{handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Version: version})}
}

// serveTrip is a tool of its own runtime.
func serveTrip(tb testing.TB, style mrtr.Style[tripIn, tripOut]) *tripTool {
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

// run takes a call to its end, answering with the questions' own keys.
func (tool *tripTool) run() (last tripReply, rounds int) {
	for last, rounds = tool.begin(), 1; last.err == nil && last.asks != nil; rounds++ {
		responses := mcp.InputResponseMap{}
		for _, key := range last.asks {
			responses[key] = accept(key, key)
		}
		last = tool.round(context.Background(), "", last.state, responses)
	}
	return last, rounds
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

// linearStyles are the engines of linear code.
var linearStyles = map[string]func(mrtr.LinearFunc[tripIn, tripOut]) mrtr.Style[tripIn, tripOut]{
	"coroutine": mrtr.Coroutine[tripIn, tripOut],
	"journal":   mrtr.Journal[tripIn, tripOut],
	"resumable": mrtr.Resumable[tripIn, tripOut],
}

// eachLinear runs a test once for each engine of linear code.
func eachLinear(t *testing.T, test func(t *testing.T, style func(mrtr.LinearFunc[tripIn, tripOut]) mrtr.Style[tripIn, tripOut])) {
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

// splitKeys reads "a+b=words" as a, and b with other words.
func splitKeys(line string) (keys [][]string) {
	for _, key := range strings.Split(line, "+") {
		keys = append(keys, strings.SplitN(key, "=", 2))
	}
	return keys
}
