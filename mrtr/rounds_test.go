package mrtr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
)

func TestARoundThatAsksNothingIsAMistake(t *testing.T) {
	out := kit.Play(t, func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		return mrtr.Need(), kit.Output{}, nil
	}, nil)
	kit.FailsWith(t, out, "mrtr: an incomplete result that asks nothing")
}

// wondering asks n times.
func wondering(n int) kit.Handler {
	return func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		if c.Round() <= n {
			return mrtr.Need(mrtr.Elicit[string](fmt.Sprint("q", c.Round()), "?")), kit.Output{}, nil
		}
		return nil, kit.Output{Said: "done"}, nil
	}
}

var rounds = []struct {
	explanation string
	handler     kit.Handler
	requests    int
	text        string // of the error; "" if the call completes
}{
	{"9 rounds that ask", wondering(9), 10, ""},
	{"10 rounds that ask", wondering(10), 10, "Stopped: more than 9 rounds of questions in one call."},
}

// go-sdk's own client gives up where we stop: never before.
func TestRoundsAreBoundedBeforeTheClientGivesUp(t *testing.T) {
	for _, version := range []string{"", wire.Legacy} {
		for _, c := range rounds {
			t.Run(version+" "+c.explanation, func(t *testing.T) {
				rt, _ := kit.NewRuntime(t, nil)
				session := connectSDK(t, kit.ServeTool(rt, c.handler, nil), version)
				res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "tool"})
				require.NoError(t, err)
				require.Equal(t, c.text != "", res.IsError)
				if c.text != "" {
					require.Equal(t, c.text, res.Content[0].(*mcp.TextContent).Text)
				}
			})
		}
	}
}

// connectSDK connects go-sdk's client, whose user types "x" into every field.
func connectSDK(t *testing.T, server *mcp.Server, version string) *mcp.ClientSession {
	t.Helper()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	_, err := server.Connect(context.Background(), serverSide, nil)
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content := map[string]any{}
			for name := range r.Params.RequestedSchema.(map[string]any)["properties"].(map[string]any) {
				content[name] = "x"
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	session, err := client.Connect(context.Background(), clientSide, &mcp.ClientSessionOptions{ProtocolVersion: version})
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

// sized has an effect whose value takes n bytes of the state, and asks.
func sized(n int) kit.Handler {
	return kit.Guarded(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		held := kit.Once(s, "held", func(context.Context, string) (string, error) { return strings.Repeat("x", n), nil })
		kit.Ask(s, kit.Units)
		return kit.Output{Said: fmt.Sprint(len(held))}, nil
	})
}

// A large state fits where one limit says so, and a token limit that is smaller is kept to as
// well. What was done is told.
func TestAStateIsBounded(t *testing.T) {
	for _, c := range []struct {
		opts mrtr.Options
		held int
		want string // of the error, "" where the call completes
	}{
		{mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 2000}}, 2000, "Stopped: more than 2000 bytes of state."},
		{mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 300_000}}, 290_000, ""},
		{mrtr.Options{State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}}, 290_000, "Stopped: more than 32768 bytes of state."},
		{mrtr.Options{State: &statecodec.Options{Ephemeral: true, MaxToken: 4096}}, 5000, "Stopped: more than 4096 bytes of sealed state."},
	} {
		rt, seen := kit.NewRuntime(t, &c.opts)
		out := kit.Call(t, kit.Connect(t, kit.ServeTool(rt, sized(c.held), nil), nil), wire.Answers{"units": wire.Value("metric")})
		if c.want == "" {
			kit.Said(t, out, fmt.Sprint(c.held))
			continue
		}
		kit.FailsWith(t, out, c.want+` "held" was done: do not call the tool again without checking.`)
		require.Empty(t, seen.Of(observe.QuestionsAsked))
		kit.Ended(t, seen.Of(observe.CallStopped)[0].Err, mrtr.LimitExceeded)
	}
}

func TestQuestionsOfARoundAreBounded(t *testing.T) {
	ask := func(n int) *wire.Outcome {
		return kit.Play(t, func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			var questions []mrtr.AnyQuestion
			for i := range n {
				questions = append(questions, mrtr.Elicit[string](fmt.Sprint("q", i), "?"))
			}
			return mrtr.Need(questions...), kit.Output{}, nil
		}, wire.Answers{"*": wire.Decline})
	}
	require.Equal(t, `Stopped: "q0" was declined.`, ask(16).Text)
	require.Equal(t, "Stopped: more than 16 questions in one round.", ask(17).Text)
}

// The same where nobody has to be asked, within one round.
func TestAGuardThatReadsAnotherKeyIsFoundOutWithinARound(t *testing.T) {
	entered := 0
	tool := kit.ServeTrip(t, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ kit.In) (*mrtr.IncompleteResult, kit.Out, error) {
		entered++
		if _, ok := mrtr.Answer(c, mrtr.Confirm("shure", "Sure?")); !ok {
			return mrtr.Need(mrtr.Confirm("sure", "Sure?")), kit.Out{}, nil
		}
		return nil, kit.Out{}, nil
	}))
	tool.Mute = true
	kit.Misuse(t, tool.Begin().Err)
	require.Equal(t, 2, entered)
}
