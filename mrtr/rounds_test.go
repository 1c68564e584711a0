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

func TestAKeyIsAskedOnceARound(t *testing.T) {
	for _, need := range []*mrtr.IncompleteResult{mrtr.Need(kit.Units, kit.Units), mrtr.Need(nil)} {
		rt, _ := kit.NewRuntime(t, nil)
		handler := func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
			return need, kit.Output{}, nil
		}
		out := kit.Call(t, kit.Connect(t, kit.ServeTool(rt, handler, nil), nil), nil)
		require.True(t, out.IsError)
		require.Contains(t, out.Text, "mrtr: ")
	}
}

// A guard that reads under another key than it asks never finds its answer. The call
// ends when the answer has come, not after nine rounds of the same question.
func TestAGuardThatReadsAnotherKeyIsFoundOut(t *testing.T) {
	type guards = func(c *mrtr.Call) *mrtr.IncompleteResult
	read := func(c *mrtr.Call, key string) bool {
		_, ok := mrtr.Answer(c, kit.Text(key))
		return ok
	}
	tests := map[string]struct {
		guards guards
		rounds int
		want   string // of the error, "" where the call completes
	}{
		"another key": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "seet") {
				return mrtr.Need(kit.Text("seat"))
			}
			return nil
		}, 2, "seat"},
		"among others, of which one is read": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "who") {
				return mrtr.Need(kit.Text("who"), kit.Text("seat"))
			}
			if !read(c, "seet") {
				return mrtr.Need(kit.Text("seat"))
			}
			return nil
		}, 2, "seat"},
		"in a later round": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "who") {
				return mrtr.Need(kit.Text("who"))
			}
			if !read(c, "seet") {
				return mrtr.Need(kit.Text("seat"))
			}
			return nil
		}, 3, "seat"},
		"read, and asked anew": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "seat") || c.Round() < 4 {
				return mrtr.Need(kit.Text("seat"))
			}
			return nil
		}, 4, ""},
		"a whole form asked anew for one of its answers": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "who") || c.Round() < 3 {
				return mrtr.Need(kit.Text("who"), kit.Text("seat"))
			}
			return nil
		}, 3, ""},
		"asked anew later": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			switch c.Round() {
			case 1, 3:
				return mrtr.Need(kit.Text("seat"))
			case 2:
				return mrtr.Need(kit.Text("who"))
			}
			return nil
		}, 4, ""},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			last, rounds := kit.ServeTrip(t, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ kit.In) (*mrtr.IncompleteResult, kit.Out, error) {
				return test.guards(c), kit.Out{}, nil
			})).Run()
			require.Equal(t, test.rounds, rounds)
			if test.want == "" {
				require.NoError(t, last.Err)
				return
			}
			usage := kit.Misuse(t, last.Err)
			require.EqualError(t, usage, `mrtr: question "`+test.want+`" was just answered and is asked again, but the handler did not read its answer: does it read another key?`)
		})
	}
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
