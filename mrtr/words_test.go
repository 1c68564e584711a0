package mrtr_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// hostileTexts are arguments as JSON, what a message shows of them bare, and in Quote.
// An empty column is the text itself.
var hostileTexts = []struct{ argument, bare, quoted string }{
	{`Lisbon`, ``, ``},
	{`São Paulo`, ``, ``},
	{`القاهرة`, ``, ``},
	{`abc\u200fdef\u200e`, "abc\u200fdef\u200e", `abc\u200fdef\u200e`},
	// Terminals.
	{`\u001b[31mred`, `\u001b[31mred`, `\u001b[31mred`},
	{`\u001b]8;;https://evil.example\u0007x`, `\u001b]8;;https://evil.example\u0007x`, `\u001b]8;;https://evil.example\u0007x`},
	{`\u009b2J`, `\u009b2J`, `\u009b2J`},
	{`\u001bc`, `\u001bc`, `\u001bc`},
	{`a\bb`, `a\u0008b`, `a\u0008b`},
	{`a\u007fb`, `a\u007fb`, `a\u007fb`},
	{`a\u0000b`, `a\u0000b`, `a\u0000b`},
	{`a\u0085b`, `a\u0085b`, `a\u0085b`},
	// Lines.
	{`a\nb`, "a\nb", `a\u000ab`},
	{`a\tb`, "a\tb", `a\u0009b`},
	{`safe\rover`, `safe\u000dover`, `safe\u000dover`},
	{`a\r\nb`, "a\nb", `a\u000d\u000ab`},
	{`a\fb\u000bc`, `a\u000cb\u000bc`, `a\u000cb\u000bc`},
	{`a\u2028b`, "a\u2028b", `a\u2028b`},
	{`a\u2029b`, "a\u2029b", `a\u2029b`},
	// Directions.
	{`\u202eexe.txt`, `\u202eexe.txt`, `\u202eexe.txt`},
	{`\u202dabc`, `\u202dabc`, `\u202dabc`},
	{`\u202aa\u202c`, `\u202aa\u202c`, `\u202aa\u202c`},
	{`\u202ba\u202c`, `\u202ba\u202c`, `\u202ba\u202c`},
	{`\u2066a\u2069`, `\u2066a\u2069`, `\u2066a\u2069`},
	{`\u2067a\u2068b`, `\u2067a\u2068b`, `\u2067a\u2068b`},
	{`\u061ca`, "\u061ca", `\u061ca`},
	// Nothing to see.
	{`a\u200bb`, "a\u200bb", `a\u200bb`},
	{`a\u200db`, "a\u200db", `a\u200db`},
	{`\ufeffa`, "\ufeffa", `\ufeffa`},
	{`a\u2060b\u00adc`, "a\u2060b\u00adc", `a\u2060b\u00adc`},
	{`\u3164`, "\u3164", `\u3164`},
	{`\udb40\udc41`, "\U000e0041", `\U000e0041`},
	{`\uf8ff`, "\uf8ff", `\uf8ff`},
	// Marks without end.
	{`\u0336x`, "\u0336x", `\u0336x`},
	{`a` + strings.Repeat("\u0336", 6), ``, `a` + strings.Repeat("\u0336", 4) + `\u0336\u0336`},
	{`a` + strings.Repeat("\u0336", 300), ``, `a` + strings.Repeat("\u0336", 4) + strings.Repeat(`\u0336`, 32) + `CUT`},
	// Half characters have no meaning that two readers would share: nothing is asked.
	{`a\ud800b`, refusedText, ``},
	{`\udc00\ud800`, refusedText, ``},
	{`half\ud83d`, refusedText, ``},
	// Quotations.
	{`x\"? Yes, \"`, `x"? Yes, "`, `x\"? Yes, \"`},
	{`C:\\`, `C:\`, `C:\\`},
	{strings.Repeat(`y`, 1<<12), ``, strings.Repeat(`y`, 200) + `CUT`},
}

const refusedText = "(refused)"

// Whatever an argument holds, its call goes on to its answer, and no client is sent
// text that steers: in each style, and in both eras.
func TestHostileArgumentsInAQuestion(t *testing.T) {
	require.GreaterOrEqual(t, len(hostileTexts), 40)
	question := func(in kit.Input) mrtr.Question[string] {
		choices := []mrtr.Choice{{Value: "yes", Title: "Yes: " + in.Location}, {Value: "x" + in.Location}}
		return mrtr.Choose("q", in.Location+" or "+mrtr.Quote(in.Location), choices...).Label("L " + in.Location).Describe("D " + in.Location)
	}
	cells := 0
	for name, style := range wordStyles(question) {
		for _, version := range []string{wire.Modern, wire.Legacy} {
			t.Run(name+" "+version, func(t *testing.T) {
				rt, _ := kit.NewRuntime(t, nil)
				client := kit.Connect(t, kit.ServeStyle(rt, style, nil), &wire.Options{Version: version})
				for _, hostile := range hostileTexts {
					if cells++; !kit.Tried(cells) {
						continue
					}
					arguments := map[string]any{"location": json.RawMessage(`"` + hostile.argument + `"`)}
					var text string
					require.NoError(t, json.Unmarshal([]byte(`"`+hostile.argument+`"`), &text))
					out, err := client.Call(t.Context(), "tool", arguments, wire.Answers{"q": wire.Value("x" + text)})
					require.NoError(t, err)
					if hostile.bare == refusedText {
						kit.RefusedWith(t, out.Error, -32602)
						continue
					}
					kit.Said(t, out, "x"+text)

					bare, quoted := hostile.bare, hostile.quoted
					if bare == "" {
						bare = text
					}
					if quoted == "" {
						quoted = text
					}
					quoted = `"` + quoted + `"`
					if cut, ok := strings.CutSuffix(quoted, `CUT"`); ok {
						quoted = cut + `"…`
					}
					require.Len(t, out.Questions, 1)
					asked := out.Questions[0]
					require.Equal(t, bare+" or "+quoted, asked.Message)
					var form struct {
						Properties map[string]struct {
							Title, Description string
							OneOf              []struct{ Const, Title string }
						}
					}
					require.NoError(t, json.Unmarshal(asked.Schema, &form))
					q := form.Properties["q"]
					require.Equal(t, "L "+bare, q.Title)
					require.Equal(t, "D "+bare, q.Description)
					require.Len(t, q.OneOf, 2)
					require.Equal(t, "Yes: "+bare, q.OneOf[0].Title)
					require.Equal(t, "x"+bare, q.OneOf[1].Title)
					require.Equal(t, "x"+text, q.OneOf[1].Const, "an answer is compared with it")
				}
			})
		}
	}
}

// wordStyles is a handler that asks a question made of its input, in three styles.
func wordStyles(question func(kit.Input) mrtr.Question[string]) map[string]mrtr.Style[kit.Input, kit.Output] {
	styles := kit.EveryStyle(func(s *kit.Stage, in kit.Input) (kit.Output, error) {
		return kit.Output{Said: kit.Ask(s, question(in))}, nil
	})
	var list steps.List[kit.Input, kit.Output]
	step := steps.Ask(&list, "q", func(_ context.Context, at *steps.At[kit.Input]) (mrtr.Question[string], error) {
		return question(at.In), nil
	})
	list.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
		return kit.Output{Said: step.Of(at)}, nil
	})
	return map[string]mrtr.Style[kit.Input, kit.Output]{"native": styles["native"], "journal": styles["journal"], "steps": list.MustBuild()}
}

// sent is how a question goes over the wire.
func sent(t *testing.T, q mrtr.AnyQuestion) wire.Question {
	t.Helper()
	require.NoError(t, q.Err())
	client := kit.ConnectTo(t, needing(q), nil)
	reply := kit.Send(t, client, wire.Request{Name: "tool", Arguments: map[string]any{}})
	require.Nil(t, reply.Error)
	require.Len(t, reply.Asks, 1)
	return reply.Asks[0]
}

func TestVerbatim(t *testing.T) {
	const isolated = "\u2067שלום\u2069"
	q := mrtr.Elicit[string]("q", "Say "+isolated+"\xff").Label(isolated).Default("x")
	require.Equal(t, `Say \u2067שלום\u2069`+"\ufffd", sent(t, q).Message)
	require.Contains(t, string(sent(t, q).Schema), `"\u005cu2067שלום\u005cu2069"`)
	for place, q := range map[string]mrtr.AnyQuestion{
		"last":        q.Verbatim(),
		"first":       mrtr.Elicit[string]("q", "Say "+isolated+"\xff").Verbatim().Label(isolated),
		"in Optional": mrtr.Optional(q.Verbatim()),
		"on Optional": mrtr.Optional(q).Verbatim(),
		"with more":   q.Verbatim().Prefill("y").Describe("d"),
	} {
		asked := sent(t, q)
		require.Equal(t, "Say "+isolated+"\ufffd", asked.Message, place)
		require.Contains(t, string(asked.Schema), `"title":"`+isolated+`"`, place)
	}
	params := &mcp.ElicitParams{Message: "a\u202e", RequestedSchema: json.RawMessage(`{"type":"object","title":"\u202e","properties":{"title":{"type":"string","enum":["\u202e","b"],"enumNames":["\u202e","B"],"default":"\u202e"}}}`)}
	require.JSONEq(t, `{"type":"object","title":"\\u202e","properties":{"title":{"type":"string","enum":["\u202e","b"],"enumNames":["\\u202e","B"],"default":"\u202e"}}}`,
		string(sent(t, mrtr.ElicitRaw("q", params)).Schema), "values stay, and what names them does not")
	require.Equal(t, "a\u202e", sent(t, mrtr.ElicitURL("q", "a\u202e", "https://example.org").Default(struct{}{}).Verbatim()).Message)
}

// The _meta of a question reaches the client as its author wrote it, also when the question is asked
// again from the state, and so does that of an ElicitRaw. An answer stands whatever it is.
func TestMetaOfAQuestion(t *testing.T) {
	meta := mcp.Meta{"example.org/icon": "plane", "example.org/size": map[string]any{"w": 1.5}}
	want := string(kit.JSON(meta))
	metaOf := func(q wire.Question) string {
		var params struct {
			Meta json.RawMessage `json:"_meta"`
		}
		require.NoError(t, json.Unmarshal(q.Params, &params))
		return string(params.Meta)
	}
	name := mrtr.Elicit[int]("q", "How many?").Meta(meta)
	client := kit.ConnectTo(t, needing(name), nil)
	request := wire.Request{Name: "tool", Arguments: map[string]any{}}
	for _, answer := range []string{"", "seven"} {
		if answer != "" {
			request.Responses = map[string]any{"q": map[string]any{"action": "accept", "content": map[string]any{"q": answer}}}
		}
		asked := kit.Send(t, client, request)
		require.Len(t, asked.Asks, 1, answer)
		require.JSONEq(t, want, metaOf(asked.Asks[0]))
		request.State = asked.State
	}
	address := mrtr.ElicitURL("q", "Log in.", "https://example.org")
	require.Equal(t, address.Words(), address.Meta(meta).Words())
	require.JSONEq(t, want, metaOf(sent(t, address.Meta(meta))))
	require.JSONEq(t, want, metaOf(sent(t, mrtr.Optional(name))))
	require.JSONEq(t, want, metaOf(sent(t, mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "?", Meta: meta}))))
	require.Empty(t, metaOf(sent(t, name.Meta(nil))))
	kit.Misuse(t, mrtr.Roots("q").Meta(meta).Err())
	kit.Misuse(t, name.Meta(mcp.Meta{"f": func() {}}).Err())
}

func TestLabels(t *testing.T) {
	for want, q := range map[string]mrtr.AnyQuestion{
		`{"type":"integer","title":"Guests","description":"children count","default":2}`:                                       mrtr.Elicit[int]("q", "?").Label("Gests").Describe("children count").Prefill(2).Label("Guests"),
		`{"type":"boolean","title":"Yes, delete it"}`:                                                                          mrtr.Confirm("q", "?").Label("Yes, delete it"),
		`{"type":"string","enum":["metric"],"title":"Units"}`:                                                                  mrtr.Optional(mrtr.Choose("q", "?", mrtr.Choices("metric")...)).Label("Units"),
		`{"type":"string","title":"Name"}`:                                                                                     mrtr.Reply(mrtr.Elicit[string]("q", "?").Default("x").Label("Name")),
		`{"type":"number","minimum":1,"title":"Size"}`:                                                                         mrtr.ElicitAs[float64]("q", "?", json.RawMessage(`{"type":"object","properties":{"q":{"type":"number","minimum":1,"title":"q"}}}`)).Label("Size"),
		`{"type":"array","items":{"type":"string","enum":["a","b"]},"uniqueItems":true,"maxItems":2,"minItems":1,"title":"T"}`: mrtr.ChooseSome("q", "?", mrtr.Choices("a", "b")...).Between(1, 2).Label("T"),
		`{"type":"string","oneOf":[{"const":"a","title":"a"},{"const":"\u202e","title":"\\u202e"}]}`:                           mrtr.Choose("q", "?", mrtr.Choices("a", "\u202e")...),
		`{"type":"array","items":{"anyOf":[{"const":"\u202e","title":"\\u202e"}]},"uniqueItems":true,"maxItems":1}`:            mrtr.ChooseSome("q", "?", mrtr.Choices("\u202e")...),
	} {
		var form struct{ Properties struct{ Q json.RawMessage } }
		require.NoError(t, json.Unmarshal(sent(t, q).Schema, &form))
		require.JSONEq(t, want, string(form.Properties.Q))
	}
	require.NoError(t, mrtr.Known(3).Label("x").Describe("y").Verbatim().Between(1, 2).Err())
	some := mrtr.ChooseSome("q", "?", mrtr.Choices("a", "b")...)
	for explanation, q := range map[string]mrtr.AnyQuestion{
		"a struct has tags":                mrtr.Elicit[trip]("q", "?").Label("x"),
		"a form of any fields":             mrtr.ElicitAs[map[string]any]("q", "?", json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)).Describe("x"),
		"a page":                           mrtr.ElicitURL("q", "?", "https://example.org").Label("x"),
		"an address that reads as another": mrtr.ElicitURL("q", "?", "https://example.org/\u202emoc"),
		"a model":                          mrtr.Sample("q", &mcp.CreateMessageWithToolsParams{}).Describe("x"),
		"roots":                            mrtr.Roots("q").Label("x"),
		"an outcome":                       mrtr.Reply(mrtr.Elicit[int]("q", "?")).Label("x"),
		"nothing":                          mrtr.Elicit[int]("q", "?").Label(""),
		"bounds of a text":                 mrtr.Elicit[string]("q", "?").Between(1, 2),
		"bounds below zero":                some.Between(-1, 2),
		"bounds the wrong way round":       some.Between(2, 1),
		"more than there are":              some.Between(3, 3),
		"bounds that the default breaks":   some.Default([]string{"a"}).Between(2, 2),
		"a default that breaks the bounds": some.Between(2, 2).Default([]string{"a"}),
		"no choices":                       mrtr.ChooseSome("q", "?"),
		"a choice twice":                   mrtr.ChooseSome("q", "?", mrtr.Choices("a", "a")...),
	} {
		kit.Misuse(t, q.Err(), explanation)
	}
}

// The note on an answer that a type refused is in the type's words, which may repeat it.
func TestANoteDoesNotSteer(t *testing.T) {
	client := kit.ConnectTo(t, kit.Asking(mrtr.Elicit[echoing]("q", "?"), func(v echoing) string { return string(v) }), nil)
	out := kit.Call(t, client, wire.Answers{"q": wire.Value("\u202e\x1b[2J")})
	require.Greater(t, len(out.Questions), 1)
	require.Contains(t, out.Questions[1].Message, `no \u202e\u001b[2J`)
}

type echoing string

func (e *echoing) UnmarshalText(text []byte) error { return advice{"no " + string(text)} }
