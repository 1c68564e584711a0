package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/probe"
)

// A misbehaviour is one way for a tool call to go wrong. The tool is named after
// it. Exactly one of raw and typed makes the tool; neither means that the name is
// one that no tool has, or one that the middleware below reacts to.
type misbehaviour struct {
	name        string
	explanation string
	raw         mcp.ToolHandler
	typed       mcp.ToolHandlerFor[input, any]
	output      any    // the tool's output schema
	arguments   any    // nil means {}
	wire        string // arguments as raw JSON, in place of arguments
	want        probe.Outcome
	wantType    string        // the error's type, for error results
	legacy      probe.Outcome // what a client from before gets, where it differs
}

type input struct {
	Place string `json:"place,omitempty"`
	Days  int    `json:"days,omitempty"`
}

var misbehaviours = []misbehaviour{
	// The handler does not return.
	{name: "panic_string", explanation: "nothing in the SDK recovers", raw: panics("boom"), want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_error", explanation: "an error as the panic's value", raw: panics(errors.New("boom")), want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_struct", explanation: "a value that formats badly", raw: panics(struct{ F func() }{}), want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_cyclic_value", explanation: "printing this value would overflow the stack", raw: panics(cyclicMap()), want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_nil_map", explanation: "a write to a nil map", raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var m map[string]int
		m["x"] = 1
		return nil, nil
	}, want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_assertion", explanation: "the assertion in the SDK's own documentation, on an answer that is not there", raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = req.Params.InputResponses["user_name"].(*mcp.ElicitResult)
		return nil, nil
	}, want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_typed", explanation: "a typed handler is no better off", typed: func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		panic("boom")
	}, want: probe.ErrorResult, wantType: "internal"},
	{name: "panic_in_defer", explanation: "a deferred function panics while another panic unwinds", raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		defer func() { panic("second") }()
		panic("first")
	}, want: probe.ErrorResult, wantType: "internal"},
	{name: "goexit", explanation: "runs deferred functions and returns nothing", raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		runtime.Goexit()
		return nil, nil
	}, want: probe.ErrorResult, wantType: "internal"},
	{name: "goexit_typed", explanation: "a t.FailNow left in a typed handler does this", typed: func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		runtime.Goexit()
		return nil, nil, nil
	}, want: probe.ErrorResult, wantType: "internal"},
	{name: "hang_deaf", explanation: "never returns and minds no context", raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-released
		return text("late"), nil
	}, want: probe.ErrorResult, wantType: "timeout"},
	{name: "hang_minding", explanation: "returns when its context ends", raw: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-released:
			return text("late"), nil
		}
	}, want: probe.ErrorResult, wantType: "timeout"},
	{name: "hang_in_marshal", explanation: "the result's own MarshalJSON never returns", raw: returns(&mcp.CallToolResult{StructuredContent: marshaler(func() ([]byte, error) {
		<-released
		return nil, errors.New("late")
	})}), want: probe.ErrorResult, wantType: "timeout"},

	// The handler returns what is no result.
	{name: "nil_nil", explanation: "neither a result nor an error", raw: returns(nil), want: probe.ErrorResult, wantType: "no_result"},
	{name: "result_and_error", explanation: "both: the error counts", raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("fine"), errors.New("not fine")
	}, want: probe.ErrorResult, wantType: "execution"},
	{name: "nil_content_element", explanation: "a nil interface among the blocks", raw: returns(content(nil)), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "typed_nil_text", explanation: "a nil pointer in a non-nil interface", raw: returns(content((*mcp.TextContent)(nil))), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "typed_nil_image", explanation: "the same in another type", raw: returns(content((*mcp.ImageContent)(nil))), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "nil_element_among_good", explanation: "good blocks around it do not help", raw: returns(content(&mcp.TextContent{Text: "a"}, nil, &mcp.TextContent{Text: "b"})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "resource_missing", explanation: "an embedded resource that embeds nothing", raw: returns(content(&mcp.EmbeddedResource{})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "resource_empty", explanation: "an empty text resource loses its text on the wire", raw: returns(content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a"}})), want: probe.Complete},
	{name: "link_unnamed", explanation: "a resource link needs a name", raw: returns(content(&mcp.ResourceLink{URI: "file:///a"})), want: probe.Complete},
	{name: "tool_use_content", explanation: "a block that belongs in sampling messages", raw: returns(content(&mcp.ToolUseContent{ID: "1", Name: "x"})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "foreign_content", explanation: "a type of the author's own that marshals to a good block", raw: returns(content(foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"text","text":"foreign"}`), nil }})), want: probe.Complete},
	{name: "foreign_content_error", explanation: "its MarshalJSON fails", raw: returns(content(foreign{marshal: func() ([]byte, error) { return nil, errors.New("no") }})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "foreign_content_panic", explanation: "its MarshalJSON panics, after the handler has returned", raw: returns(content(foreign{marshal: func() ([]byte, error) { panic("boom") }})), want: probe.ErrorResult, wantType: "internal"},
	{name: "foreign_content_goexit", explanation: "its MarshalJSON ends the goroutine", raw: returns(content(foreign{marshal: func() ([]byte, error) { runtime.Goexit(); return nil, nil }})), want: probe.ErrorResult, wantType: "internal"},
	{name: "foreign_content_type", explanation: "it marshals to a block that no protocol knows", raw: returns(content(foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"hologram"}`), nil }})), want: probe.ErrorResult, wantType: "malformed_result"},

	// The result cannot be marshalled.
	{name: "structured_nan", explanation: "JSON has no NaN", raw: returns(structured(map[string]any{"v": math.NaN()})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_infinity", explanation: "nor infinity", raw: returns(structured(map[string]any{"v": math.Inf(1)})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_func", explanation: "nor functions", raw: returns(structured(map[string]any{"v": func() {}})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_chan", explanation: "nor channels", raw: returns(structured(make(chan int))), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_cyclic", explanation: "a map that holds itself", raw: returns(structured(cyclicMap())), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_bad_raw", explanation: "a json.RawMessage that is no JSON", raw: returns(structured(json.RawMessage(`{"a":`))), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_empty_raw", explanation: "an empty one", raw: returns(structured(json.RawMessage{})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_too_deep", explanation: "nested deeper than encoding/json goes", raw: returns(structured(json.RawMessage(strings.Repeat("[", 20000) + strings.Repeat("]", 20000)))), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "structured_panic", explanation: "a MarshalJSON that panics", raw: returns(structured(marshaler(func() ([]byte, error) { panic("boom") }))), want: probe.ErrorResult, wantType: "internal"},
	{name: "typed_nan", explanation: "a typed handler's output that does not marshal", typed: outputs(map[string]any{"v": math.NaN()}), want: probe.ErrorResult, wantType: "invalid_output"},
	{name: "typed_func", explanation: "the same with a function", typed: outputs(map[string]any{"v": func() {}}), want: probe.ErrorResult, wantType: "invalid_output"},
	{name: "meta_nan", explanation: "_meta is marshalled too", raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": math.NaN()}}), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "meta_func", explanation: "with anything in it", raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": func() {}}}), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "block_meta_nan", explanation: "and that of each block", raw: returns(content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": math.NaN()}})), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "annotation_nan", explanation: "an annotation's priority is a float", raw: returns(content(&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Priority: math.NaN()}})), want: probe.ErrorResult, wantType: "malformed_result"},

	// The result breaks the tool's own promise.
	{name: "output_missing", explanation: "an output schema, and no structured content", raw: returns(text("hello")), output: celsius, want: probe.ErrorResult, wantType: "invalid_output"},
	{name: "output_wrong_type", explanation: "structured content of another type", raw: returns(structured(map[string]any{"celsius": "warm"})), output: celsius, want: probe.ErrorResult, wantType: "invalid_output"},
	{name: "output_wrong_raw", explanation: "the same as raw JSON", raw: returns(structured(json.RawMessage(`{"celsius":"warm"}`))), output: celsius, want: probe.ErrorResult, wantType: "invalid_output"},
	{name: "output_typed", explanation: "a typed handler: the SDK notices and sends an error without a code", typed: outputs(map[string]any{"celsius": "warm"}), output: celsius, want: probe.ErrorResult, wantType: "invalid_output"},

	// Errors.
	{name: "error_plain_raw", explanation: "a raw handler's error goes out as a protocol error with code 0", raw: fails(errors.New("the station is closed")), want: probe.ErrorResult, wantType: "execution"},
	{name: "error_plain_typed", explanation: "what every tool does", typed: raises(errors.New("the station is closed")), want: probe.ErrorResult, wantType: "execution"},
	{name: "error_empty", explanation: "an error without a text leaves the model nothing to read", typed: raises(errors.New("")), want: probe.ErrorResult, wantType: "execution"},
	{name: "error_typed_nil", explanation: "a nil pointer as a non-nil error, whose Error method panics", raw: fails((*fragile)(nil)), want: probe.ErrorResult, wantType: "internal"},
	{name: "error_panics", explanation: "the same behind the typed handling", typed: raises((*fragile)(nil)), want: probe.ErrorResult, wantType: "internal"},
	{name: "error_by_hand", explanation: "isError without a word", raw: returns(&mcp.CallToolResult{IsError: true}), want: probe.ErrorResult, wantType: "execution"},
	{name: "error_structured", explanation: "an error with structured content that breaks the output schema", raw: returns(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, StructuredContent: map[string]any{"celsius": "warm"}}), output: celsius, want: probe.ErrorResult, wantType: "execution"},
	{name: "protocol_bare", explanation: "a refused state is meant for the client", typed: raises(badState), want: probe.ProtocolError},
	{name: "protocol_bare_raw", explanation: "the same from a raw handler, with data", raw: fails(missingCapability), want: probe.ProtocolError},
	{name: "protocol_wrapped", explanation: "an error from another server that was wrapped is this tool's own", typed: raises(fmt.Errorf("asking the other server: %w", badState)), want: probe.ErrorResult, wantType: "execution"},
	{name: "protocol_wrapped_raw", explanation: "the same from a raw handler", raw: fails(fmt.Errorf("asking the other server: %w", badState)), want: probe.ErrorResult, wantType: "execution"},
	{name: "protocol_kept", explanation: "a Protocol keeps code and data through wrapping", typed: raises(fmt.Errorf("outer: %w", &boundary.Protocol{Code: -32000, Message: "busy", Data: json.RawMessage(`{"retry":1}`)})), want: probe.ProtocolError},
	{name: "protocol_no_code", explanation: "code 0 is no code", raw: fails(&jsonrpc.Error{Message: "what"}), want: probe.ErrorResult, wantType: "execution"},
	{name: "protocol_bad_data", explanation: "data that is no JSON cannot be sent", raw: fails(&jsonrpc.Error{Code: -32000, Message: "what", Data: json.RawMessage(`{`)}), want: probe.ErrorResult, wantType: "execution"},
	{name: "protocol_nil", explanation: "a nil *jsonrpc.Error as a non-nil error", typed: raises((*jsonrpc.Error)(nil)), want: probe.ErrorResult, wantType: "internal"},
	{name: "cancelled_upstream", explanation: "a context error of something else's context", typed: raises(fmt.Errorf("dial: %w", context.Canceled)), want: probe.ErrorResult, wantType: "execution"},

	// Too much, and strange characters.
	{name: "text_10mib", explanation: "ten times the limit", raw: returns(text(strings.Repeat("wörd ", 10<<20/6))), want: probe.Complete},
	{name: "structured_10mib", explanation: "what is left of it could not satisfy the schema", raw: returns(structured(map[string]any{"celsius": 1, "note": strings.Repeat("x", 10<<20)})), output: celsius, want: probe.ErrorResult, wantType: "too_large"},
	{name: "image_10mib", explanation: "an image is dropped whole", raw: returns(content(&mcp.ImageContent{Data: make([]byte, 10<<20), MIMEType: "image/png"}, &mcp.TextContent{Text: "caption"})), want: probe.Complete},
	{name: "error_10mib", explanation: "an error stays one when it is cut", typed: raises(errors.New(strings.Repeat("é", 5<<20))), want: probe.ErrorResult, wantType: "execution"},
	{name: "text_not_utf8", explanation: "bytes that are no text", raw: returns(text("a\xff\xfeb")), want: probe.Complete},
	{name: "text_controls", explanation: "characters that JSON and JavaScript escape", raw: returns(text("\x00\x1b[31m\u2028\u2029</script>")), want: probe.Complete},

	// Questions.
	{name: "asks", explanation: "a good question passes; one to a client from before, which cannot be asked, ends in an error", raw: returns(asking()), want: probe.InputRequired, legacy: probe.ErrorResult, wantType: "execution"},
	{name: "asks_and_fails", explanation: "an error and a question at once", raw: returns(&mcp.CallToolResult{IsError: true, InputRequests: asking().InputRequests}), want: probe.ErrorResult, legacy: probe.ErrorResult},
	{name: "asks_and_answers", explanation: "content and a question at once", raw: returns(&mcp.CallToolResult{Content: text("hello").Content, InputRequests: asking().InputRequests}), want: probe.ErrorResult, wantType: "malformed_result"},
	{name: "asks_nil", explanation: "a nil question", raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": nil}}), want: probe.ErrorResult, legacy: probe.ErrorResult},
	{name: "asks_nan", explanation: "a schema that cannot be marshalled", raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"x": math.NaN()}}}}), want: probe.ErrorResult, legacy: probe.ErrorResult},
	{name: "state_only", explanation: "state without questions goes out as an empty success", raw: returns(&mcp.CallToolResult{RequestState: "s"}), want: probe.ErrorResult, wantType: "malformed_result"},

	// The request is at fault.
	{name: "no_such_tool", explanation: "unknown to the server", want: probe.ProtocolError},
	{name: "arguments_wrong", explanation: "two things wrong at once", typed: outputs("fine"), arguments: map[string]any{"place": 3, "days": "many"}, want: probe.ErrorResult, wantType: "validation"},
	{name: "arguments_unknown", explanation: "an argument that the tool does not have", typed: outputs("fine"), arguments: map[string]any{"palce": "Lisbon"}, want: probe.ErrorResult, wantType: "validation"},
	{name: "arguments_array", explanation: "no object", typed: outputs("fine"), wire: `[1]`, want: probe.ErrorResult, wantType: "validation"},
	{name: "arguments_null", explanation: "null stands for none", typed: outputs("fine"), wire: `null`, want: probe.Complete},

	// The server's other middleware.
	{name: "middleware_panic", explanation: "panics on the way in", want: probe.ErrorResult, wantType: "internal"},
	{name: "middleware_goexit", explanation: "ends the goroutine", want: probe.ErrorResult, wantType: "internal"},
	{name: "middleware_nil", explanation: "returns nothing", want: probe.ErrorResult, wantType: "no_result"},
	{name: "middleware_typed_nil", explanation: "returns a nil pointer", want: probe.ErrorResult, wantType: "no_result"},
	{name: "middleware_other_result", explanation: "returns the result of another method", want: probe.ErrorResult, wantType: "no_result"},
	{name: "middleware_unstamped", explanation: "makes a result of its own, which lacks resultType", want: probe.Complete},

	// Last, since on a bare server it keeps a processor busy for ever.
	{name: "error_endless", explanation: "an error that unwraps to itself; the SDK looks for its code for ever", raw: fails(&endless{}), want: probe.ErrorResult, wantType: "execution"},
}

// released ends the handlers that hang, at the end of a test.
var released = make(chan struct{})

var celsius = &jsonschema.Schema{
	Type:       "object",
	Properties: map[string]*jsonschema.Schema{"celsius": {Type: "number"}, "note": {Type: "string"}},
	Required:   []string{"celsius"},
}

var badState = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid or expired requestState"}

var missingCapability = &jsonrpc.Error{
	Code: mcp.CodeMissingRequiredClientCapabilities, Message: "missing capability",
	Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{}}}`),
}

func panics(v any) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic(v) }
}

// returns makes a handler that returns a copy of res, as the SDK writes to it.
func returns(res *mcp.CallToolResult) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if res == nil {
			return nil, nil
		}
		copied := *res
		return &copied, nil
	}
}

func fails(err error) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
}

func raises(err error) mcp.ToolHandlerFor[input, any] {
	return func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, nil, err
	}
}

func outputs(v any) mcp.ToolHandlerFor[input, any] {
	return func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, v, nil
	}
}

func text(s string) *mcp.CallToolResult { return content(&mcp.TextContent{Text: s}) }

func content(blocks ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: blocks} }

func structured(v any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "see the structured content"}}, StructuredContent: v}
}

func asking() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Message: "Which units?",
		RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"units": {Type: "string"}}}}}}
}

func cyclicMap() map[string]any {
	m := map[string]any{}
	m["self"] = m
	return m
}

type marshaler func() ([]byte, error)

func (m marshaler) MarshalJSON() ([]byte, error) { return m() }

// foreign is a content block of a type that is not the SDK's.
type foreign struct {
	*mcp.TextContent
	marshal func() ([]byte, error)
}

func (f foreign) MarshalJSON() ([]byte, error) { return f.marshal() }

// fragile is an error whose Error method minds its receiver.
type fragile struct{ text string }

func (f *fragile) Error() string { return f.text }

type endless struct{}

func (e *endless) Error() string { return "round and round" }
func (e *endless) Unwrap() error { return e }
