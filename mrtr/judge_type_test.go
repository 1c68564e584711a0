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
	"github.com/mrtr-go/sdk/statecodec"
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
func typeStyles[T any](ask func() mrtr.Question[T]) map[string]mrtr.Style[input, output] {
	native := func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		q := ask()
		v, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), output{}, nil
		}
		return nil, output{fmt.Sprint(v)}, nil
	}
	linear := func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
		v, err := mrtr.Ask(ctx, c, ask())
		return output{fmt.Sprint(v)}, err
	}
	var list mrtr.Steps[input, output]
	step := mrtr.AskStep(&list, "q", func(context.Context, *mrtr.At[input]) (mrtr.Question[T], error) { return ask(), nil })
	list.End(func(_ context.Context, at *mrtr.At[input]) (output, error) {
		return output{fmt.Sprint(step.Of(at))}, nil
	})
	return map[string]mrtr.Style[input, output]{
		"native": mrtr.Native(native), "coroutine": mrtr.Coroutine(linear), "journal": mrtr.Journal(linear),
		"resumable": mrtr.Resumable(linear), "steps": list.MustBuild(),
	}
}

func serveStyle(rt *mrtr.Runtime, style mrtr.Style[input, output]) *mcp.Server {
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
	return server
}

// An answer that fits the form, and that its type refuses, is asked for again before
// the handler is entered. The note names the property, and neither the answer nor a
// Go type.
func TestAnAnswerThatItsTypeRefusesIsAskedAgain(t *testing.T) {
	ask := func() mrtr.Question[route] { return mrtr.Elicit[route]("q", "Which route?") }
	good := map[string]any{"from": "lis", "to": "hnd", "seat": "1A"}
	for name, style := range typeStyles(ask) {
		t.Run(name, func(t *testing.T) {
			rt, seen := newRuntime(t, nil)
			client := connect(t, serveStyle(rt, style), nil)
			wrong := wire.Accept(map[string]any{"from": "lis", "to": canary, "seat": "1A"})
			out := call(t, client, wire.Answers{"q": wire.InTurn(wrong, wire.Accept(good))})
			said(t, out, fmt.Sprint(route{From: "LIS", To: "HND", Seat: "1A"}))
			require.Equal(t, 3, out.Rounds)
			require.Equal(t, "Which route?\n\nThe answer cannot be used: to.", out.Questions[1].Message)

			out = call(t, client, wire.Answers{"q": wire.Accept(map[string]any{"from": "???", "to": "?", "seat": "1A"})})
			require.True(t, out.IsError)
			require.Equal(t, `Stopped: "q" was asked 4 times without a usable answer.`, out.Text)
			require.Equal(t, 5, out.Rounds)
			require.Equal(t, "Which route?\n\nThe answer cannot be used: from, to. Use three letters, as in LIS.", out.Questions[1].Message)
			stopped := seen.of(mrtr.CallStopped)
			ended(t, stopped[len(stopped)-1].Err, mrtr.Unanswered)
			if name == "native" {
				require.Equal(t, 3, seen.entries(), "entered to ask, to ask, and for the result of the first call")
			}
		})
	}
}

// A process that has not made the question yet cannot judge the answer by its type.
// There the handler finds out, and the call goes on alike.
func TestAnAnswerThatItsTypeRefusesInAFreshProcess(t *testing.T) {
	ask := func() mrtr.Question[airport] { return mrtr.Elicit[airport]("q", "Which airport?") }
	for name, style := range typeStyles(ask) {
		if name == "coroutine" { // whose frame stands in the process that asked
			continue
		}
		t.Run(name, func(t *testing.T) {
			keys := keys(1)
			serve := func() *wire.Client {
				if name != "steps" { // which knows its types when it is built
					mrtr.ForgetTypes()
				}
				rt, _ := newRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: keys}})
				return connect(t, serveStyle(rt, style), nil)
			}
			send := func(state, answer string) *wire.Reply {
				r := wire.Request{Name: "tool", State: state}
				if state != "" {
					r.Responses = map[string]any{"q": map[string]any{"action": "accept", "content": map[string]any{"q": answer}}}
				}
				reply, err := serve().Send(context.Background(), r)
				require.NoError(t, err)
				return reply
			}
			reply := send("", "")
			for range 3 {
				reply = send(reply.State, canary)
				require.True(t, reply.Incomplete(), "%s", reply.Result)
				require.Equal(t, "Which airport?\n\nThe answer cannot be used: q.", reply.Asks[0].Message)
			}
			unanswered := send(reply.State, canary)
			require.True(t, unanswered.IsError)
			require.Equal(t, `Stopped: "q" was asked 4 times without a usable answer.`, unanswered.Text)
			last := send(reply.State, "lis")
			require.JSONEq(t, `{"said":"LIS"}`, string(last.Structured), "%s", last.Result)
		})
	}
}

func TestTypesThatDecodeThemselves(t *testing.T) {
	is(t, airport("LIS"))
	is(t, level(3))
	is(t, json.Number("12.5"))
	require.ErrorContains(t, mrtr.Elicit[airport]("q", "?").Default("Lisbon").Err(), "its default cannot be an answer")

	for _, refused := range []wire.Answer{wire.Value("12x"), wire.Value("12")} {
		rt, _ := newRuntime(t, nil)
		client := connect(t, serveTool(rt, asking(mrtr.Elicit[json.Number]("q", "?"), json.Number.String), nil), nil)
		out := call(t, client, wire.Answers{"q": wire.InTurn(refused, wire.Value(7))})
		said(t, out, "7")
		require.Equal(t, "?\n\nThe answer did not fit: q must be of type number.", out.Questions[1].Message)
	}
}

// Whole numbers end where a JSON number is no longer exact: the next one is asked
// again, not rounded.
func TestWholeNumbersEndWhereTheyAreExact(t *testing.T) {
	const largest = 1<<53 - 1
	is(t, int64(largest))
	is(t, int64(-largest))
	for _, beyond := range []string{"9007199254740992", "9007199254740993", "-9007199254740992", "1e300", "18446744073709551615"} {
		rt, _ := newRuntime(t, nil)
		client := connect(t, serveTool(rt, asking(mrtr.Elicit[int64]("q", "?"), func(n int64) string { return fmt.Sprint(n) }), nil), nil)
		out := call(t, client, wire.Answers{"q": wire.InTurn(wire.Raw(`{"action":"accept","content":{"q":`+beyond+`}}`), wire.Value(1))})
		said(t, out, "1")
		require.Equal(t, "?\n\nThe answer did not fit: q must be a whole number from -9007199254740991 to 9007199254740991.", out.Questions[1].Message, beyond)
	}
}

func TestMinusZeroIsZero(t *testing.T) {
	zero := wire.Raw(`{"action":"accept","content":{"q":-0}}`)
	require.Zero(t, roundTrip(t, mrtr.Elicit[uint]("q", "?"), zero))
	require.Zero(t, roundTrip(t, mrtr.Elicit[uint8]("q", "?"), zero))
	require.Zero(t, roundTrip(t, mrtr.Elicit[int]("q", "?"), zero))
}
