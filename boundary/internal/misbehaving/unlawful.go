package misbehaving

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// unlawful are the tools whose result marshals and is against the specification.
func unlawful() []Case {
	note := func(a mcp.Annotations) mcp.ToolHandler {
		return Returns(Content(&mcp.TextContent{Text: "a", Annotations: &a}))
	}
	deep := json.RawMessage(strings.Repeat("[", 1200) + strings.Repeat("]", 1200))
	form := func(schema any) mcp.ToolHandler {
		return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses != nil {
				return Text("answered"), nil
			}
			return asks(&mcp.ElicitParams{Message: "?", RequestedSchema: schema}), nil
		}
	}
	return []Case{
		{Name: "structured_not_utf8", Explanation: "raw JSON that is not UTF-8", Raw: Returns(Structured(json.RawMessage("{\"a\":\"\xff\"}"))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_not_utf8_marshalled", Explanation: "the same from a MarshalJSON", Raw: Returns(Structured(marshaler(func() ([]byte, error) { return []byte("{\"a\":\"\xff\"}"), nil }))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_deep", Explanation: "nested past a thousand, where many decoders give up", Raw: Returns(Structured(deep)), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "structured_huge_number", Explanation: "a number that no float64 holds", Raw: Returns(Structured(json.RawMessage(`{"a":1e999}`))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "meta_not_utf8", Explanation: "_meta that is not UTF-8", Raw: Returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": json.RawMessage("\"\xff\"")}}), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "meta_deep", Explanation: "_meta nested past a thousand", Raw: Returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": deep}}), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "block_meta_not_utf8", Explanation: "the _meta of a block that is not UTF-8", Raw: Returns(Content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": json.RawMessage("\"\xff\"")}})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "block_meta_deep", Explanation: "nested past a thousand", Raw: Returns(Content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": deep}})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "meta_large", Explanation: "_meta far over any limit", Raw: Returns(&mcp.CallToolResult{Content: Text("a").Content, Meta: mcp.Meta{"x": strings.Repeat("x", 4*maxResultBytes)}}), Want: probe.Complete, Elsewhere: probe.ProtocolError},

		{Name: "structured_array", Explanation: "before 2026-07-28 structured content is an object", Raw: Returns(Structured([]int{1})), Want: probe.Complete},
		{Name: "structured_alone_array", Explanation: "an array without any content", Raw: Returns(&mcp.CallToolResult{StructuredContent: []int{1}}), Want: probe.Complete},
		{Name: "structured_null", Explanation: "null", Raw: Returns(Structured(json.RawMessage(`null`))), Want: probe.Complete},
		{Name: "structured_text", Explanation: "a string", Raw: Returns(Structured("text")), Want: probe.Complete},
		{Name: "output_array", Explanation: "an output schema that describes an array", Raw: Returns(Structured([]int{1})), Output: &jsonschema.Schema{Type: "array"}, Want: probe.Complete},
		{Name: "output_any", Explanation: "one that does not say what it describes", Raw: Returns(Structured(3)), Output: &jsonschema.Schema{Description: "anything"}, Want: probe.Complete},

		{Name: "annotation_priority_high", Explanation: "the priority is at most 1", Raw: note(mcp.Annotations{Priority: 2}), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_priority_low", Explanation: "and at least 0", Raw: note(mcp.Annotations{Priority: -1}), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_audience", Explanation: "an audience of robots", Raw: note(mcp.Annotations{Audience: []mcp.Role{"robot"}}), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_time", Explanation: "yesterday is no ISO 8601 time", Raw: note(mcp.Annotations{LastModified: "yesterday"}), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_good", Explanation: "lawful annotations pass", Raw: note(mcp.Annotations{Audience: []mcp.Role{"user"}, LastModified: "2026-01-02T15:04:05Z", Priority: 1}), Want: probe.Complete},
		{Name: "icon_theme", Explanation: "an icon with a theme that there is not", Raw: Returns(Content(&mcp.ResourceLink{URI: "file:///a", Name: "a", Icons: []mcp.Icon{{Source: "https://example.com/a.png", Theme: "blue"}}})), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},

		{Name: "form_none", Asks: true, Explanation: "a form without a schema gets one without fields", Raw: form(nil), Want: probe.InputRequired, Legacy: probe.ErrorResult},
		{Name: "form_text", Asks: true, Explanation: "a schema that is a string", Raw: form("text"), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "form_array", Asks: true, Explanation: "a form for an array", Raw: form(map[string]any{"type": "array"}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "form_nested", Asks: true, Explanation: "a form within the form", Raw: form(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "object"}}}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "form_panics", Asks: true, Explanation: "a schema whose MarshalJSON panics", Raw: form(marshaler(func() ([]byte, error) { panic("boom") })), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "form_not_utf8", Asks: true, Explanation: "a schema that is not UTF-8", Raw: form(json.RawMessage("{\"type\":\"object\",\"properties\":{},\"title\":\"\xff\"}")), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "question_mode", Asks: true, Explanation: "a mode that there is not", Raw: Returns(asks(&mcp.ElicitParams{Mode: "dance", Message: "?"})), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "question_no_url", Asks: true, Explanation: "a visit to nowhere", Raw: Returns(asks(&mcp.ElicitParams{Mode: "url", Message: "?"})), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "sampling_nil_message", Asks: true, Explanation: "a nil message for the model", Raw: Returns(asks(&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{nil}})), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "sampling_role", Asks: true, Explanation: "a message of a robot", Raw: Returns(asks(&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{{Role: "robot", Content: Text("a").Content}}})), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "state_not_utf8", Asks: true, Explanation: "a state that would come back changed", Raw: Returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "\xff"}), Want: probe.ErrorResult, Legacy: probe.ErrorResult},

		{Name: "arguments_overflow", Explanation: "an integer beyond 64 bits", Typed: Outputs("fine"), Wire: `{"days":1e30}`, Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_time", Explanation: "a time that is none", Add: addTimed, Wire: `{"at":"s3cret"}`, Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_many", Explanation: "thousands of unknown names", Typed: Outputs("fine"), Wire: manyNames(5000), Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_ansi", Explanation: "a name that would write on the terminal", Typed: Outputs("fine"), Wire: `{"\u001b[31m\n\u202e":1}`, Want: probe.ErrorResult, Type: "validation"},
		{Name: "arguments_deep", Explanation: "arguments nested very deep", Typed: Outputs("fine"), Wire: `{"place":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}`, Want: probe.ErrorResult, Type: "validation"},
	}
}

type timed struct {
	At time.Time `json:"at"`
}

func addTimed(s *mcp.Server, tool *mcp.Tool) {
	mcp.AddTool(s, tool, func(context.Context, *mcp.CallToolRequest, timed) (*mcp.CallToolResult, any, error) {
		return Text("fine"), nil, nil
	})
}

func manyNames(n int) string {
	args := map[string]int{}
	for i := range n {
		args["name"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(i).String()] = i
	}
	data, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return string(data)
}
