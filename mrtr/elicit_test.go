package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// needing asks and never gets further.
func needing(q mrtr.AnyQuestion) nativeHandler {
	return func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
		return mrtr.Need(q), output{}, nil
	}
}

// roundTrip asks q, answers it, and returns the value that the handler reads.
func roundTrip[T any](t *testing.T, q mrtr.Question[T], answer wire.Answer) T {
	t.Helper()
	require.NoError(t, q.Err())
	rt, _ := newRuntime(t, nil)
	var got T
	out := call(t, connect(t, serveTool(rt, asking(q, func(v T) string { got = v; return "done" }), nil), nil), wire.Answers{"q": answer})
	said(t, out, "done")
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

func TestEveryKindOfAnswer(t *testing.T) {
	is(t, "plain")
	is(t, "\"quotes\" \\ and \x01 control, \u2028 and \U0001f600 and <html>")
	is(t, "")
	is(t, true)
	is(t, 42)
	is(t, int8(-128))
	is(t, int16(32767))
	is(t, int32(-1<<31))
	is(t, int64(1<<53-1))
	is(t, uint(7))
	is(t, uint8(255))
	is(t, uint16(65535))
	is(t, uint32(1<<32-1))
	is(t, uint64(1<<53-1))
	is(t, float32(1.5))
	is(t, 2.25)
	is(t, class("second"))
	is(t, []class{"first", "second"})
	is(t, time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC))
}

func TestAStructIsAWholeForm(t *testing.T) {
	q := mrtr.Elicit[trip]("q", "?")
	note := "n"
	want := trip{Email: "x", Nights: 3, Seats: 2, Class: "first", Meals: []class{"second"},
		When: time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC), Total: 1<<53 - 1, Rate: 1.5, Quick: true, Note: &note}
	require.Equal(t, want, roundTrip(t, q, wire.Accept(good())))

	less := good()
	delete(less, "meals")
	delete(less, "note")
	want.Meals, want.Note = nil, nil
	require.Equal(t, want, roundTrip(t, q, wire.Accept(less)))
	require.Equal(t, &want, roundTrip(t, mrtr.Optional(q), wire.Accept(less)))
	require.Nil(t, roundTrip(t, mrtr.Optional(q), wire.Cancel))
}

func TestConfirmIsYesOnlyWhenAPersonSaidYes(t *testing.T) {
	q := mrtr.Confirm("q", "Really?")
	require.True(t, roundTrip(t, q, wire.Value(true)))
	require.False(t, roundTrip(t, q, wire.Value(false)))
	require.False(t, roundTrip(t, q, wire.Decline))
	require.False(t, roundTrip(t, q, wire.Cancel))
}

func TestQuestionsForTheClientItself(t *testing.T) {
	const message = `{"role":"assistant","model":"m","content":{"type":"text","text":"hello"},"stopReason":"endTurn"}`
	sampled := roundTrip(t, mrtr.Sample("q", &mcp.CreateMessageWithToolsParams{MaxTokens: 9}), wire.Raw(message))
	require.Equal(t, "hello", sampled.Content[0].(*mcp.TextContent).Text)
	optional := roundTrip(t, mrtr.Optional(mrtr.Sample("q", &mcp.CreateMessageWithToolsParams{MaxTokens: 9})), wire.Raw(message))
	require.Equal(t, "m", (*optional).Model)

	listed := roundTrip(t, mrtr.Roots("q"), wire.Raw(`{"roots":[{"uri":"file:///a","name":"a"}]}`))
	require.Equal(t, "file:///a", listed.Roots[0].URI)
	some := roundTrip(t, mrtr.Optional(mrtr.Roots("q")), wire.Raw(`{"roots":[]}`))
	require.Empty(t, (*some).Roots)

	require.NotNil(t, roundTrip(t, mrtr.Optional(visit2), wire.Accept(nil)))
	require.Nil(t, roundTrip(t, mrtr.Optional(visit2), wire.Decline))
}

var visit2 = mrtr.ElicitURL("q", "Please log in.", "https://example.org/login")

func TestQuestionsOnTheWire(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	handler := func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
		return mrtr.Need(units, visit, sample, roots), output{}, nil
	}
	client := connect(t, serveTool(rt, handler, nil), nil)
	reply, err := client.Send(context.Background(), wire.Request{Name: "tool"})
	require.NoError(t, err)
	asked := map[string]wire.Question{}
	for _, q := range reply.Asks {
		asked[q.Key] = q
	}
	require.Len(t, asked, 4)
	require.Equal(t, "form", asked["units"].Mode)
	require.Equal(t, "Which units?", asked["units"].Message)
	require.Equal(t, "url", asked["visit"].Mode)
	require.Equal(t, "https://example.org/login", asked["visit"].URL)
	require.Equal(t, "sampling/createMessage", asked["sample"].Method)
	require.Contains(t, string(asked["sample"].Params), `"maxTokens":10`)
	require.Equal(t, "roots/list", asked["roots"].Method)
}

// The same code path serves a plain answer: nobody is asked.
func TestKnownAsksNobody(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	client := connect(t, serveTool(rt, asking(mrtr.Known("x"), itself), nil), nil)
	out := call(t, client, nil)
	said(t, out, "x")
	require.Equal(t, 1, out.Rounds)
	require.Empty(t, mrtr.Known(1).Key())
	require.NoError(t, mrtr.Known(1).Err())

	// Beside one that is asked, it is left out.
	rt, seen := newRuntime(t, nil)
	both := func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		known, unit := mrtr.Optional(mrtr.Known(7)), units
		k, ok1 := mrtr.Answer(c, known)
		u, ok2 := mrtr.Answer(c, unit)
		if !ok1 || !ok2 {
			return mrtr.Need(known, unit), output{}, nil
		}
		return nil, output{fmt.Sprintf("%d %s", *k, u)}, nil
	}
	out = call(t, connect(t, serveTool(rt, both, nil), nil), wire.Answers{"units": wire.Value("metric")})
	said(t, out, "7 metric")
	require.Equal(t, []string{"units"}, seen.of(mrtr.QuestionsAsked)[0].Questions)
}

// An answer is judged by the question as it was sent, not by the one that the
// handler would ask now.
func TestChoicesMayChangeBetweenRounds(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	choices := mrtr.Choices("a", "b")
	handler := func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		q := mrtr.Choose("q", "?", choices...)
		choices = mrtr.Choices("c")
		v, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), output{}, nil
		}
		return nil, output{v}, nil
	}
	out := call(t, connect(t, serveTool(rt, handler, nil), nil), wire.Answers{"q": wire.Value("b")})
	said(t, out, "b")
}

func TestAQuestionIsNotChangedByItsUse(t *testing.T) {
	base := mrtr.Choose("q", "?", mrtr.Choices("a")...)
	_ = base.Default("a")
	_ = mrtr.Optional(base)
	rt, _ := newRuntime(t, nil)
	out := call(t, connect(t, serveTool(rt, asking(base, itself), nil), nil), wire.Answers{"q": wire.Decline})
	require.True(t, out.IsError, "the question itself takes no no")

	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	q := mrtr.ElicitSchema("q", "?", schema)
	clear(schema)
	require.NoError(t, q.Err())
	got := roundTrip(t, q, wire.Accept(map[string]any{"a": "x"}))
	require.Equal(t, map[string]any{"a": "x"}, got)
}

// A yes to one thing is no yes to another: a confirmation that has been reworded
// since it was answered is asked for again, in its new words.
func TestAConfirmationIsForItsWordsAlone(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	price := "5"
	handler := func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		pay := mrtr.Confirm("pay", "Pay "+price+"?")
		yes, ok := mrtr.Answer(c, pay)
		if !ok {
			return mrtr.Need(pay), output{}, nil
		}
		if !yes {
			return nil, output{"kept"}, nil
		}
		return nil, output{"paid " + price}, nil
	}
	client := connect(t, serveTool(rt, handler, nil), nil)
	out := call(t, client, wire.Answers{"pay": func(q wire.Question) any {
		price = "500" // behind the user's back
		return wire.Value(q.Message == "Pay 5?")(q)
	}})
	said(t, out, "kept")
	require.Len(t, out.Questions, 2)
	require.Equal(t, "Pay 500?", out.Questions[1].Message)
	require.Equal(t, 3, seen.entries())
}
