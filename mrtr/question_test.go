package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
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
			require.Empty(t, seen.Of(observe.QuestionsAsked))
		})
	}
}

func TestTheSchemasOfForms(t *testing.T) {
	type titled struct {
		When time.Time `json:"when" jsonschema:"the day you \"leave\""`
	}
	for _, c := range []struct {
		question mrtr.AnyQuestion
		schema   string
	}{
		{mrtr.Elicit[string]("q", "?"), `{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`},
		{mrtr.Elicit[bool]("q", "?"), `{"type":"object","properties":{"q":{"type":"boolean"}},"required":["q"]}`},
		{mrtr.Elicit[uint8]("q", "?"), `{"type":"object","properties":{"q":{"type":"integer","minimum":0,"maximum":255}},"required":["q"]}`},
		{mrtr.Elicit[int64]("other", "?"), `{"type":"object","properties":{"other":{"type":"integer"}},"required":["other"]}`},
		{mrtr.Elicit[class]("q", "?"), `{"type":"object","properties":{"q":{"type":"string","enum":["first","second"]}},"required":["q"]}`},
		{mrtr.Elicit[[]class]("q", "?"), `{"type":"object","properties":{"q":{"type":"array","items":{"type":"string","enum":["first","second"]},"uniqueItems":true,"maxItems":2}},"required":["q"]}`},
		{mrtr.Choose("q", "?", mrtr.Choice{Value: "a", Title: "A"}, mrtr.Choice{Value: "b"}),
			`{"type":"object","properties":{"q":{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"b"}]}},"required":["q"]}`},
		{mrtr.Elicit[titled]("q", "?"), `{"type":"object","properties":{"when":{"type":"string","format":"date-time","description":"the day you \"leave\""}},"required":["when"]}`},
	} {
		require.NoError(t, c.question.Err())
		out := kit.Play(t, needing(c.question), nil)
		require.NotEmpty(t, out.Questions)
		require.JSONEq(t, c.schema, string(out.Questions[0].Schema))
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
	rt, _ := kit.NewRuntime(t, nil)
	handler := func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		return mrtr.Need(kit.Units, visitPage, sample, roots), kit.Output{}, nil
	}
	client := kit.Connect(t, kit.ServeTool(rt, handler, nil), nil)
	reply := kit.Send(t, client, wire.Request{Name: "tool"})
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

// An answer is judged by the question as it was sent, not by the one that the
// handler would ask now.
func TestAQuestionIsNotChangedByItsUse(t *testing.T) {
	base := mrtr.Choose("q", "?", mrtr.Choices("a")...)
	_ = base.Default("a")
	_ = mrtr.Optional(base)
	out := kit.Play(t, kit.Asking(base, kit.Itself), wire.Answers{"q": wire.Decline})
	require.True(t, out.IsError, "the question itself takes no no")

	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	q := mrtr.ElicitAs[map[string]any]("q", "?", schema)
	clear(schema)
	require.NoError(t, q.Err())
	got := roundTrip(t, q, wire.Accept(map[string]any{"a": "x"}))
	require.Equal(t, map[string]any{"a": "x"}, got)
}

// A question of any text is asked once and answered, in every style.
func TestAQuestionOfAnyTextIsAnswered(t *testing.T) {
	question := func(words string) mrtr.Question[string] { return mrtr.Elicit[string]("send", words).Verbatim() }
	styles := kit.EveryStyle(func(s *kit.Stage, in kit.Input) (kit.Output, error) {
		return kit.Output{Said: kit.Ask(s, question(in.Location))}, nil
	})
	styles["once"] = mrtr.Native(kit.Guarded(func(s *kit.Stage, in kit.Input) (kit.Output, error) {
		return kit.Output{Said: kit.Ask(s, question(kit.Once(s, "look", func(context.Context, string) (string, error) { return in.Location, nil })))}, nil
	}))
	var list steps.List[kit.Input, kit.Output]
	send := steps.Ask(&list, "send", func(_ context.Context, at *steps.At[kit.Input]) (mrtr.Question[string], error) {
		return question(at.In.Location), nil
	})
	list.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
		return kit.Output{Said: send.Of(at)}, nil
	})
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		for _, version := range []string{"2026-07-28", wire.Legacy} {
			t.Run(name+", "+version, func(t *testing.T) {
				rt, _ := kit.NewRuntime(t, nil)
				server := kit.ServeStyle(rt, style, nil)
				client := kit.Connect(t, server, &wire.Options{Version: version})
				for _, text := range []string{"Send this?\n{\"amount\": 5}", "\n{\"", "<\"}]\x00\u2028", "\\ud800"} {
					asked := 0
					got, err := client.Call(t.Context(), "tool", kit.Input{Location: text}, wire.Answers{"send": func(q wire.Question) any {
						asked++
						require.Equal(t, text, q.Message)
						return wire.Value(text)(q)
					}})
					require.NoError(t, err)
					var said kit.Output
					require.NoError(t, json.Unmarshal(got.Structured, &said))
					require.Equal(t, text, said.Said)
					require.Equal(t, 1, asked)
				}
			})
		}
	}
}
