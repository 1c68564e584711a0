package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/form"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// pick is one of a hundred choices with titles.
type pick string

func (pick) Choices() []mrtr.Choice {
	choices := make([]mrtr.Choice, 100)
	for i := range choices {
		choices[i] = mrtr.Choice{Value: fmt.Sprint("c", i), Title: fmt.Sprint("Choice ", i)}
	}
	return choices
}

// A list of some thousand choices, each of them the last that it could be, costs no
// more than reading it, in both eras. Allocations stand for the work: a validator
// makes some for each item it holds against a choice, here a hundred times as many.
func TestALongListCostsNoMoreThanReadingIt(t *testing.T) {
	const items = 3000
	list := make([]string, items)
	for i := range list {
		list[i] = "c99"
	}
	for _, version := range []string{wire.Modern, wire.Legacy} {
		rt, _ := newRuntime(t, nil)
		q := mrtr.Elicit[[]pick]("q", "Which?")
		client := connect(t, serveTool(rt, asking(q, func(p []pick) string { return fmt.Sprint(p) }), nil), &wire.Options{Version: version})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out := call(t, client, wire.Answers{"q": wire.InTurn(wire.Value(list), wire.Value([]string{"c1", "c2"}))})
		runtime.ReadMemStats(&after)
		said(t, out, "[c1 c2]")
		require.Less(t, int(after.Mallocs-before.Mallocs), 20*items, version)
	}
}

// A list takes each choice once, as its schema says.
func TestAListTakesEachChoiceOnce(t *testing.T) {
	for _, test := range []struct {
		explanation string
		answer      []string
		fits        bool
	}{
		{"none", []string{}, true},
		{"all, in any order", []string{"second", "first"}, true},
		{"one twice", []string{"first", "first"}, false},
		{"more than there are", []string{"first", "second", "first"}, false},
	} {
		rt, _ := newRuntime(t, nil)
		q := mrtr.Elicit[[]class]("q", "?")
		client := connect(t, serveTool(rt, asking(q, func(c []class) string { return fmt.Sprint(c) }), nil), nil)
		out := call(t, client, wire.Answers{"q": wire.InTurn(wire.Value(test.answer), wire.Decline)})
		require.Equal(t, test.fits, out.Rounds == 2, test.explanation)
	}
}

// judged counts how often an answer is read.
type judged string

var judgedTimes int

func (j *judged) UnmarshalText(text []byte) error { judgedTimes++; *j = judged(text); return nil }

// The answers of a client that has hung up are not judged.
func TestHangingUpStopsTheJudging(t *testing.T) {
	judgedTimes = 0
	rt, seen := newRuntime(t, nil)
	q := mrtr.Elicit[judged]("q", "?")
	handler := mrtr.Tool(rt, mrtr.Native(asking(q, func(j judged) string { return string(j) })), nil)
	request := func(ctx context.Context, state string, responses mcp.InputResponseMap) (*mcp.CallToolResult, error) {
		res, _, err := handler(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
			Meta: mcp.Meta{
				mcp.MetaKeyProtocolVersion:    wire.Modern,
				mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
			},
			Name: "tool", Arguments: json.RawMessage(`{}`), RequestState: state, InputResponses: responses,
		}}, input{})
		return res, err
	}
	first, err := request(context.Background(), "", nil)
	require.NoError(t, err)
	answers := mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"q": "x"}}}

	gone, hangUp := context.WithCancel(context.Background())
	hangUp()
	_, err = request(gone, first.RequestState, answers)
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, judgedTimes)
	require.Equal(t, 1, seen.entries())

	_, err = request(context.Background(), first.RequestState, answers)
	require.NoError(t, err)
	require.NotZero(t, judgedTimes)
}

// The form of a question that was sent is kept for its answer. One that is too large
// to be sent leaves nothing behind.
func TestAQuestionThatCannotBeSentIsNotKept(t *testing.T) {
	for _, test := range []struct {
		choices int
		kept    bool
	}{{10, true}, {4000, false}} {
		choices := make([]mrtr.Choice, test.choices)
		plain := make([]form.Choice, test.choices)
		for i := range choices {
			choices[i].Value = fmt.Sprint("choice ", i)
			plain[i] = form.Choice(choices[i])
		}
		rt, _ := newRuntime(t, nil)
		q := mrtr.Choose("q", "?", choices...)
		reply, err := connect(t, serveTool(rt, needing(q), nil), nil).Send(context.Background(), wire.Request{Name: "tool"})
		require.NoError(t, err)
		require.Equal(t, test.kept, reply.Incomplete(), reply.Text)

		schema, err := form.OfChoices("q", plain)
		require.NoError(t, err)
		one, err := form.Of(schema)
		require.NoError(t, err)
		other, err := form.Of(schema)
		require.NoError(t, err)
		require.Equal(t, test.kept, one == other, "%d choices", test.choices)
	}
}

// A note names the properties that did not fit, and no others.
func TestANoteNamesOnlyWhatDidNotFit(t *testing.T) {
	for _, test := range []struct{ explanation, answer, note string }{
		{"one of many", with("nights", 128), "nights must be of type integer, at least -128, at most 127."},
		{"one is missing", with("email", nil), "email must be of type string."},
		{"two", `{"action":"accept","content":` + string(mustJSON(map[string]any{
			"email": "x", "nights": "3", "seats": 2, "class": "third", "when": "2026-08-01T10:00:00Z", "total": 1, "rate": 1.5, "quick": true})) + `}`,
			"class must be one of the choices, nights must be of type integer, at least -128, at most 127."},
	} {
		rt, _ := newRuntime(t, nil)
		q := mrtr.Elicit[trip]("trip", "Which trip?")
		client := connect(t, serveTool(rt, asking(q, func(v trip) string { return v.Email }), nil), nil)
		out := call(t, client, wire.Answers{"trip": wire.InTurn(wire.Raw(test.answer), wire.Accept(good()))})
		said(t, out, "x")
		require.Equal(t, "Which trip?\n\nThe answer did not fit: "+test.note, out.Questions[1].Message, test.explanation)
	}
}

// A client that declares less than it did in the round before is not asked again.
func TestAskingAgainPassesTheGate(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	server := serveTool(rt, asking(units, itself), nil)
	able := connect(t, server, nil)
	mute := connect(t, server, &wire.Options{Capabilities: wire.Nothing})
	first, err := able.Send(context.Background(), wire.Request{Name: "tool"})
	require.NoError(t, err)
	for explanation, responses := range map[string]any{
		"no answer":                   map[string]any{},
		"an answer that does not fit": map[string]any{"units": map[string]any{"action": "accept", "content": map[string]any{"units": "kelvin"}}},
	} {
		reply, err := mute.Send(context.Background(), wire.Request{Name: "tool", State: first.State, Responses: responses})
		require.NoError(t, err)
		require.NotNil(t, reply.Error, explanation)
		require.EqualValues(t, -32021, reply.Error.Code, explanation)
		require.Contains(t, string(reply.Error.Data), needsForm, explanation)
	}
	require.Len(t, seen.of(mrtr.QuestionsAsked), 1)

	// One that can do without an answer goes on.
	rt, _ = newRuntime(t, nil)
	server = serveTool(rt, asking(mrtr.Confirm("sure", "Sure?"), func(yes bool) string { return fmt.Sprint(yes) }), nil)
	able, mute = connect(t, server, nil), connect(t, server, &wire.Options{Capabilities: wire.Nothing})
	first, err = able.Send(context.Background(), wire.Request{Name: "tool"})
	require.NoError(t, err)
	reply, err := mute.Send(context.Background(), wire.Request{Name: "tool", State: first.State, Responses: map[string]any{}})
	require.NoError(t, err)
	require.JSONEq(t, `{"said":"false"}`, string(reply.Structured))
}

// go-sdk decodes an answer before any code of a server runs, its middleware included,
// and takes the last of several members with one name. So the engine cannot refuse
// them: it judges, remembers and hands out one value, the same everywhere.
func TestDuplicateMembersOfAnAnswerAreDecodedByTheHost(t *testing.T) {
	for _, response := range []string{
		`{"action":"accept","content":{"units":"imperial","units":"metric"}}`,
		`{"action":"accept","content":{"units":"imperial"},"content":{"units":"metric"}}`,
		`{"action":"decline","action":"accept","content":{"units":"metric"}}`,
	} {
		rt, _ := newRuntime(t, nil)
		server := serveTool(rt, asking(units, itself), nil)
		var seen []string
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && p.RequestState != "" {
					answer := p.InputResponses["units"].(*mcp.ElicitResult)
					seen = append(seen, fmt.Sprint(answer.Action, answer.Content))
				}
				return next(ctx, method, req)
			}
		})
		out := call(t, connect(t, server, nil), wire.Answers{"units": wire.Raw(response)})
		said(t, out, "metric")
		require.Equal(t, []string{"acceptmap[units:metric]"}, seen, response)
	}
}
