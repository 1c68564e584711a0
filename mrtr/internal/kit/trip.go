package kit

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

// The tool of these tests plans a trip. It is called as the SDK would call it,
// without a wire in between, so that a test holds the context of each round.
type In struct {
	Who string `json:"who"`
}

type Out struct {
	Plan string `json:"plan"`
}

type Trip struct {
	Handler mcp.ToolHandlerFor[In, Out]
	Runtime *mrtr.Runtime // nil if nobody asks for it
	Mute    bool          // the client declares nothing that it can be asked
}

// Reply is the outcome of a round: questions and a state, or an end.
type Reply struct {
	Asks  []string
	State string
	Plan  string
	Err   error
}

// TripRuntime makes a runtime, and sees at the end that nothing of it is
// left.
func TripRuntime(tb testing.TB, opts *mrtr.Options) *mrtr.Runtime {
	var o mrtr.Options
	if opts != nil {
		o = *opts
	}
	if o.State == nil {
		o.State = &statecodec.Options{Keys: []statecodec.Key{SharedKey}}
	}
	o = onForcedStore(tb, o)
	rt, err := mrtr.New(&o)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, rt.Close())
		left := rt.Stats()
		require.Zero(tb, left.Held+left.HeldBytes+left.Running, "handlers that are left")
	})
	return rt
}

func NewTrip(rt *mrtr.Runtime, style Style, version string) *Trip {
	return &Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Version: version})}
}

// Ends ends the instance that a call was asked by, so that nothing is held there any more.
func (tool *Trip) Ends(tb testing.TB, asked Reply) Reply {
	tb.Helper()
	require.NoError(tb, tool.Runtime.Close())
	return asked
}

// ServeTrip is a tool of its own runtime.
func ServeTrip(tb testing.TB, style Style) *Trip {
	return NewTrip(TripRuntime(tb, nil), style, "")
}

func (tool *Trip) Round(ctx context.Context, who, state string, responses mcp.InputResponseMap) Reply {
	in := In{Who: who}
	arguments, err := json.Marshal(in)
	if err != nil {
		return Reply{Err: err}
	}
	capabilities := map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}
	if tool.Mute {
		clear(capabilities)
	}
	res, out, err := tool.Handler(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: mcp.Meta{
			mcp.MetaKeyProtocolVersion:    "2026-07-28",
			mcp.MetaKeyClientCapabilities: capabilities,
		},
		Name: "trip", Arguments: arguments, RequestState: state, InputResponses: responses,
	}}, in)
	if err != nil || res == nil || res.InputRequests == nil {
		return Reply{Plan: out.Plan, Err: inLog(err)}
	}
	return Reply{Asks: slices.Sorted(maps.Keys(res.InputRequests)), State: res.RequestState}
}

// inLog is an error as the log has it: of a mistake in the program the client reads one sentence.
func inLog(err error) error {
	var misused *mrtr.UsageError
	if errors.As(err, &misused) {
		return errors.Unwrap(err)
	}
	return err
}

// Begin is the first round, for a caller nobody knows.
func (tool *Trip) Begin() Reply { return tool.Round(context.Background(), "", "", nil) }

// Answer is the next round: every question asked is answered with value.
func (tool *Trip) Answer(before Reply, value string) Reply {
	return tool.Round(context.Background(), "", before.State, Accepting(before, value))
}

// UnderWay sends a request, and does not wait for its reply.
func UnderWay(send func() Reply) <-chan Reply {
	reply := make(chan Reply, 1)
	go func() { reply <- send() }()
	return reply
}

// Run takes a call to its end, answering with the questions' own keys.
func (tool *Trip) Run() (last Reply, rounds int) {
	for last, rounds = tool.Begin(), 1; last.Err == nil && last.Asks != nil; rounds++ {
		responses := mcp.InputResponseMap{}
		for _, key := range last.Asks {
			responses[key] = Accept(key, key)
		}
		last = tool.Round(context.Background(), "", last.State, responses)
	}
	return last, rounds
}

func Accepting(before Reply, value string) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range before.Asks {
		responses[key] = Accept(key, value)
	}
	return responses
}

func Accept(key, value string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: value}}
}

func Declining(before Reply) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range before.Asks {
		responses[key] = &mcp.ElicitResult{Action: "decline"}
	}
	return responses
}

// Text asks for a text.
func Text(key string) mrtr.Question[string] { return mrtr.Elicit[string](key, key+"?") }

// TaskRound makes a request as package tasks does.
func (tool *Trip) TaskRound(ctx context.Context, before Reply, answers mcp.InputResponseMap) Reply {
	return tool.Round(rendezvous.WithTaskRound(ctx, rendezvous.NewTaskRound()), "", before.State, answers)
}

// CancelledTask is the context of a request that ends its call, as that of a cancelled task is.
func CancelledTask(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(EndOfTask{})
	return ctx
}

// EndOfTask is the cause by which a task ends its call.
type EndOfTask struct{}

func (EndOfTask) Error() string { return "cancelled" }

func (EndOfTask) EndsCall() error {
	return &mrtr.Error{Reason: mrtr.Cancelled, Detail: "the task was cancelled"}
}
