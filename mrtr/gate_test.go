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
