package mrtr_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

var (
	visitPage   = mrtr.ElicitURL("visit", "Please log in.", "https://example.org/login")
	sample      = mrtr.Sample("sample", &mcp.CreateMessageWithToolsParams{MaxTokens: 10, Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "hi"}}}}})
	sampleTools = mrtr.Sample("sample", &mcp.CreateMessageWithToolsParams{MaxTokens: 10, Tools: []*mcp.Tool{{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}}})
	roots       = mrtr.Roots("roots")
)

const (
	needsForm  = `{"elicitation":{"form":{}}}`
	needsURL   = `{"elicitation":{"url":{}}}`
	needsModel = `{"sampling":{}}`
	needsTools = `{"sampling":{"tools":{}}}`
	needsRoots = `{"roots":{}}`
)

var gates = []struct {
	explanation  string
	question     mrtr.AnyQuestion
	capabilities wire.Capabilities
	required     string // "" if it may be asked
}{
	{"nothing declared", kit.Units, wire.Nothing, needsForm},
	{"url is not form", kit.Units, wire.URLOnly, needsForm},
	{"form", kit.Units, wire.FormOnly, ""},
	{"elicitation without saying which is form", kit.Units, `{"elicitation":{}}`, ""},
	{"elicitation without saying which is not url", visitPage, `{"elicitation":{}}`, needsURL},
	{"nothing declared, url", visitPage, wire.Nothing, needsURL},
	{"form is not url", visitPage, wire.FormOnly, needsURL},
	{"url", visitPage, wire.URLOnly, ""},
	{"no sampling", sample, wire.FormOnly, needsModel},
	{"sampling", sample, `{"sampling":{}}`, ""},
	{"sampling without tools", sampleTools, `{"sampling":{}}`, needsTools},
	{"sampling with tools", sampleTools, `{"sampling":{"tools":{}}}`, ""},
	{"no roots", roots, wire.FormOnly, needsRoots},
	{"roots", roots, `{"roots":{}}`, ""},
}

func TestNobodyIsAskedWhatTheyDidNotDeclare(t *testing.T) {
	for _, gate := range gates {
		t.Run(gate.explanation, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			handler := func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
				return mrtr.Need(gate.question), kit.Output{}, nil
			}
			client := kit.Connect(t, kit.ServeTool(rt, handler, nil), &wire.Options{Capabilities: gate.capabilities})
			reply := kit.Send(t, client, wire.Request{Name: "tool"})
			if gate.required == "" {
				require.Nil(t, reply.Error)
				require.Len(t, reply.Asks, 1)
				return
			}
			kit.RefusedWith(t, reply.Error, -32021)
			require.JSONEq(t, `{"requiredCapabilities":`+gate.required+`}`, string(reply.Error.Data))
			require.Empty(t, seen.Of(observe.QuestionsAsked))
		})
	}
}

// charging is a tool in every style that charges and then asks for the units.
func charging(charge func()) map[string]mrtr.Style[kit.Input, kit.Output] {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		kit.Once(s, "charge", func(context.Context, string) (bool, error) { charge(); return true, nil })
		return kit.Output{Said: kit.Ask(s, kit.Units)}, nil
	})
	inPlace := mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		charge()
		v, err := kit.Units.AskOver(ctx, c.Session())
		return nil, kit.Output{Said: v}, err
	})
	styles["by version"] = mrtr.ByVersion(styles["native"], inPlace)
	return styles
}

// chargingSteps is the same tool in steps, which know by themselves which capabilities they
// always ask.
func chargingSteps(charge func()) mrtr.Style[kit.Input, kit.Output] {
	var b steps.List[kit.Input, kit.Output]
	steps.Do(&b, "charge", func(context.Context, *steps.At[kit.Input], string) (bool, error) { charge(); return true, nil })
	unit := steps.Always(&b, kit.Units)
	b.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
		return kit.Output{Said: unit.Of(at)}, nil
	})
	return b.MustBuild()
}

// A client that cannot be asked a question of every call is refused before anything
// has happened, with the words that it would hear at the question, in both eras
// and in every style.
func TestNeedsRefuseBeforeAnythingHappens(t *testing.T) {
	charged := 0
	charge := func() { charged++ }
	listed := &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{kit.Units}}
	type tool struct {
		style mrtr.Style[kit.Input, kit.Output]
		opts  *mrtr.HandlerOptions
	}
	tools := map[string]tool{"steps": {chargingSteps(charge), nil}, "steps for legacy clients": {mrtr.ByVersion(charging(charge)["native"], chargingSteps(charge)), listed}}
	for name, style := range charging(charge) {
		tools[name] = tool{style, listed}
	}
	for name, tool := range tools {
		t.Run(name, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			server := kit.ServeStyle(rt, tool.style, tool.opts)
			charged = 0
			out := kit.Call(t, kit.Connect(t, server, &wire.Options{Capabilities: wire.URLOnly}), nil)
			kit.RefusedWith(t, out.Error, -32021)
			require.JSONEq(t, `{"requiredCapabilities":`+needsForm+`}`, string(out.Error.Data))
			out = kit.Call(t, kit.Connect(t, server, kit.LegacyMute), nil)
			kit.FailsWith(t, out, noForm)
			out = kit.Call(t, kit.Connect(t, server, kit.NegotiatedDown), nil)
			kit.FailsWith(t, out, noStream)
			require.Zero(t, charged, "charged a client that could not be asked")
			require.Zero(t, seen.Entries())
			require.Len(t, seen.Of(observe.CallStopped), 3)

			for _, opts := range []*wire.Options{nil, kit.Legacy} {
				charged = 0
				kit.Said(t, kit.Call(t, kit.Connect(t, server, opts), wire.Answers{"units": wire.Value("metric")}), "metric")
				require.Equal(t, 1, charged)
			}
		})
	}
}

// Where a default stands in, nobody is refused.
func TestNeedsHeedDefaultsAndEras(t *testing.T) {
	withDefault := &mrtr.HandlerOptions{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults, Needs: []mrtr.AnyQuestion{kit.Units.Default("metric")}}
	rt, _ := kit.NewRuntime(t, nil)
	server := kit.ServeTool(rt, kit.Asking(kit.Units.Default("metric"), kit.Itself), withDefault)
	kit.Said(t, kit.Call(t, kit.Connect(t, server, kit.LegacyMute), nil), "metric")
	kit.Said(t, kit.Call(t, kit.Connect(t, server, kit.Legacy), nil), "metric")
	require.EqualValues(t, -32021, kit.Call(t, kit.Connect(t, server, &wire.Options{Capabilities: wire.Nothing}), nil).Error.Code)

	// The questions that the steps for one era always ask are not needs of the other.
	silent := mrtr.Native(func(context.Context, *mrtr.Call, kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
		return nil, kit.Output{Said: "x"}, nil
	})
	steps := chargingSteps(func() {})
	for explanation, style := range map[string]mrtr.Style[kit.Input, kit.Output]{"steps": mrtr.ByVersion(silent, steps), "steps in steps": mrtr.ByVersion(silent, mrtr.ByVersion(silent, steps))} {
		rt, _ = kit.NewRuntime(t, nil)
		server = kit.NewServer()
		mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, style, nil))
		kit.Said(t, kit.Call(t, kit.Connect(t, server, &wire.Options{Capabilities: wire.Nothing}), nil), "x")
		require.Equal(t, noForm, kit.Call(t, kit.Connect(t, server, kit.LegacyMute), nil).Text, explanation)
	}
}

// A question in Needs that refuses nobody is a mistake.
func TestNeedsThatDoNothingAreRefused(t *testing.T) {
	rt, _ := kit.NewRuntime(t, nil)
	for want, q := range map[string]mrtr.AnyQuestion{
		"mrtr: HandlerOptions.Needs has a question that is Known: nobody is asked it":                         mrtr.Known("x"),
		`mrtr: HandlerOptions.Needs has question "sure", which goes on without an answer: it refuses nobody`:  mrtr.Confirm("sure", "Sure?"),
		`mrtr: HandlerOptions.Needs has question "units", which goes on without an answer: it refuses nobody`: mrtr.Optional(kit.Units),
		"mrtr: a question is nil":                  nil,
		`mrtr: question "q": its message is empty`: mrtr.Elicit[string]("q", ""),
	} {
		require.PanicsWithError(t, want, func() {
			mrtr.Tool(rt, mrtr.Native(kit.Asking(kit.Units, kit.Itself)), &mrtr.HandlerOptions{Needs: []mrtr.AnyQuestion{q}})
		})
	}
}
