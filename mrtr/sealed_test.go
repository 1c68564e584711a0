package mrtr_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// The state travels through the client, which may send back anything.
// These two tests are why it is sealed.

// paying charges, then asks, and tells whether it was paid.
func paying(did *deeds) tripStyle {
	return guardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		return mrtr.Once(ctx, c, "charge", did.do("charge"))
	}, "seat")
}

// payingSteps does the same in steps.
func payingSteps(t *testing.T, did *deeds) tripStyle {
	var list steps.List[tripIn, tripOut]
	seat := steps.Ask(&list, "seat", func(context.Context, *steps.At[tripIn]) (mrtr.Question[string], error) {
		return text("seat"), nil
	})
	charge := steps.Do(&list, "charge", func(ctx context.Context, _ *steps.At[tripIn], idem string) (string, error) {
		return did.do("charge")(ctx, idem)
	})
	list.End(func(_ context.Context, at *steps.At[tripIn]) (tripOut, error) {
		return tripOut{Plan: seat.Of(at) + " " + charge.Of(at)}, nil
	})
	style := mustBuild(t, &list)
	return style
}

func TestUnsignedStateLetsAClientSkipOnce(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	mrtr.Unsigned(rt)
	tool := newTrip(rt, paying(&did), "")
	forged := `{"v":4,"call":"mine","round":1,"style":"guards","done":[{"key":"charge","kind":"effect","value":"a free ride"}]}`
	asked := tool.round(t.Context(), "", forged, nil)
	require.NoError(t, asked.err)
	last := tool.answer(asked, "window")
	require.Equal(t, tripReply{plan: "a free ride"}, last)
	require.Zero(t, did.count("charge"), "the client has claimed that it was charged, and was believed")
}

func TestUnsignedStateLetsAClientSkipSteps(t *testing.T) {
	var did deeds
	rt := newTripRuntime(t, nil)
	mrtr.Unsigned(rt)
	tool := newTrip(rt, payingSteps(t, &did), "")
	asked := tool.begin()
	var state struct{ Steps string }
	require.NoError(t, json.Unmarshal([]byte(asked.state), &state))
	forged := strings.Replace(asked.state, `,"pending":`,
		`,"done":[{"key":"step:charge","kind":"effect","value":"a free ride"}],"pending":`, 1)
	last := tool.round(t.Context(), "", forged, accepting(asked, "window"))
	require.Equal(t, tripReply{plan: "window a free ride"}, last)
	require.Zero(t, did.count("charge"), "the client has claimed that the step was done, and was believed")
}

// secondState is the state that weather_once returns with its second question.
func secondState(t *testing.T, rt *mrtr.Runtime) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather_once"}, options.Once(rt, &options.Card{}))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	defer client.Close()
	request := wire.Request{Name: "weather_once", Arguments: map[string]any{"location": "Springfield"}}
	first := send(t, client, request)
	request.State = first.State
	request.Responses = map[string]any{"place": wire.Value("Springfield, Illinois")(first.Asks[0])}
	second := send(t, client, request)
	require.True(t, second.Incomplete())
	return second.State
}

func TestInspectShowsWhatTheSealHides(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	payload, err := rt.Inspect(secondState(t, rt), mrtr.SealedFor{
		Name: "weather_once", Arguments: json.RawMessage(`{ "location": "Springfield" }`),
	})
	require.NoError(t, err)
	var state struct {
		Round   int
		Done    []struct{ Kind, Key string }
		Pending []struct{ Key string }
	}
	require.NoError(t, json.Unmarshal(payload, &state))
	require.Equal(t, 2, state.Round)
	require.Equal(t, []struct{ Kind, Key string }{{"", "place"}, {"effect", "charge"}}, state.Done)
	require.Equal(t, []struct{ Key string }{{"units"}}, state.Pending)
}

func TestInspectRefusesWhatARoundRefuses(t *testing.T) {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	own := mrtr.SealedFor{Name: "weather_once", Arguments: json.RawMessage(`{"location":"Springfield"}`)}
	other, err := mrtr.New(nil)
	require.NoError(t, err)
	defer other.Close()
	foreign := secondState(t, other)
	state := secondState(t, rt)
	cases := []struct {
		state       string
		request     mrtr.SealedFor
		reason      statecodec.Reason
		explanation string
	}{
		{state[:40] + flip(state[40:41]) + state[41:], own, statecodec.ReasonForged, "one character is changed"},
		{state, mrtr.SealedFor{Name: "weather_native", Arguments: own.Arguments}, statecodec.ReasonForged, "another tool"},
		{state, mrtr.SealedFor{Name: own.Name, Arguments: json.RawMessage(`{"location":"Tokyo"}`)}, statecodec.ReasonForged, "other arguments"},
		{state, mrtr.SealedFor{Name: own.Name, Arguments: own.Arguments, Principal: "mallory"}, statecodec.ReasonForged, "another caller"},
		{foreign, own, statecodec.ReasonUnknownKey, "another runtime's key"},
		{"", own, statecodec.ReasonMalformed, "no state"},
	}
	for _, c := range cases {
		_, err := rt.Inspect(c.state, c.request)
		var refused *statecodec.TokenError
		require.ErrorAs(t, err, &refused, c.explanation)
		require.Equal(t, c.reason, refused.Reason(), c.explanation)
	}
}

// flip is another character of the same alphabet.
func flip(c string) string {
	if c == "A" {
		return "B"
	}
	return "A"
}

// Instances that leave their states legible and instances that do not take up each
// other's calls, in every round, with the answers and effects of the rounds before.
func TestReadableAndSealedInstancesTakeUpEachOthersCalls(t *testing.T) {
	key, err := statecodec.NewKey(bytes.Repeat([]byte{7, 11, 13, 17, 19, 23, 29, 31}, 4))
	require.NoError(t, err)
	type input struct{}
	first, second := mrtr.Choose("first", "First?", mrtr.Choices("a", "b")...), mrtr.Elicit[int]("second", "Second?")
	looked := 0
	instance := func(readable bool) mcp.ToolHandlerFor[input, output] {
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}, Readable: readable}})
		require.NoError(t, err)
		return mrtr.Tool(rt, linear.Journal(linearOf(func(s *stage, _ input) (output, error) {
			ctx, c := s.ctx, s.Call
			a := ask(s, first)
			found := once(s, "look", func(context.Context, string) (string, error) { looked++; return "found " + a, nil })
			n, err := linear.Ask(ctx, c, second)
			return output{found + string(rune('0'+n))}, err
		})), nil)
	}
	instances := []mcp.ToolHandlerFor[input, output]{instance(false), instance(true)}
	meta := modernMeta()
	answers := []map[string]any{nil, {"first": "b"}, {"second": 3.0}}
	for path := range 8 { // which instance serves each of three rounds
		looked = 0
		token := ""
		for round, answer := range answers {
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: json.RawMessage(`{}`), RequestState: token}}
			for name := range answer {
				req.Params.InputResponses = mcp.InputResponseMap{name: &mcp.ElicitResult{Action: "accept", Content: answer}}
			}
			res, out, err := instances[path>>round&1](t.Context(), req, input{})
			require.NoError(t, err, "path %b, round %d", path, round+1)
			if round < 2 {
				require.Len(t, res.InputRequests, 1)
				token = res.RequestState
				continue
			}
			require.Equal(t, "found b3", out.Said)
		}
		require.Equal(t, 1, looked, "path %b", path)
	}
}

// twoAnswers asks twice, and says both answers.
func twoAnswers(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
	first, ok := mrtr.Answer(c, text("first"))
	if !ok {
		return mrtr.Need(text("first")), output{}, nil
	}
	second, ok := mrtr.Answer(c, text("second"))
	if !ok {
		return mrtr.Need(text("second")), output{}, nil
	}
	return nil, output{first + " " + second}, nil
}

// The states of a runtime name its instance in every round;
// without a name they have none. Other instances with the keys open them.
func TestStatesNameTheirInstance(t *testing.T) {
	keys := []statecodec.Key{statecodec.GenerateKey()}
	memory := store.NewMemory(nil)
	instance := func(name string) *wire.Client {
		rt, _ := newRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: keys, Instance: name}, Durable: durable.In(shared{memory}, nil)})
		return connect(t, serveTool(rt, twoAnswers, nil), nil)
	}
	clients := []*wire.Client{instance("a"), instance("eu-2"), instance("")}
	request := wire.Request{Name: "tool", Arguments: input{}}
	for i, want := range []string{"a", "eu-2", ""} {
		reply := send(t, clients[i], request)
		if i == 2 {
			require.JSONEq(t, `{"said":"x y"}`, string(reply.Structured))
			break
		}
		name, ok := statecodec.Instance(reply.State)
		require.Equal(t, want != "", ok)
		require.Equal(t, want, name)
		request.State = reply.State
		request.Responses = map[string]any{reply.Asks[0].Key: map[string]any{"action": "accept", "content": map[string]any{reply.Asks[0].Key: []string{"x", "y"}[i]}}}
	}
	plain := send(t, clients[2], wire.Request{Name: "tool", Arguments: input{}})
	_, ok := statecodec.Instance(plain.State)
	require.False(t, ok)
}
