package mrtr_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

const seatForm = `{"type":"object","properties":{"row":{"type":"integer"},"meals":{"type":"array","items":{"type":"string","enum":["fish","soup"]}}},"required":["row"]}`

type seat struct {
	Row   int8     `json:"row"`
	Meals []string `json:"meals"`
	Note  string   `json:"note"`
}

// A form that was made at run time has an answer of a type of the program, in every
// style.
func TestElicitAs(t *testing.T) {
	ask := func() mrtr.Question[seat] { return mrtr.ElicitAs[seat]("q", "Which seat?", json.RawMessage(seatForm)) }
	for name, style := range typeStyles(ask) {
		t.Run(name, func(t *testing.T) {
			rt, _ := newRuntime(t, nil)
			client := connect(t, serveStyle(rt, style), nil)
			out := call(t, client, wire.Answers{"q": wire.InTurn(
				wire.Accept(map[string]any{"row": 300}), // fits the form, and no int8
				wire.Accept(map[string]any{"row": 12, "meals": []string{"soup"}, "note": "dropped"}),
			)})
			said(t, out, fmt.Sprint(seat{Row: 12, Meals: []string{"soup"}}))
			require.JSONEq(t, seatForm, string(out.Questions[0].Schema))
			require.Equal(t, "Which seat?\n\nThe answer cannot be used: row.", out.Questions[1].Message)
		})
	}
	require.Equal(t, 7, roundTrip(t, mrtr.ElicitAs[int]("q", "?", json.RawMessage(`{"type":"object","properties":{"q":{"type":"integer","minimum":1}}}`)), wire.Value(7)))
}

func TestElicitAsRefusesATypeThatCannotBeFilled(t *testing.T) {
	for _, wrong := range []struct {
		explanation string
		question    mrtr.AnyQuestion
		says        string
	}{
		{"a property without a field", mrtr.ElicitAs[struct{ Row int }]("q", "?", json.RawMessage(seatForm)), `has property "`},
		{"a field of another kind", mrtr.ElicitAs[struct {
			Row   string `json:"row"`
			Meals []string
		}]("q", "?", json.RawMessage(`{"type":"object","properties":{"row":{"type":"integer"}}}`)), `takes "string"`},
		{"a field that no form fills", mrtr.ElicitAs[struct{ Row func() }]("q", "?", json.RawMessage(seatForm)), "cannot be filled"},
		{"one value for several properties", mrtr.ElicitAs[int]("q", "?", json.RawMessage(seatForm)), "has no field for it"},
		{"no form", mrtr.ElicitAs[seat]("q", "?", json.RawMessage(`{"type":"string"}`)), "object"},
	} {
		require.ErrorContains(t, wrong.question.Err(), wrong.says, wrong.explanation)
	}
}

// Prefilled content is in the schema, and its answer is one like any other.
func TestPrefilledForms(t *testing.T) {
	q := mrtr.Elicit[trip]("q", "?").Prefill(trip{Email: "a@example.org", Seats: 2})
	require.NoError(t, q.Err())
	rt, _ := newRuntime(t, nil)
	out := call(t, connect(t, serveTool(rt, asking(q, func(v trip) string { return v.Email }), nil), nil), wire.Answers{"q": wire.Accept(good())})
	said(t, out, "x")
	require.Contains(t, string(out.Questions[0].Schema), `"default":"a@example.org"`)
	require.Contains(t, string(out.Questions[0].Schema), `"default":2`)

	require.ErrorContains(t, units.Prefill("kelvin").Err(), "its default does not fit")
	require.NoError(t, units.Prefill("metric").Err())
	require.NotContains(t, string(mustSchema(t, units)), "default", "a question is never changed")
	require.ErrorContains(t, mrtr.Confirm("q", "?").Prefill(true).Err(), "prefilled", "a yes is a person's own")
	require.ErrorContains(t, mrtr.Roots("q").Prefill(nil).Err(), "prefilled")
}

// mustSchema is the schema of a question as it is sent.
func mustSchema(t *testing.T, q mrtr.AnyQuestion) json.RawMessage {
	t.Helper()
	rt, _ := newRuntime(t, nil)
	out := call(t, connect(t, serveTool(rt, needing(q), nil), nil), nil)
	require.NotEmpty(t, out.Questions)
	return out.Questions[0].Schema
}

// Code that reads an mcp.ElicitResult gets one for every answer.
func TestElicitRaw(t *testing.T) {
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}, "required": []string{"n"}}
	params := &mcp.ElicitParams{Message: "How many?", RequestedSchema: schema}
	ask := func() mrtr.Question[*mcp.ElicitResult] { return mrtr.ElicitRaw("q", params) }
	show := func(r *mcp.ElicitResult) string { return fmt.Sprintf("%s %v", r.Action, r.Content) }
	for _, test := range []struct {
		answer wire.Answer
		says   string
		rounds int
	}{
		{wire.Accept(map[string]any{"n": 3, "other": 1}), "accept map[n:3]", 2},
		{wire.InTurn(wire.Accept(map[string]any{"n": "three"}), wire.Accept(map[string]any{"n": 3})), "accept map[n:3]", 3},
		{wire.Decline, "decline map[]", 2},
		{wire.Cancel, "cancel map[]", 2},
	} {
		rt, _ := newRuntime(t, nil)
		out := call(t, connect(t, serveTool(rt, asking(ask(), show), nil), nil), wire.Answers{"q": test.answer})
		said(t, out, test.says)
		require.Equal(t, test.rounds, out.Rounds)
	}
	for name, style := range typeStyles(func() mrtr.Question[*mcp.ElicitResult] { return ask() }) {
		rt, _ := newRuntime(t, nil)
		out := call(t, connect(t, serveStyle(rt, style), nil), wire.Answers{"q": wire.Decline})
		require.False(t, out.IsError, "%s: %s", name, out.Text)
	}

	visit := mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "Log in.", URL: "https://example.org/login", ElicitationID: "1"})
	require.Equal(t, "accept", roundTrip(t, visit, wire.Accept(nil)).Action)
	bare := mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "Go on?"})
	require.Equal(t, "accept", roundTrip(t, bare, wire.Accept(nil)).Action, "a form without properties is a yes or a no")

	rt, _ := newRuntime(t, nil)
	lacking := call(t, connect(t, serveTool(rt, asking(ask(), show), nil), &wire.Options{Capabilities: wire.Nothing}), nil)
	require.NotNil(t, lacking.Error, "a client that cannot be asked is no answer")

	require.ErrorContains(t, mrtr.ElicitRaw("q", nil).Err(), "needs params")
	require.ErrorContains(t, mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "?", RequestedSchema: func() {}}).Err(), "cannot be encoded")
	require.ErrorContains(t, mrtr.Optional(ask()).Err(), "goes on without an answer by itself")
	require.ErrorContains(t, mrtr.Reply(ask()).Err(), "tells its outcome by itself")
	require.ErrorContains(t, ask().Default(&mcp.ElicitResult{}).Err(), "ElicitRaw has none")
}
