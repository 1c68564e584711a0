package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/judge"
)

// afterwards are the tools whose code would run, or whose values would change, after
// the handler has returned.
func afterwards(release <-chan struct{}) []badCase {
	return []badCase{
		{Name: "params_nil", Explanation: "the request belongs to the handler, which sets its Params to nil", Raw: does(func(req *mcp.CallToolRequest) *mcp.CallToolResult { req.Params = nil; return text("fine") }), Want: judge.Complete},
		{Name: "params_nil_panic", Explanation: "and panics then", Raw: does(func(req *mcp.CallToolRequest) *mcp.CallToolResult { req.Params = nil; panic("boom") }), Want: judge.ErrorResult, Type: "internal"},
		{Name: "params_nil_error", Explanation: "or fails", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			req.Params = nil
			return nil, errors.New("no")
		}, Want: judge.ErrorResult, Type: "execution"},
		{Name: "params_nil_asks", Asks: true, Explanation: "or has asked before", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses == nil {
				return asking(), nil
			}
			req.Params = nil
			return text("answered"), nil
		}, Want: judge.InputRequired, Legacy: judge.ErrorResult, Type: "execution"},
		{Name: "session_nil", Explanation: "or forgets its session", Raw: does(func(req *mcp.CallToolRequest) *mcp.CallToolResult {
			req.Extra, req.Params.Name, req.Params.Meta = nil, "other", nil
			return text("fine")
		}), Want: judge.Complete},

		{Name: "hang_in_error", Explanation: "an error whose Error never returns", Raw: fails(saying(func() string { <-release; return "late" })), Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_in_error_typed", Explanation: "the same from a typed handler", Typed: raises(saying(func() string { <-release; return "late" })), Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_in_unwrap", Explanation: "an error whose chain never ends", Raw: fails(&unwrapping{func() error { <-release; return nil }}), Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_in_panic_value", Explanation: "a panic with such an error", Raw: panics(saying(func() string { <-release; return "late" })), Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_in_meta", Explanation: "a _meta whose MarshalJSON never returns", Raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": hanging(release)}}), Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_in_question", Asks: true, Explanation: "a form whose MarshalJSON never returns", Raw: returns(asks(&mcp.ElicitParams{Message: "?", RequestedSchema: hanging(release)})), Want: judge.ErrorResult},
		{Name: "error_exits", Explanation: "an error whose Error ends the goroutine", Raw: fails(saying(func() string { runtime.Goexit(); return "" })), Want: judge.ErrorResult, Type: "internal"},
		{Name: "error_twice", Explanation: "an error whose Error panics the second time", Raw: fails(saying(second(func() string { return "no" }))), Want: judge.ErrorResult},
		{Name: "error_described_badly", Explanation: "an error whose description of itself panics", Typed: raises(describedBadly{}), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_value_panics", Explanation: "a panic with an error whose Error panics", Raw: panics(saying(func() string { panic("again") })), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_value_exits", Explanation: "a panic with an error whose Error ends the goroutine", Raw: panics(saying(func() string { runtime.Goexit(); return "" })), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_runtime", Explanation: "an index out of range", Raw: makes(func() *mcp.CallToolResult { var none []int; _ = none[len(none)]; return nil }), Want: judge.ErrorResult, Type: "internal"},

		{Name: "twice_structured", Explanation: "structured content whose MarshalJSON panics the second time", Raw: makes(func() *mcp.CallToolResult { return structured(twice(`{"a":1}`)) }), Want: judge.Complete},
		{Name: "twice_meta", Explanation: "the same in _meta", Raw: makes(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: text("fine").Content, Meta: mcp.Meta{"x": twice(`1`)}}
		}), Want: judge.Complete},
		{Name: "twice_deep_in_meta", Explanation: "deep in it", Raw: makes(func() *mcp.CallToolResult {
			return &mcp.CallToolResult{Content: text("fine").Content, Meta: mcp.Meta{"x": map[string]any{"y": []any{twice(`1`)}}}}
		}), Want: judge.Complete},
		{Name: "twice_block_meta", Explanation: "in the _meta of a block", Raw: makes(func() *mcp.CallToolResult {
			return content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": twice(`1`)}})
		}), Want: judge.Complete},
		{Name: "twice_image_meta", Explanation: "in that of an image", Raw: makes(func() *mcp.CallToolResult {
			return content(&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png", Meta: mcp.Meta{"x": twice(`1`)}})
		}), Want: judge.Complete},
		{Name: "twice_resource_meta", Explanation: "in that of an embedded resource", Raw: makes(func() *mcp.CallToolResult {
			return content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "a", Meta: mcp.Meta{"x": twice(`1`)}}})
		}), Want: judge.Complete},
		{Name: "twice_block", Explanation: "a block of the author's own type", Raw: makes(func() *mcp.CallToolResult {
			return content(foreign{marshal: twice(`{"type":"text","text":"foreign"}`)})
		}), Want: judge.Complete},
		{Name: "twice_question", Asks: true, Explanation: "the schema of a question", Raw: asksOnce(func() *mcp.CallToolResult {
			return asks(&mcp.ElicitParams{Message: "?", RequestedSchema: twice(`{"type":"object","properties":{}}`)})
		}), Want: judge.InputRequired, Legacy: judge.ErrorResult},
		{Name: "twice_question_meta", Asks: true, Explanation: "the _meta of a question", Raw: asksOnce(func() *mcp.CallToolResult {
			return asks(&mcp.ElicitParams{Message: "?", Meta: mcp.Meta{"x": twice(`1`)}})
		}), Want: judge.InputRequired, Legacy: judge.ErrorResult},
		{Name: "shared_meta", Explanation: "one _meta for all calls, to which go-sdk writes", Raw: returns(&mcp.CallToolResult{Content: text("fine").Content, Meta: sharedMeta}), Want: judge.Complete},

		{Name: "protocol_data_not_utf8", Explanation: "an error's data that is not UTF-8", Raw: fails(&jsonrpc.Error{Code: 7, Message: "no", Data: json.RawMessage("\"\xff\"")}), Want: judge.ErrorResult, Elsewhere: judge.ProtocolError, Type: "execution"},
		{Name: "protocol_large", Explanation: "an error far over any limit", Raw: fails(&jsonrpc.Error{Code: 7, Message: strings.Repeat("<", 4*maxResultBytes), Data: json.RawMessage(`"` + strings.Repeat("x", 4*maxResultBytes) + `"`)}), Want: judge.ProtocolError},
		{Name: "protocol_silent", Explanation: "an error without a message", Raw: fails(&jsonrpc.Error{Code: 7}), Want: judge.ProtocolError},
	}
}

var sharedMeta = mcp.Meta{"mine": "kept"}

func asks(q mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": q}}
}

// saying is an error with this Error method.
type saying func() string

func (s saying) Error() string { return s() }

type unwrapping struct{ next func() error }

func (u *unwrapping) Error() string { return "unwrapping" }
func (u *unwrapping) Unwrap() error { return u.next() }

type describedBadly struct{}

func (describedBadly) Error() string            { return "no" }
func (describedBadly) ToolErrorHints() []string { panic("boom") }

// second is f until it has been called once, and panics then.
func second(f func() string) func() string {
	var calls atomic.Int64
	return func() string {
		if calls.Add(1) > 1 {
			panic("called a second time")
		}
		return f()
	}
}

// twice marshals to the text once, and panics the second time.
func twice(text string) marshaler {
	once := second(func() string { return text })
	return func() ([]byte, error) { return []byte(once()), nil }
}

func hanging(release <-chan struct{}) marshaler {
	return func() ([]byte, error) { <-release; return nil, errors.New("late") }
}

// unlawful are the tools whose result marshals and is against the specification.
func unlawful() []badCase {
	note := func(a mcp.Annotations) mcp.ToolHandler {
		return returns(content(&mcp.TextContent{Text: "a", Annotations: &a}))
	}
	meta := func(key, value string) mcp.ToolHandler {
		return returns(&mcp.CallToolResult{Content: text("a").Content, Meta: mcp.Meta{key: json.RawMessage(value)}})
	}
	deep := json.RawMessage(strings.Repeat("[", 1200) + strings.Repeat("]", 1200))
	form := func(schema any) mcp.ToolHandler {
		return asksOnce(func() *mcp.CallToolResult { return asks(&mcp.ElicitParams{Message: "?", RequestedSchema: schema}) })
	}
	return []badCase{
		{Name: "structured_not_utf8", Explanation: "raw JSON that is not UTF-8", Raw: returns(structured(json.RawMessage("{\"a\":\"\xff\"}"))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_not_utf8_marshalled", Explanation: "the same from a MarshalJSON", Raw: returns(structured(marshaler(func() ([]byte, error) { return []byte("{\"a\":\"\xff\"}"), nil }))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_deep", Explanation: "nested past a thousand, where many decoders give up", Raw: returns(structured(deep)), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_huge_number", Explanation: "a number that no float64 holds", Raw: returns(structured(json.RawMessage(`{"a":1e999}`))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_not_utf8", Explanation: "_meta that is not UTF-8", Raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": json.RawMessage("\"\xff\"")}}), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_deep", Explanation: "_meta nested past a thousand", Raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": deep}}), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "block_meta_not_utf8", Explanation: "the _meta of a block that is not UTF-8", Raw: returns(content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": json.RawMessage("\"\xff\"")}})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "block_meta_deep", Explanation: "nested past a thousand", Raw: returns(content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": deep}})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_large", Explanation: "_meta far over any limit", Raw: returns(&mcp.CallToolResult{Content: text("a").Content, Meta: mcp.Meta{"x": strings.Repeat("x", 4*maxResultBytes)}}), Want: judge.Complete, Elsewhere: judge.ProtocolError},

		{Name: "meta_server_number", Explanation: "a strict client refuses a server that is a number", Raw: meta(mcp.MetaKeyServerInfo, `5`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_server_null", Explanation: "or null", Raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{mcp.MetaKeyServerInfo: nil}}), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_server_nameless", Explanation: "or has no version", Raw: meta(mcp.MetaKeyServerInfo, `{"name":"s"}`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_server", Explanation: "a tool may name another server", Raw: meta(mcp.MetaKeyServerInfo, `{"name":"s","version":"1"}`), Want: judge.Complete},
		{Name: "meta_task", Explanation: "a task without an id", Raw: meta("io.modelcontextprotocol/related-task", `{}`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_subscription", Explanation: "a subscription that no id names", Raw: meta(mcp.MetaKeySubscriptionID, `true`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_version", Explanation: "a version that is no text", Raw: meta(mcp.MetaKeyProtocolVersion, `[]`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_capabilities", Explanation: "capabilities that are no object", Raw: meta(mcp.MetaKeyClientCapabilities, `null`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_token", Explanation: "a progress token is a text or an integer", Raw: meta("progressToken", `1.5`), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_token_good", Explanation: "as this one is", Raw: meta("progressToken", `7`), Want: judge.Complete},
		{Name: "meta_reserved_unknown", Explanation: "nobody knows what a later revision says of another key", Raw: meta("io.modelcontextprotocol/later", `7`), Want: judge.Complete},

		{Name: "structured_array", Explanation: "before 2026-07-28 structured content is an object", Raw: returns(structured([]int{1})), Want: judge.Complete},
		{Name: "structured_alone_array", Explanation: "an array without any content", Raw: returns(&mcp.CallToolResult{StructuredContent: []int{1}}), Want: judge.Complete},
		{Name: "structured_null", Explanation: "null", Raw: returns(structured(json.RawMessage(`null`))), Want: judge.Complete},
		{Name: "structured_text", Explanation: "a string", Raw: returns(structured("text")), Want: judge.Complete},
		{Name: "output_array", Explanation: "an output schema that describes an array", Raw: returns(structured([]int{1})), Output: &jsonschema.Schema{Type: "array"}, Want: judge.Complete},
		{Name: "output_any", Explanation: "one that does not say what it describes", Raw: returns(structured(3)), Output: &jsonschema.Schema{Description: "anything"}, Want: judge.Complete},

		{Name: "annotation_priority_high", Explanation: "the priority is at most 1", Raw: note(mcp.Annotations{Priority: 2}), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_priority_low", Explanation: "and at least 0", Raw: note(mcp.Annotations{Priority: -1}), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_audience", Explanation: "an audience of robots", Raw: note(mcp.Annotations{Audience: []mcp.Role{"robot"}}), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_time", Explanation: "yesterday is no ISO 8601 time", Raw: note(mcp.Annotations{LastModified: "yesterday"}), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_good", Explanation: "lawful annotations pass", Raw: note(mcp.Annotations{Audience: []mcp.Role{"user"}, LastModified: "2026-01-02T15:04:05Z", Priority: 1}), Want: judge.Complete},
		{Name: "icon_theme", Explanation: "an icon with a theme that there is not", Raw: returns(content(&mcp.ResourceLink{URI: "file:///a", Name: "a", Icons: []mcp.Icon{{Source: "https://example.com/a.png", Theme: "blue"}}})), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},

		{Name: "form_none", Asks: true, Explanation: "a form without a schema gets one without fields", Raw: form(nil), Want: judge.InputRequired, Legacy: judge.ErrorResult},
		{Name: "form_text", Asks: true, Explanation: "a schema that is a string", Raw: form("text"), Want: judge.ErrorResult},
		{Name: "form_array", Asks: true, Explanation: "a form for an array", Raw: form(map[string]any{"type": "array"}), Want: judge.ErrorResult},
		{Name: "form_nested", Asks: true, Explanation: "a form within the form", Raw: form(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "object"}}}), Want: judge.ErrorResult},
		{Name: "form_panics", Asks: true, Explanation: "a schema whose MarshalJSON panics", Raw: form(marshaler(func() ([]byte, error) { panic("boom") })), Want: judge.ErrorResult},
		{Name: "form_not_utf8", Asks: true, Explanation: "a schema that is not UTF-8", Raw: form(json.RawMessage("{\"type\":\"object\",\"properties\":{},\"title\":\"\xff\"}")), Want: judge.ErrorResult},
		{Name: "question_mode", Asks: true, Explanation: "a mode that there is not", Raw: returns(asks(&mcp.ElicitParams{Mode: "dance", Message: "?"})), Want: judge.ErrorResult},
		{Name: "question_no_url", Asks: true, Explanation: "a visit to nowhere", Raw: returns(asks(&mcp.ElicitParams{Mode: "url", Message: "?"})), Want: judge.ErrorResult},
		{Name: "sampling_nil_message", Asks: true, Explanation: "a nil message for the model", Raw: returns(asks(&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{nil}})), Want: judge.ErrorResult},
		{Name: "sampling_role", Asks: true, Explanation: "a message of a robot", Raw: returns(asks(&mcp.CreateMessageWithToolsParams{MaxTokens: 1, Messages: []*mcp.SamplingMessageV2{{Role: "robot", Content: text("a").Content}}})), Want: judge.ErrorResult},
		{Name: "state_not_utf8", Asks: true, Explanation: "a state that would come back changed", Raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "\xff"}), Want: judge.ErrorResult},

		{Name: "arguments_overflow", Explanation: "an integer beyond 64 bits", Typed: outputs("fine"), Wire: `{"days":1e30}`, Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_time", Explanation: "a time that is none", Add: addTimed, Wire: `{"at":"s3cret"}`, Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_many", Explanation: "thousands of unknown names", Typed: outputs("fine"), Wire: manyNames(5000), Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_ansi", Explanation: "a name that would write on the terminal", Typed: outputs("fine"), Wire: `{"\u001b[31m\n\u202e":1}`, Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_deep", Explanation: "arguments nested as deep as transports let them", Typed: outputs("fine"), Wire: `{"place":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, Want: judge.ErrorResult, Type: "validation"},
	}
}

type timed struct {
	At time.Time `json:"at"`
}

func addTimed(s *mcp.Server, tool *mcp.Tool) {
	mcp.AddTool(s, tool, func(context.Context, *mcp.CallToolRequest, timed) (*mcp.CallToolResult, any, error) {
		return text("fine"), nil, nil
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
