package mrtr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
)

// worded is a kind of question, whose handler pays in every style when the question and another
// are answered.
type worded struct {
	answer wire.Answer
	styles func(words func() string, anyWords bool, pay func(context.Context, string) (string, error)) map[string]mrtr.Style[kit.Input, kit.Output]
}

func wordedAs[T any](q func(words string) mrtr.Question[T], answer wire.Answer) worded {
	return worded{answer, func(words func() string, anyWords bool, pay func(context.Context, string) (string, error)) map[string]mrtr.Style[kit.Input, kit.Output] {
		more := kit.Text("more")
		question := func() mrtr.Question[T] {
			if anyWords {
				return q(words()).AnyWords()
			}
			return q(words())
		}
		styles := kit.EveryStyle(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
			kit.Ask(s, question())
			kit.Ask(s, more)
			return kit.Output{Said: kit.Once(s, "pay", pay)}, nil
		})
		first := given.Question("q", func(context.Context, kit.Input) (mrtr.Question[T], error) { return question(), nil })
		then := given.After(first, "more", func(context.Context, kit.Input, T) (mrtr.Question[string], error) { return more, nil })
		styles["given"] = given.Handler2(first, then, func(ctx context.Context, c *mrtr.Call, _ kit.Input, _ T, _ string) (kit.Output, error) {
			paid, err := mrtr.Once(ctx, c, "pay", pay)
			return kit.Output{Said: paid}, err
		})
		var list steps.List[kit.Input, kit.Output]
		steps.Ask(&list, "q", func(context.Context, *steps.At[kit.Input]) (mrtr.Question[T], error) { return question(), nil })
		steps.Always(&list, more)
		paid := steps.Do(&list, "pay", func(ctx context.Context, _ *steps.At[kit.Input], idem string) (string, error) { return pay(ctx, idem) })
		list.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
			return kit.Output{Said: paid.Of(at)}, nil
		})
		styles["steps"] = list.MustBuild()
		return styles
	}}
}

type stay struct {
	Days int    `json:"days"`
	Seat string `json:"seat,omitempty"`
}

var wordedKinds = map[string]worded{
	"text":     wordedAs(func(w string) mrtr.Question[string] { return mrtr.Elicit[string]("q", w) }, wire.Value("yes")),
	"optional": wordedAs(func(w string) mrtr.Question[*string] { return mrtr.Optional(mrtr.Elicit[string]("q", w)) }, wire.Value("yes")),
	"declined": wordedAs(func(w string) mrtr.Question[*string] { return mrtr.Optional(mrtr.Elicit[string]("q", w)) }, wire.Decline),
	"several":  wordedAs(func(w string) mrtr.Question[stay] { return mrtr.Elicit[stay]("q", w) }, wire.Accept(map[string]any{"days": 3})),
	"choice":   wordedAs(func(w string) mrtr.Question[string] { return mrtr.Choose("q", w, mrtr.Choices("yes", "no")...) }, wire.Value("yes")),
	"label": wordedAs(func(w string) mrtr.Question[string] {
		return mrtr.Choose("q", "?", mrtr.Choice{Value: "yes", Title: w})
	}, wire.Value("yes")),
	"choices":     wordedAs(func(w string) mrtr.Question[[]string] { return mrtr.ChooseSome("q", w, mrtr.Choices("yes", "no")...) }, wire.Value([]string{"yes"})),
	"yes":         wordedAs(func(w string) mrtr.Question[bool] { return mrtr.Confirm("q", w) }, wire.Value(true)),
	"reply":       wordedAs(func(w string) mrtr.Question[mrtr.Replied[bool]] { return mrtr.Reply(mrtr.Confirm("q", w)) }, wire.Value(true)),
	"description": wordedAs(func(w string) mrtr.Question[string] { return mrtr.Elicit[string]("q", "?").Describe(w) }, wire.Value("yes")),
	"schema": wordedAs(func(w string) mrtr.Question[float64] {
		return mrtr.ElicitAs[float64]("q", w, json.RawMessage(`{"type":"object","properties":{"q":{"type":"number"}}}`))
	}, wire.Value(1)),
	"raw": wordedAs(func(w string) mrtr.Question[*mcp.ElicitResult] {
		return mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: w, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)})
	}, wire.Value("yes")),
	"page": wordedAs(func(w string) mrtr.Question[struct{}] { return mrtr.ElicitURL("q", w, "https://example.org") }, wire.Raw(`{"action":"accept"}`)),
	"address": wordedAs(func(w string) mrtr.Question[struct{}] {
		return mrtr.ElicitURL("q", "Go on", "https://example.org/"+strings.ReplaceAll(w, " ", "-"))
	}, wire.Raw(`{"action":"accept"}`)),
	"sample": wordedAs(func(w string) mrtr.Question[*mcp.CreateMessageWithToolsResult] {
		return mrtr.Sample("q", &mcp.CreateMessageWithToolsParams{MaxTokens: 10, Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: w}}}}})
	}, wire.Raw(`{"role":"assistant","model":"m","content":{"type":"text","text":"yes"}}`)),
}

const agreedWords, otherWords = "Pay 5", "Pay 500"

// play calls the tool of a style, whose words change when the question changes at was answered, at
// another version of the handler if deployed. It returns in which words q was asked.
func (k worded) play(t *testing.T, style, way, changes string, deployed, anyWords bool) (out *wire.Outcome, asked []string, paid int) {
	words := agreedWords
	styles := k.styles(func() string { return words }, anyWords, func(context.Context, string) (string, error) { paid++; return words, nil })
	key := kit.Keys(1)
	var versions []mcp.ToolHandlerFor[kit.Input, kit.Output]
	for _, version := range []string{"v1", "v2"} {
		rt, _ := kit.NewRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: key}})
		versions = append(versions, mrtr.Tool(rt, styles[style], &mrtr.HandlerOptions{Version: version}))
	}
	serving := versions[0]
	server := kit.NewServer()
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, func(ctx context.Context, req *mcp.CallToolRequest, in kit.Input) (*mcp.CallToolResult, kit.Output, error) {
		if way == "task" {
			round := rendezvous.NewTaskRound()
			round.ReportTo(func(string) {})
			ctx = rendezvous.WithTaskRound(ctx, round)
		}
		return serving(ctx, req, in)
	})
	client := &wire.Options{Capabilities: wire.Everything}
	if way == "session" {
		client.Version = wire.Legacy
	}
	change := func(at string) {
		if at == changes {
			if words = otherWords; deployed {
				serving = versions[1]
			}
		}
	}
	out = kit.Call(t, kit.Connect(t, server, client), wire.Answers{
		"more": func(q wire.Question) any { change("more"); return wire.Value("x")(q) },
		"*": func(q wire.Question) any {
			in := agreedWords
			if strings.Contains(strings.ReplaceAll(string(q.Params), "-", " "), otherWords) {
				in = otherWords
			}
			asked = append(asked, in)
			change("q")
			return k.answer(q)
		},
	})
	return out, asked, paid
}

// A yes to other words opens nothing: for each kind of question, in each style and way, whether the
// words change while the question is out or after its answer, by a value or by a deployment. The
// question is asked in the new words, or the call ends.
func TestAYesToOtherWordsOpensNothing(t *testing.T) {
	cells := 0
	for kind, k := range wordedKinds {
		for _, style := range []string{"native", "given", "journal", "resumable", "coroutine", "steps"} {
			for _, way := range []string{"rounds", "session", "task"} {
				for _, changes := range []string{"q", "more"} {
					for _, deployed := range []bool{false, true} {
						if deployed && way == "session" {
							continue // its one request stays with the handler that began it
						}
						if cells++; !kit.Tried(cells) {
							continue
						}
						t.Run(fmt.Sprintf("%s/%s/%s/after %s/deployed %t", kind, style, way, changes, deployed), func(t *testing.T) {
							k.opensNothing(t, style, way, changes, deployed, style == "steps" && kind != "yes" && kind != "reply")
						})
					}
				}
			}
		}
	}
	require.Equal(t, len(wordedKinds)*6*2*(2*2+1), cells)
}

// opensNothing plays one call, in a style that states its question once if keeps.
func (k worded) opensNothing(t *testing.T, style, way, changes string, deployed, keeps bool) {
	out, asked, paid := k.play(t, style, way, changes, deployed, false)
	switch held := keeps || style == "coroutine" || style == "resumable"; {
	case held && !deployed: // it does not state its question again
		kit.Said(t, out, otherWords)
		require.Equal(t, []string{agreedWords}, asked)
	case paid > 0:
		kit.Said(t, out, otherWords)
		require.Equal(t, 1, paid)
		require.Equal(t, []string{agreedWords, otherWords}, asked)
	default:
		require.True(t, out.IsError)
		require.Equal(t, []string{agreedWords}, asked)
		require.Contains(t, out.Text, map[bool]string{
			false: `question "q" is not worded as it was`, true: "frame is gone",
		}[style == "coroutine"])
	}
}

// With AnyWords the answer stands, in every style.
func TestAnyWords(t *testing.T) {
	cells := 0
	for kind, k := range wordedKinds {
		for _, style := range []string{"native", "given", "journal", "resumable", "steps"} {
			for _, changes := range []string{"q", "more"} {
				for _, deployed := range []bool{false, true} {
					if cells++; !kit.Tried(cells) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/after %s/deployed %t", kind, style, changes, deployed), func(t *testing.T) {
						out, asked, paid := k.play(t, style, "rounds", changes, deployed, true)
						require.False(t, out.IsError, out.Text)
						require.Equal(t, []string{agreedWords}, asked)
						require.Equal(t, 1, paid)
					})
				}
			}
		}
	}
}

// Of a choice the label that was chosen counts: others may come and go around it.
func TestOtherChoicesMayComeAndGo(t *testing.T) {
	choice := func(value, title string) mrtr.Choice { return mrtr.Choice{Value: value, Title: title} }
	before := []mrtr.Choice{choice("a", "Aisle"), choice("b", "Window")}
	for explanation, c := range map[string]struct {
		after  []mrtr.Choice
		stands bool
	}{
		"one more":            {append(before[:2:2], choice("c", "Middle")), true},
		"one less":            {before[:1], true},
		"another order":       {[]mrtr.Choice{before[1], before[0]}, true},
		"another label":       {[]mrtr.Choice{before[0], choice("b", "Gallery")}, true},
		"its label changes":   {[]mrtr.Choice{choice("a", "Window"), choice("b", "Aisle")}, false},
		"it is taken away":    {before[1:], false},
		"its value is reused": {[]mrtr.Choice{choice("a", "Aisle, 500"), before[1]}, false},
	} {
		for name := range wordStyles(func(kit.Input) mrtr.Question[string] { return kit.Units }) {
			for _, some := range []bool{false, true} {
				now := before
				style := wordStyles(func(kit.Input) mrtr.Question[string] { return mrtr.Choose("q", "Which?", now...) })[name]
				answer := any("a")
				if some {
					style = mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
						return kit.Output{Said: strings.Join(kit.Ask(s, mrtr.ChooseSome("q", "Which?", now...)), " ")}, nil
					}))
					answer = []string{"a"}
				}
				key := kit.Keys(1)
				serve := func(version string) *wire.Client {
					rt, _ := kit.NewRuntime(t, &mrtr.Options{State: &statecodec.Options{Keys: key}})
					return kit.Connect(t, kit.ServeStyle(rt, style, &mrtr.HandlerOptions{Version: version}), nil)
				}
				first := kit.Send(t, serve("v1"), wire.Request{Name: "tool"})
				now = c.after
				last := kit.Send(t, serve("v2"), wire.Request{Name: "tool", State: first.State, Responses: map[string]any{"q": wire.Value(answer)(first.Asks[0])}})
				require.Equal(t, c.stands, !last.Incomplete(), "%s/%s: %s", explanation, name, last.Result)
			}
		}
	}
}

// A question that is worded anew in each round is a mistake, found in the second.
func TestAQuestionThatIsNeverWordedAlike(t *testing.T) {
	for kind, k := range wordedKinds {
		for _, style := range []string{"native", "given"} {
			made := 0
			styles := k.styles(func() string { made++; return fmt.Sprint("Pay ", made) }, false, nil)
			rt, seen := kit.NewRuntime(t, nil)
			out := kit.Call(t, kit.Connect(t, kit.ServeStyle(rt, styles[style], nil), &wire.Options{Capabilities: wire.Everything}), wire.Answers{"*": k.answer})
			require.True(t, out.IsError, kind)
			require.ErrorContains(t, seen.Of(observe.CallStopped)[0].Err, `mrtr: question "q" is worded anew in every round`, kind)
			require.LessOrEqual(t, out.Rounds, 3, kind)
			require.LessOrEqual(t, seen.Entries(), 3, kind)
		}
	}
}
