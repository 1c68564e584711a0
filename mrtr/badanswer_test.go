package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// trip has a field of every kind that answers get wrong.
type trip struct {
	Email  string    `json:"email"`
	Nights int8      `json:"nights"`
	Seats  uint16    `json:"seats"`
	Class  class     `json:"class"`
	Meals  []class   `json:"meals,omitempty"`
	When   time.Time `json:"when"`
	Total  int64     `json:"total"`
	Rate   float32   `json:"rate"`
	Quick  bool      `json:"quick"`
	Note   *string   `json:"note"`
}

type class string

func (class) Choices() []mrtr.Choice { return mrtr.Choices("first", "second") }

// canary stands in every wrong answer, and must not come back.
const canary = "CANARY-4711"

// good is an answer that fits.
func good() map[string]any {
	return map[string]any{
		"email": "x", "nights": 3, "seats": 2, "class": "first", "meals": []any{"second"},
		"when": "2026-08-01T10:00:00Z", "total": 1<<53 - 1, "rate": 1.5, "quick": true, "note": "n",
	}
}

func with(name string, v any) string {
	content := good()
	content[name] = v
	if v == nil {
		delete(content, name)
	}
	return string(mustJSON(map[string]any{"action": "accept", "content": content}))
}

// wrongAnswers pass go-sdk, and must not reach a handler.
var wrongAnswers = []struct {
	explanation string
	response    string // "" leaves it out
	note        string
}{
	{"missing", "", ""},
	{"an action that nobody defined", `{"action":"banana","content":{"note":"` + canary + `"}}`, "accept, decline or cancel"},
	{"an empty action", `{"action":""}`, "accept, decline or cancel"},
	{"the roots of the client", `{"roots":[{"uri":"file:///` + canary + `","name":"x"}]}`, "another kind"},
	{"a message of the model", `{"role":"assistant","model":"m","content":{"type":"text","text":"` + canary + `"}}`, "another kind"},
	{"no content", `{"action":"accept"}`, "did not fit"},
	{"null for content", `{"action":"accept","content":null}`, "did not fit"},
	{"empty content", `{"action":"accept","content":{}}`, "did not fit"},
	{"only what was not asked", `{"action":"accept","content":{"` + canary + `":1}}`, "did not fit"},
	{"a property is missing", with("email", nil), "did not fit"},
	{"a number for a string", with("email", 1), "email must be of type string"},
	{"null for an optional string", `{"action":"accept","content":{"note":null}}`, "did not fit"},
	{"nested content", with("email", map[string]any{"a": map[string]any{"b": []any{canary}}}), "did not fit"},
	{"deeply nested content", `{"action":"accept","content":{"email":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`, "did not fit"},
	{"huge content", with("nights", strings.Repeat(canary, 50_000)), "did not fit"},
	{"beyond an int8", with("nights", 128), "nights must be of type integer, at least -128, at most 127"},
	{"below an uint16", with("seats", -1), "at least 0"},
	{"beyond what a JSON number holds exactly", with("total", json.Number("9007199254740994")), "did not fit"},
	{"a fraction for an integer", with("seats", 1.5), "did not fit"},
	{"beyond a float32", with("rate", 1e300), "did not fit"},
	{"a string for a boolean", with("quick", "true"), "did not fit"},
	{"a choice that was not given", with("class", canary), "class must be one of the choices"},
	{"a list with a choice that was not given", with("meals", []any{"first", canary}), "meals must be a list of the choices"},
	{"a time that is none", with("when", canary), "format date-time"},
	{"a date for a time", with("when", "2026-08-01"), "format date-time"},
}

func TestAnAnswerThatDoesNotFitIsAskedAgain(t *testing.T) {
	for _, wrong := range wrongAnswers {
		t.Run(wrong.explanation, func(t *testing.T) {
			rt, seen := newRuntime(t, nil)
			q := mrtr.Elicit[trip]("trip", "Which trip?")
			client := connect(t, serveTool(rt, asking(q, func(v trip) string { return v.Email }), nil), nil)
			answer := wire.Missing
			if wrong.response != "" {
				answer = wire.Raw(wrong.response)
			}

			out := call(t, client, wire.Answers{"trip": wire.InTurn(answer, wire.Accept(good()))})
			said(t, out, "x")
			require.Equal(t, 3, out.Rounds)
			require.Equal(t, 2, seen.entries(), "entered for the question and for the result, not in between")
			again := out.Questions[1].Message
			require.Contains(t, again, "Which trip?")
			require.Contains(t, again, wrong.note)
			require.NotContains(t, again, canary)
			require.Equal(t, wrong.note == "", again == "Which trip?", again)

			before := seen.entries()
			out = call(t, client, wire.Answers{"trip": answer})
			require.Nil(t, out.Error)
			require.True(t, out.IsError)
			require.Equal(t, `Stopped: "trip" was asked 4 times without a usable answer.`, out.Text)
			require.Empty(t, out.Structured)
			require.Equal(t, 5, out.Rounds, "asked, and asked again three times")
			require.Equal(t, before+1, seen.entries())
			stopped := seen.of(mrtr.CallStopped)
			unanswered := ended(t, stopped[len(stopped)-1].Err, mrtr.Unanswered)
			require.Equal(t, "trip", unanswered.Key)
		})
	}
}

func TestInputResponsesThatHoldNothing(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	client := connect(t, serveTool(rt, asking(units, itself), nil), nil)
	for _, responses := range []string{`null`, `{}`, `{"other":{"action":"accept","content":{"units":"metric"}}}`} {
		first, err := client.Send(context.Background(), wire.Request{Name: "tool"})
		require.NoError(t, err)
		entries := seen.entries()
		reply, err := client.Send(context.Background(), wire.Request{Name: "tool", State: first.State, Responses: json.RawMessage(responses)})
		require.NoError(t, err)
		require.True(t, reply.Incomplete(), responses)
		require.Equal(t, "units", reply.Asks[0].Key)
		require.Equal(t, entries, seen.entries(), responses)
	}
}

func TestAnswersToUnaskedQuestionsAreDropped(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	q := mrtr.ElicitSchema("q", "?", json.RawMessage(` { "type":"object", "properties": {"a":{"type":"string"}} } `+"\n"))
	client := connect(t, serveTool(rt, asking(q, func(m map[string]any) string { return fmt.Sprint(m) }), nil), nil)
	out := call(t, client, wire.Answers{"q": wire.Accept(map[string]any{"a": "x", "b": "y"})})
	said(t, out, "map[a:x]")

	first, err := client.Send(context.Background(), wire.Request{Name: "tool"})
	require.NoError(t, err)
	reply, err := client.Send(context.Background(), wire.Request{Name: "tool", State: first.State, Responses: map[string]any{
		"q":     map[string]any{"action": "accept", "content": map[string]any{"a": "x"}},
		"other": map[string]any{"action": "decline"},
	}})
	require.NoError(t, err)
	require.False(t, reply.IsError, "an answer to a question nobody asked is no answer: %s", reply.Text)
}

// go-sdk guesses an answer's kind from its members, before any code of a server
// runs, and refuses an answer it cannot guess. This package promises nothing of it.
func TestAnswersThatTheHostRefuses(t *testing.T) {
	for _, response := range []string{
		`"metric"`, `7`, `[]`, `{}`, `{"content":{"units":"metric"}}`,
		`{"action":7}`, `{"action":"accept","content":"metric"}`, `{"action":"accept","content":[]}`, `{"roots":7}`,
		`{"role":"assistant","content":{"type":"unheard-of"}}`,
	} {
		rt, seen := newRuntime(t, nil)
		client := connect(t, serveTool(rt, asking(units, itself), nil), nil)
		for _, key := range []string{"units", "nobody-asked"} {
			first, err := client.Send(context.Background(), wire.Request{Name: "tool"})
			require.NoError(t, err)
			rounds := len(seen.of(mrtr.RoundStarted))
			reply, err := client.Send(context.Background(), wire.Request{Name: "tool", State: first.State,
				Responses: map[string]any{key: json.RawMessage(response)}})
			require.NoError(t, err)
			require.NotNil(t, reply.Error, response)
			require.EqualValues(t, -32602, reply.Error.Code, "%s: %s", response, reply.Error.Message)
			require.Len(t, seen.of(mrtr.RoundStarted), rounds, "the engine saw it: %s", response)
		}
	}
}

// An answer that would not fit into a state is its user's to mend: it is asked
// for again, not held against the server.
func TestAnAnswerThatIsTooLongIsAskedAgain(t *testing.T) {
	rt, seen := newRuntime(t, &mrtr.Options{MaxStateBytes: 2000})
	client := connect(t, serveTool(rt, asking(mrtr.Elicit[string]("essay", "Your essay?"), itself), nil), nil)
	out := call(t, client, wire.Answers{"essay": wire.InTurn(wire.Value(strings.Repeat("x", 1500)), wire.Value("short"))})
	said(t, out, "short")
	require.Contains(t, out.Questions[1].Message, "too long")
	require.Equal(t, 2, seen.entries())
}
