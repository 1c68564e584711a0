package mrtr_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// airport decodes itself, and takes less than its form does.
type airport string

func (a *airport) UnmarshalText(text []byte) error {
	switch {
	case string(text) == "???":
		return advice{"Use three letters, as in LIS."}
	case len(text) != 3:
		return fmt.Errorf("airport.UnmarshalText: %q", text)
	}
	*a = airport(strings.ToUpper(string(text)))
	return nil
}

type advice struct{ hint string }

func (a advice) Error() string            { return "no airport" }
func (a advice) ToolErrorHints() []string { return []string{a.hint} }

type route struct {
	From airport  `json:"from"`
	To   airport  `json:"to"`
	Via  *airport `json:"via,omitempty"`
	Seat string   `json:"seat"`
}

// level is a number that is written as a word.
type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return errors.New("no level")
	}
	*l = 3
	return nil
}

func (l level) MarshalText() ([]byte, error) { return []byte("high"), nil }

// typeStyles is one handler, which asks and repeats the answer, in each style.
func typeStyles[T any](q func() mrtr.Question[T]) map[string]mrtr.Style[kit.Input, kit.Output] {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		return kit.Output{Said: fmt.Sprint(kit.Ask(s, q()))}, nil
	})
	var list steps.List[kit.Input, kit.Output]
	step := steps.Ask(&list, "q", func(context.Context, *steps.At[kit.Input]) (mrtr.Question[T], error) { return q(), nil })
	list.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
		return kit.Output{Said: fmt.Sprint(step.Of(at))}, nil
	})
	styles["steps"] = list.MustBuild()
	return styles
}

// An answer that fits the form, and that its type refuses, is asked for again before
// the handler is entered. The note names the property, and neither the answer nor a
// Go type.
func TestAnAnswerThatItsTypeRefusesIsAskedAgain(t *testing.T) {
	ask := func() mrtr.Question[route] { return mrtr.Elicit[route]("q", "Which route?") }
	good := map[string]any{"from": "lis", "to": "hnd", "seat": "1A"}
	for name, style := range typeStyles(ask) {
		t.Run(name, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			client := kit.Connect(t, kit.ServeStyle(rt, style, nil), nil)
			wrong := wire.Accept(map[string]any{"from": "lis", "to": kit.Canary, "seat": "1A"})
			out := kit.Call(t, client, wire.Answers{"q": wire.InTurn(wrong, wire.Accept(good))})
			kit.Said(t, out, fmt.Sprint(route{From: "LIS", To: "HND", Seat: "1A"}))
			require.Equal(t, 3, out.Rounds)
			require.Equal(t, "Which route?\n\nThe answer cannot be used: to.", out.Questions[1].Message)

			out = kit.Call(t, client, wire.Answers{"q": wire.Accept(map[string]any{"from": "???", "to": "?", "seat": "1A"})})
			kit.FailsWith(t, out, `Stopped: "q" was asked 4 times without a usable answer.`)
			require.Equal(t, 5, out.Rounds)
			require.Equal(t, "Which route?\n\nThe answer cannot be used: from, to. Use three letters, as in LIS.", out.Questions[1].Message)
			stopped := seen.Of(observe.CallStopped)
			kit.Ended(t, stopped[len(stopped)-1].Err, mrtr.Unanswered)
		})
	}
}

func TestTypesThatDecodeThemselves(t *testing.T) {
	is(t, airport("LIS"))
	is(t, level(3))
	is(t, json.Number("12.5"))
	require.ErrorContains(t, mrtr.Elicit[airport]("q", "?").Default("Lisbon").Err(), "its default cannot be an answer")

	for _, refused := range []wire.Answer{wire.Value("12x"), wire.Value("12")} {
		out := kit.Play(t, kit.Asking(mrtr.Elicit[json.Number]("q", "?"), json.Number.String), wire.Answers{"q": wire.InTurn(refused, wire.Value(7))})
		kit.Said(t, out, "7")
		require.Equal(t, "?\n\nThe answer did not fit: q must be of type number.", out.Questions[1].Message)
	}
}

func TestMinusZeroIsZero(t *testing.T) {
	zero := wire.Raw(`{"action":"accept","content":{"q":-0}}`)
	require.Zero(t, roundTrip(t, mrtr.Elicit[uint]("q", "?"), zero))
	require.Zero(t, roundTrip(t, mrtr.Elicit[uint8]("q", "?"), zero))
	require.Zero(t, roundTrip(t, mrtr.Elicit[int]("q", "?"), zero))
}

const seatForm = `{"type":"object","properties":{"row":{"type":"integer"},"meals":{"type":"array","items":{"type":"string","enum":["fish","soup"]}}},"required":["row"]}`

type seat struct {
	Row   int8     `json:"row"`
	Meals []string `json:"meals"`
	Note  string   `json:"note"`
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
	out := kit.Play(t, kit.Asking(q, func(v trip) string { return v.Email }), wire.Answers{"q": wire.Accept(good())})
	kit.Said(t, out, "x")
	require.Contains(t, string(out.Questions[0].Schema), `"default":"a@example.org"`)
	require.Contains(t, string(out.Questions[0].Schema), `"default":2`)

	require.ErrorContains(t, kit.Units.Prefill("kelvin").Err(), "its default does not fit")
	require.NoError(t, kit.Units.Prefill("metric").Err())
	require.NotContains(t, string(mustSchema(t, kit.Units)), "default", "a question is never changed")
	require.ErrorContains(t, mrtr.Confirm("q", "?").Prefill(true).Err(), "prefilled", "a yes is a person's own")
	require.ErrorContains(t, mrtr.Roots("q").Prefill(nil).Err(), "prefilled")
}

// mustSchema is the schema of a question as it is sent.
func mustSchema(t *testing.T, q mrtr.AnyQuestion) json.RawMessage {
	t.Helper()
	out := kit.Play(t, needing(q), nil)
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
		out := kit.Play(t, kit.Asking(ask(), show), wire.Answers{"q": test.answer})
		kit.Said(t, out, test.says)
		require.Equal(t, test.rounds, out.Rounds)
	}
	for name, style := range typeStyles(func() mrtr.Question[*mcp.ElicitResult] { return ask() }) {
		rt, _ := kit.NewRuntime(t, nil)
		out := kit.Call(t, kit.Connect(t, kit.ServeStyle(rt, style, nil), nil), wire.Answers{"q": wire.Decline})
		require.False(t, out.IsError, "%s: %s", name, out.Text)
	}

	visit := mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "Log in.", URL: "https://example.org/login", ElicitationID: "1"})
	require.Equal(t, "accept", roundTrip(t, visit, wire.Accept(nil)).Action)
	bare := mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "Go on?"})
	require.Equal(t, "accept", roundTrip(t, bare, wire.Accept(nil)).Action, "a form without properties is a yes or a no")

	rt, _ := kit.NewRuntime(t, nil)
	lacking := kit.Call(t, kit.Connect(t, kit.ServeTool(rt, kit.Asking(ask(), show), nil), &wire.Options{Capabilities: wire.Nothing}), nil)
	require.NotNil(t, lacking.Error, "a client that cannot be asked is no answer")

	require.ErrorContains(t, mrtr.ElicitRaw("q", nil).Err(), "needs params")
	require.ErrorContains(t, mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "?", RequestedSchema: func() {}}).Err(), "cannot be encoded")
	require.ErrorContains(t, mrtr.Optional(ask()).Err(), "goes on without an answer by itself")
	require.ErrorContains(t, mrtr.Reply(ask()).Err(), "tells its outcome by itself")
	require.ErrorContains(t, ask().Default(&mcp.ElicitResult{}).Err(), "ElicitRaw has none")
}

func showReply[T any](r mrtr.Replied[T]) string {
	if r.Accepted() {
		return fmt.Sprint(r.Value)
	}
	return string(r.Reason)
}

// The outcome of a question is a value, in every style and in both eras.
func TestReplyTellsEveryOutcome(t *testing.T) {
	ask := func() mrtr.Question[mrtr.Replied[string]] {
		return mrtr.Reply(mrtr.Choose("q", "Which units?", mrtr.Choices("metric", "imperial")...))
	}
	for name, style := range typeStyles(ask) {
		for _, test := range []struct {
			explanation  string
			answer       wire.Answer
			capabilities wire.Capabilities
			want         mrtr.Replied[string]
		}{
			{"accepted", wire.Value("metric"), wire.Everything, mrtr.Replied[string]{Value: "metric"}},
			{"declined", wire.Decline, wire.Everything, mrtr.Replied[string]{Reason: mrtr.Declined}},
			{"cancelled", wire.Cancel, wire.Everything, mrtr.Replied[string]{Reason: mrtr.Cancelled}},
			{"cannot be asked", nil, wire.Nothing, mrtr.Replied[string]{Reason: mrtr.CannotBeAsked}},
		} {
			for _, version := range []string{wire.Modern, wire.Legacy} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, test.explanation, version), func(t *testing.T) {
					rt, _ := kit.NewRuntime(t, nil)
					client := kit.Connect(t, kit.ServeStyle(rt, style, nil), &wire.Options{Version: version, Capabilities: test.capabilities})
					kit.Said(t, kit.Call(t, client, wire.Answers{"q": test.answer}), fmt.Sprint(test.want))
				})
			}
		}
	}
}

func TestReplyOfOtherQuestions(t *testing.T) {
	say := func(q mrtr.Question[mrtr.Replied[bool]], answer wire.Answer) string {
		return showReply(roundTrip(t, q, answer))
	}
	sure := mrtr.Reply(mrtr.Confirm("q", "Really?"))
	require.Equal(t, "true", say(sure, wire.Value(true)))
	require.Equal(t, "false", say(sure, wire.Value(false)))
	require.Equal(t, "declined", say(sure, wire.Decline), "told apart from a no")

	visited := roundTrip(t, mrtr.Reply(visit2), wire.Cancel)
	require.Equal(t, mrtr.Cancelled, visited.Reason)
	require.True(t, roundTrip(t, mrtr.Reply(visit2), wire.Accept(nil)).Accepted())

	known := kit.Play(t, kit.Asking(mrtr.Reply(mrtr.Known(7)), showReply[int]), nil)
	kit.Said(t, known, "7")

	out := kit.Play(t, kit.Asking(mrtr.Reply(mrtr.Elicit[airport]("q", "?")), showReply[airport]), wire.Answers{"q": wire.InTurn(wire.Value(kit.Canary), wire.Value("lis"))})
	kit.Said(t, out, "LIS")

	require.ErrorContains(t, mrtr.Reply(mrtr.Elicit[func()]("q", "?")).Err(), "cannot be asked for")
	require.ErrorContains(t, mrtr.Optional(mrtr.Reply(kit.Units)).Err(), "goes on without an answer by itself")
	require.ErrorContains(t, mrtr.Reply(mrtr.Reply(kit.Units)).Err(), "tells its outcome by itself")
	require.ErrorContains(t, mrtr.Reply(kit.Units).Default(mrtr.Replied[string]{Value: "metric"}).Err(), "belongs to the question inside")
}

// Where an effect stands on an answer that its type refuses, no other answer can take its place: the
// call ends instead of asking for one.
func TestAnAnswerThatItsTypeRefusesBelowAnEffect(t *testing.T) {
	name, where := kit.Text("name"), mrtr.Elicit[struct{ To airport }]("where", "Where?")
	tool := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (need *mrtr.IncompleteResult, _ kit.Output, _ error) {
		if _, ok := mrtr.Answer(c, name); !ok {
			return mrtr.Need(name, where), kit.Output{}, nil
		}
		if _, err := mrtr.Once(ctx, c, "hold", func(context.Context, string) (int, error) { return 1, nil }); err != nil {
			return nil, kit.Output{}, err
		}
		if _, ok := mrtr.Answer(c, where); !ok {
			return mrtr.Need(where), kit.Output{}, nil
		}
		return nil, kit.Output{}, nil
	})
	rt, seen := kit.NewRuntime(t, nil)
	client := kit.Connect(t, kit.ServeStyle(rt, tool, nil), nil)
	out := kit.Call(t, client, wire.Answers{"name": wire.Accept(map[string]any{"name": "x"}), "where": wire.Accept(map[string]any{"To": "?"})})
	require.Equal(t, 2, out.Rounds)
	end := kit.Ended(t, seen.Of(observe.CallStopped)[0].Err, mrtr.Diverged)
	require.Equal(t, `the answer to question "where" is refused by its type, below an effect: read it above`, end.Detail)
	require.Equal(t, []string{"hold"}, end.Applied)
}

// pair refuses two that are alike, and panics where it has one of them alone.
type pair struct{ From, To string }

func (p *pair) UnmarshalJSON(text []byte) error {
	var own map[string]*string
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	if *own["From"] == *own["To"] {
		return errors.New("they are alike")
	}
	*p = pair{*own["From"], *own["To"]}
	return nil
}

// A type may panic over an answer while its refusal is put into words. That ends the call and nothing else.
func TestATypeThatPanicsOverAnAnswer(t *testing.T) {
	for name, style := range typeStyles(func() mrtr.Question[pair] { return mrtr.Elicit[pair]("q", "From where to where?") }) {
		t.Run(name, func(t *testing.T) {
			rt, _ := kit.NewRuntime(t, nil)
			client := kit.Connect(t, kit.ServeStyle(rt, style, nil), nil)
			answer := func(from, to string) wire.Answers {
				return wire.Answers{"q": wire.Accept(map[string]any{"From": from, "To": to})}
			}
			kit.FailsWith(t, kit.Call(t, client, answer("LIS", "LIS")), "The tool failed unexpectedly.")
			kit.Said(t, kit.Call(t, client, answer("LIS", "HND")), fmt.Sprint(pair{"LIS", "HND"}))
		})
	}
}
