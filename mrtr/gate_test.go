package mrtr_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

var (
	visit       = mrtr.ElicitURL("visit", "Please log in.", "https://example.org/login")
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
	{"nothing declared", units, wire.Nothing, needsForm},
	{"url is not form", units, wire.URLOnly, needsForm},
	{"form", units, wire.FormOnly, ""},
	{"elicitation without saying which is form", units, `{"elicitation":{}}`, ""},
	{"elicitation without saying which is not url", visit, `{"elicitation":{}}`, needsURL},
	{"nothing declared, url", visit, wire.Nothing, needsURL},
	{"form is not url", visit, wire.FormOnly, needsURL},
	{"url", visit, wire.URLOnly, ""},
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
			rt, seen := newRuntime(t, nil)
			handler := func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
				return mrtr.Need(gate.question), output{}, nil
			}
			client := connect(t, serveTool(rt, handler, nil), &wire.Options{Capabilities: gate.capabilities})
			reply, err := client.Send(context.Background(), wire.Request{Name: "tool"})
			require.NoError(t, err)
			if gate.required == "" {
				require.Nil(t, reply.Error)
				require.Len(t, reply.Asks, 1)
				return
			}
			require.NotNil(t, reply.Error)
			require.EqualValues(t, -32021, reply.Error.Code)
			require.JSONEq(t, `{"requiredCapabilities":`+gate.required+`}`, string(reply.Error.Data))
			require.Empty(t, seen.of(mrtr.QuestionsAsked))
		})
	}
}

// Where one question of a round cannot be asked, none is.
func TestTheGateIsForTheWholeRound(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	handler := func(context.Context, *mrtr.Call, input) (*mrtr.IncompleteResult, output, error) {
		return mrtr.Need(units, visit), output{}, nil
	}
	client := connect(t, serveTool(rt, handler, nil), &wire.Options{Capabilities: wire.FormOnly})
	out := call(t, client, nil)
	require.Equal(t, 1, out.Rounds)
	require.NotNil(t, out.Error)
	require.JSONEq(t, `{"requiredCapabilities":`+needsURL+`}`, string(out.Error.Data))
}

func TestTheGateOfPromptsAndResources(t *testing.T) {
	rt, _ := newRuntime(t, nil)
	client := connect(t, everything(rt), &wire.Options{Capabilities: wire.URLOnly})
	for _, m := range methods {
		reply, err := client.Send(context.Background(), m.first)
		require.NoError(t, err)
		require.NotNil(t, reply.Error, m.first.Method)
		require.EqualValues(t, -32021, reply.Error.Code)
		require.JSONEq(t, `{"requiredCapabilities":`+needsForm+`}`, string(reply.Error.Data))
	}
}

// A lenient question goes on as after a decline.
func TestConfirmAndOptionalNeedNoCapability(t *testing.T) {
	rt, seen := newRuntime(t, nil)
	sure := mrtr.Confirm("sure", "Really?")
	maybe := mrtr.Optional(units)
	model := mrtr.Optional(sample)
	handler := func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		yes, ok1 := mrtr.Answer(c, sure)
		unit, ok2 := mrtr.Answer(c, maybe)
		message, ok3 := mrtr.Answer(c, model)
		if !ok1 || !ok2 || !ok3 {
			return mrtr.Need(sure, maybe, model), output{}, nil
		}
		require.False(t, yes)
		require.Nil(t, unit)
		require.Nil(t, message)
		return nil, output{"went on"}, nil
	}
	client := connect(t, serveTool(rt, handler, nil), &wire.Options{Capabilities: wire.Nothing})
	out := call(t, client, nil)
	said(t, out, "went on")
	require.Equal(t, 1, out.Rounds)
	require.Equal(t, 2, seen.entries(), "entered again at once")
}
