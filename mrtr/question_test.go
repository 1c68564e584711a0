package mrtr_test

import (
	"context"
	"encoding/json"
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

type (
	empty     struct{}
	nested    struct{ Inner struct{ A string } }
	strange   struct{ C chan int }
	embedding struct{ *trip }
	twice     struct {
		A string `json:"B"`
		B string
	}
	quoted struct {
		N int `json:"n,string"`
	}
	hidden struct {
		Shown string
		_     int
	}
	slice   struct{ Names []string }
	setting struct {
		Name string `jsonschema:"minLength=5"`
	}
	pointers struct{ P **string }
	number   int
	nothing  string
	repeated string
	broken   string
)

func (number) Choices() []mrtr.Choice   { return mrtr.Choices("1") }
func (nothing) Choices() []mrtr.Choice  { return nil }
func (repeated) Choices() []mrtr.Choice { return mrtr.Choices("a", "a") }
func (broken) Choices() []mrtr.Choice   { return mrtr.Choices("a\xff") }

// A question that cannot be asked says so when it is made.
func TestWrongQuestions(t *testing.T) {
	schema := func(s string) mrtr.AnyQuestion { return mrtr.ElicitAs[map[string]any]("q", "?", json.RawMessage(s)) }
	for _, wrong := range []struct {
		explanation string
		question    mrtr.AnyQuestion
		says        string
	}{
		{"the zero question", mrtr.Question[string]{}, "zero Question"},
		{"no key", mrtr.Elicit[string]("", "?"), "1 to 64 characters"},
		{"a long key", mrtr.Elicit[string](strings.Repeat("k", 65), "?"), "1 to 64 characters"},
		{"a strange key", mrtr.Elicit[string]("a b", "?"), "only letters"},
		{"no message", mrtr.Elicit[string]("q", ""), "message"},
		{"a map", mrtr.Elicit[map[string]any]("q", "?"), "not a struct"},
		{"a pointer", mrtr.Elicit[*string]("q", "?"), "cannot be asked for"},
		{"a pointer to a struct", mrtr.Elicit[*trip]("q", "?"), "not a struct"},
		{"a function", mrtr.Elicit[func()]("q", "?"), "cannot be asked for"},
		{"an interface", mrtr.Elicit[any]("q", "?"), "cannot be asked for"},
		{"a complex number", mrtr.Elicit[complex128]("q", "?"), "cannot be asked for"},
		{"an array", mrtr.Elicit[[2]class]("q", "?"), "cannot be asked for"},
		{"a list of anything", mrtr.Elicit[[]string]("q", "?"), "only hold an enum"},
		{"a struct without fields", mrtr.Elicit[empty]("q", "?"), "no fields"},
		{"a nested struct", mrtr.Elicit[nested]("q", "?"), "Inner"},
		{"a strange field", mrtr.Elicit[strange]("q", "?"), "chan int"},
		{"an embedded pointer", mrtr.Elicit[embedding]("q", "?"), "named fields only"},
		{"two fields of one name", mrtr.Elicit[twice]("q", "?"), `two fields are named "B"`},
		{"a number in quotes", mrtr.Elicit[quoted]("q", "?"), `option "string"`},
		{"an unexported field", mrtr.Elicit[hidden]("q", "?"), "exported"},
		{"a tag that sets nothing", mrtr.Elicit[setting]("q", "?"), `"minLength=5" would set nothing`},
		{"a list of numbers", schema(`{"type":"object","properties":{"a":{"type":"array","items":{"enum":[1,2]}}}}`), "must be strings"},
		{"a list in a struct", mrtr.Elicit[slice]("q", "?"), "Names"},
		{"a pointer to a pointer", mrtr.Elicit[pointers]("q", "?"), "cannot be asked for"},
		{"an enum of numbers", mrtr.Elicit[number]("q", "?"), "only string types"},
		{"an enum of nothing", mrtr.Elicit[nothing]("q", "?"), "nothing to choose"},
		{"an enum with a value twice", mrtr.Elicit[repeated]("q", "?"), "given twice"},
		{"an enum that is not UTF-8", mrtr.Elicit[broken]("q", "?"), "UTF-8"},
		{"choices of nothing", mrtr.Choose("q", "?"), "nothing to choose"},
		{"an empty choice", mrtr.Choose("q", "?", mrtr.Choices("a", "")...), "empty"},
		{"no address", mrtr.ElicitURL("q", "?", "login"), "absolute address"},
		{"an address without a message", mrtr.ElicitURL("q", "", "https://example.org"), "message"},
		{"no params", mrtr.Sample("q", nil), "needs params"},
		{"roots without a key", mrtr.Roots(""), "1 to 64"},
		{"no schema", schema(``), "cannot be read"},
		{"no JSON", schema(`{`), "cannot be read"},
		{"not an object", schema(`{"type":"string"}`), "object"},
		{"no properties", schema(`{"type":"object"}`), "properties"},
		{"required and not described", schema(`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`), `requires "b"`},
		{"an object inside", schema(`{"type":"object","properties":{"a":{"type":"object"}}}`), "form may use"},
		{"a type or null", schema(`{"type":"object","properties":{"a":{"type":["string","null"]}}}`), "form may use"},
		{"a list of anything, as a schema", schema(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`), "name its choices"},
		{"a format nobody allows", schema(`{"type":"object","properties":{"a":{"type":"string","format":"ipv4"}}}`), `"ipv4"`},
		{"a default for a Confirm", mrtr.Confirm("q", "?").Default(true), "no default"},
		{"a default that is no choice", kit.Units.Default("kelvin"), "cannot be an answer"},
		{"a default of another type", mrtr.ElicitAs[map[string]any]("q", "?", json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)).Default(map[string]any{"a": 1}), "cannot be an answer"},
		{"an optional wrong question", mrtr.Optional(mrtr.Elicit[func()]("q", "?")), "cannot be asked for"},
	} {
		t.Run(wrong.explanation, func(t *testing.T) {
			err := wrong.question.Err()
			kit.Misuse(t, err)
			require.Contains(t, err.Error(), wrong.says)

			// Asked all the same, it ends the call with that error, unsent.
			rt, seen := kit.NewRuntime(t, nil)
			client := kit.Connect(t, kit.ServeTool(rt, needing(wrong.question), nil), nil)
			out := kit.Call(t, client, nil)
			kit.FailsWith(t, out, err.Error())
			require.Equal(t, err, seen.Of(observe.CallStopped)[0].Err, "the log has it all")
			require.Empty(t, seen.Of(observe.QuestionsAsked))
		})
	}
}

// needing asks and never gets further.
func needing(q mrtr.AnyQuestion) kit.Handler {
	return func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		return mrtr.Need(q), kit.Output{}, nil
	}
}

// roundTrip asks q, answers it, and returns the value that the handler reads.
func roundTrip[T any](t *testing.T, q mrtr.Question[T], answer wire.Answer) T {
	t.Helper()
	require.NoError(t, q.Err())
	rt, _ := kit.NewRuntime(t, nil)
	var got T
	out := kit.Call(t, kit.Connect(t, kit.ServeTool(rt, kit.Asking(q, func(v T) string { got = v; return "done" }), nil), nil), wire.Answers{"q": answer})
	kit.Said(t, out, "done")
	require.Equal(t, 2, out.Rounds)
	return got
}

func is[T any](t *testing.T, want T) {
	t.Helper()
	got := roundTrip(t, mrtr.Elicit[T]("q", "?"), wire.Value(want))
	require.Equal(t, want, got)
	optional := roundTrip(t, mrtr.Optional(mrtr.Elicit[T]("q", "?")), wire.Value(want))
	require.Equal(t, &want, optional)
	require.Nil(t, roundTrip(t, mrtr.Optional(mrtr.Elicit[T]("q", "?")), wire.Decline))
	require.Nil(t, roundTrip(t, mrtr.Optional(mrtr.Elicit[T]("q", "?")), wire.Cancel))
	again := roundTrip(t, mrtr.Optional(mrtr.Optional(mrtr.Elicit[T]("q", "?"))), wire.Value(want))
	require.Equal(t, want, **again)
}

func TestConfirmIsYesOnlyWhenAPersonSaidYes(t *testing.T) {
	q := mrtr.Confirm("q", "Really?")
	require.True(t, roundTrip(t, q, wire.Value(true)))
	require.False(t, roundTrip(t, q, wire.Value(false)))
	require.False(t, roundTrip(t, q, wire.Decline))
	require.False(t, roundTrip(t, q, wire.Cancel))
}

var visit2 = mrtr.ElicitURL("q", "Please log in.", "https://example.org/login")

// The same code path serves a plain answer: nobody is asked.
func TestKnownAsksNobody(t *testing.T) {
	out := kit.Play(t, kit.Asking(mrtr.Known("x"), kit.Itself), nil)
	kit.Said(t, out, "x")
	require.Equal(t, 1, out.Rounds)
	require.Empty(t, mrtr.Known(1).Key())
	require.NoError(t, mrtr.Known(1).Err())

	// Beside one that is asked, it is left out.
	rt, seen := kit.NewRuntime(t, nil)
	both := func(_ context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		known, unit := mrtr.Optional(mrtr.Known(7)), kit.Units
		k, ok1 := mrtr.Answer(c, known)
		u, ok2 := mrtr.Answer(c, unit)
		if !ok1 || !ok2 {
			return mrtr.Need(known, unit), kit.Output{}, nil
		}
		return nil, kit.Output{Said: fmt.Sprintf("%d %s", *k, u)}, nil
	}
	out = kit.Call(t, kit.Connect(t, kit.ServeTool(rt, both, nil), nil), wire.Answers{"units": wire.Value("metric")})
	kit.Said(t, out, "7 metric")
	require.Equal(t, []string{"units"}, seen.Of(observe.QuestionsAsked)[0].Questions)
}

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
