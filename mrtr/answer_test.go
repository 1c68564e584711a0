package mrtr_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
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
	return string(kit.JSON(map[string]any{"action": "accept", "content": content}))
}

// wrongAnswers pass go-sdk, and must not reach a handler.
var wrongAnswers = []struct {
	explanation string
	response    string // "" leaves it out
	note        string
}{
	{"missing", "", ""},
	{"an action that nobody defined", `{"action":"banana","content":{"note":"` + kit.Canary + `"}}`, "accept, decline or cancel"},
	{"an empty action", `{"action":""}`, "accept, decline or cancel"},
	{"the roots of the client", `{"roots":[{"uri":"file:///` + kit.Canary + `","name":"x"}]}`, "another kind"},
	{"a message of the model", `{"role":"assistant","model":"m","content":{"type":"text","text":"` + kit.Canary + `"}}`, "another kind"},
	{"no content", `{"action":"accept"}`, showsNoForms},
	{"null for content", `{"action":"accept","content":null}`, showsNoForms},
	{"empty content", `{"action":"accept","content":{}}`, showsNoForms},
	{"only what was not asked", `{"action":"accept","content":{"` + kit.Canary + `":1}}`, "did not fit"},
	{"a property is missing", with("email", nil), "did not fit"},
	{"a number for a string", with("email", 1), "email must be of type string"},
	{"null for an optional string", `{"action":"accept","content":{"note":null}}`, "did not fit"},
	{"nested content", with("email", map[string]any{"a": map[string]any{"b": []any{kit.Canary}}}), "did not fit"},
	{"deeply nested content", `{"action":"accept","content":{"email":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`, "did not fit"},
	{"huge content", with("nights", strings.Repeat(kit.Canary, 50_000)), "did not fit"},
	{"beyond an int8", with("nights", 128), "nights must be of type integer, at least -128, at most 127"},
	{"below an uint16", with("seats", -1), "at least 0"},
	{"beyond what a JSON number holds exactly", with("total", json.Number("9007199254740994")), "did not fit"},
	{"a fraction for an integer", with("seats", 1.5), "did not fit"},
	{"beyond a float32", with("rate", 1e300), "did not fit"},
	{"a string for a boolean", with("quick", "true"), "did not fit"},
	{"a choice that was not given", with("class", kit.Canary), "class must be one of the choices"},
	{"a list with a choice that was not given", with("meals", []any{"first", kit.Canary}), "meals must be a list of the choices"},
	{"a time that is none", with("when", kit.Canary), "format date-time"},
	{"a date for a time", with("when", "2026-08-01"), "format date-time"},
}

// showsNoForms is in the note on an answer with nothing in it.
const showsNoForms = "this client does not seem to show forms"

func TestAnAnswerThatDoesNotFitIsAskedAgain(t *testing.T) {
	for _, wrong := range wrongAnswers {
		t.Run(wrong.explanation, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			q := mrtr.Elicit[trip]("trip", "Which trip?")
			client := kit.Connect(t, kit.ServeTool(rt, kit.Asking(q, func(v trip) string { return v.Email }), nil), nil)
			answer := wire.Missing
			if wrong.response != "" {
				answer = wire.Raw(wrong.response)
			}

			out := kit.Call(t, client, wire.Answers{"trip": wire.InTurn(answer, wire.Accept(good()))})
			kit.Said(t, out, "x")
			require.Equal(t, 3, out.Rounds)
			require.Equal(t, 2, seen.Entries(), "entered for the question and for the result, not in between")
			again := out.Questions[1].Message
			require.Contains(t, again, "Which trip?")
			require.Contains(t, again, wrong.note)
			require.NotContains(t, again, kit.Canary)
			require.Equal(t, wrong.note == "", again == "Which trip?", again)

			before := seen.Entries()
			out = kit.Call(t, client, wire.Answers{"trip": answer})
			require.Nil(t, out.Error)
			text, rounds := `Stopped: "trip" was asked 4 times without a usable answer.`, 5
			if wrong.note == showsNoForms {
				text, rounds = `Stopped: "trip" was accepted twice with no required field filled in, so this client does not seem to show forms.`, 3
			}
			kit.FailsWith(t, out, text)
			require.Empty(t, out.Structured)
			require.Equal(t, rounds, out.Rounds, "asked, and asked again three times, but once for nothing at all")
			require.Equal(t, before+1, seen.Entries())
			stopped := seen.Of(observe.CallStopped)
			unanswered := kit.Ended(t, stopped[len(stopped)-1].Err, mrtr.Unanswered)
			require.Equal(t, "trip", unanswered.Key)
		})
	}
}

// An answer that would not fit into a state is for its user to fix: it is asked
// for again, not held against the server.
func TestAnAnswerThatIsTooLongIsAskedAgain(t *testing.T) {
	rt, seen := kit.NewRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 2000}})
	client := kit.Connect(t, kit.ServeTool(rt, kit.Asking(mrtr.Elicit[string]("essay", "Your essay?"), kit.Itself), nil), nil)
	out := kit.Call(t, client, wire.Answers{"essay": wire.InTurn(wire.Value(strings.Repeat("x", 1500)), wire.Value("short"))})
	kit.Said(t, out, "short")
	require.Contains(t, out.Questions[1].Message, "too long")
	require.Equal(t, 2, seen.Entries())
}

// A client that declares less than it did in the round before is not asked again.
func TestAskingAgainPassesTheGate(t *testing.T) {
	rt, seen := kit.NewRuntime(t, nil)
	server := kit.ServeTool(rt, kit.Asking(kit.Units, kit.Itself), nil)
	able := kit.Connect(t, server, nil)
	mute := kit.Connect(t, server, &wire.Options{Capabilities: wire.Nothing})
	first := kit.Send(t, able, wire.Request{Name: "tool"})
	for explanation, responses := range map[string]any{
		"no answer":                   map[string]any{},
		"an answer that does not fit": map[string]any{"units": map[string]any{"action": "accept", "content": map[string]any{"units": "kelvin"}}},
	} {
		reply := kit.Send(t, mute, wire.Request{Name: "tool", State: first.State, Responses: responses})
		kit.RefusedWith(t, reply.Error, -32021, explanation)
		require.Contains(t, string(reply.Error.Data), needsForm, explanation)
	}
	require.Len(t, seen.Of(observe.QuestionsAsked), 1)

	// One that can do without an answer goes on.
	rt, _ = kit.NewRuntime(t, nil)
	server = kit.ServeTool(rt, kit.Asking(mrtr.Confirm("sure", "Sure?"), func(yes bool) string { return fmt.Sprint(yes) }), nil)
	able, mute = kit.Connect(t, server, nil), kit.Connect(t, server, &wire.Options{Capabilities: wire.Nothing})
	first = kit.Send(t, able, wire.Request{Name: "tool"})
	reply := kit.Send(t, mute, wire.Request{Name: "tool", State: first.State, Responses: map[string]any{}})
	require.JSONEq(t, `{"said":"false"}`, string(reply.Structured))
}
