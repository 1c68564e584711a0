package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
)

// unreturned are the tools that do not return: they panic, end their goroutine,
// or hang until release is closed.
func unreturned(release <-chan struct{}) []badCase {
	return []badCase{
		{Name: "panic_string", Explanation: "nothing in the SDK recovers", Raw: panics("boom"), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_error", Explanation: "an error as the panic's value", Raw: panics(errors.New("boom")), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_struct", Explanation: "a value that formats badly", Raw: panics(struct{ F func() }{}), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_cyclic_value", Explanation: "printing this value would overflow the stack", Raw: panics(cyclicMap()), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_nil_map", Explanation: "a write to a nil map", Raw: does(func(*mcp.CallToolRequest) *mcp.CallToolResult { unmade()["inner"] = 1; return nil }), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_assertion", Explanation: "the assertion in the SDK's own documentation, on an answer that is not there", Raw: does(func(req *mcp.CallToolRequest) *mcp.CallToolResult {
			_ = req.Params.InputResponses["user_name"].(*mcp.ElicitResult)
			return nil
		}), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_typed", Explanation: "a typed handler is no better off", Typed: typed(panics("boom")), Want: judge.ErrorResult, Type: "internal"},
		{Name: "panic_in_defer", Explanation: "a deferred function panics while another panic unwinds", Raw: does(func(*mcp.CallToolRequest) *mcp.CallToolResult { defer func() { panic("boom again") }(); panic("boom") }), Want: judge.ErrorResult, Type: "internal"},
		{Name: "goexit", Explanation: "runs deferred functions and returns nothing", Raw: exits, Want: judge.ErrorResult, Type: "internal"},
		{Name: "goexit_typed", Explanation: "a t.FailNow left in a typed handler does this", Typed: typed(exits), Want: judge.ErrorResult, Type: "internal"},
		{Name: "hang_deaf", Explanation: "never returns and minds no context", Raw: does(func(*mcp.CallToolRequest) *mcp.CallToolResult { <-release; return text("late") }), Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_minding", Explanation: "returns when its context ends", Raw: func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-release:
				return text("late"), nil
			}
		}, Want: judge.ErrorResult, Type: "timeout"},
		{Name: "hang_in_marshal", Explanation: "the result's own MarshalJSON never returns", Raw: returns(&mcp.CallToolResult{StructuredContent: hanging(release)}), Want: judge.ErrorResult, Type: "timeout"},
	}
}

func unmade() map[string]int { return nil }

// noResult are the tools that return no result, or a malformed one.
func noResult() []badCase {
	return []badCase{
		{Name: "nil_nil", Explanation: "neither a result nor an error", Raw: returns(nil), Want: judge.ErrorResult, Type: "no_result"},
		{Name: "result_and_error", Explanation: "both: the error counts", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("fine"), errors.New("not fine")
		}, Want: judge.ErrorResult, Type: "execution"},
		{Name: "nil_content_element", Explanation: "a nil interface among the blocks", Raw: returns(content(nil)), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "typed_nil_text", Explanation: "a nil pointer in a non-nil interface", Raw: returns(content((*mcp.TextContent)(nil))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "typed_nil_image", Explanation: "the same in another type", Raw: returns(content((*mcp.ImageContent)(nil))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "nil_element_among_good", Explanation: "good blocks around it do not help", Raw: returns(content(&mcp.TextContent{Text: "a"}, nil, &mcp.TextContent{Text: "b"})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "resource_missing", Explanation: "an embedded resource that embeds nothing", Raw: returns(content(&mcp.EmbeddedResource{})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "resource_empty", Explanation: "an empty text resource loses its text on the wire", Raw: returns(content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a"}})), Want: judge.Complete},
		{Name: "link_unnamed", Explanation: "a resource link needs a name", Raw: returns(content(&mcp.ResourceLink{URI: "file:///a"})), Want: judge.Complete},
		{Name: "tool_use_content", Explanation: "a block that belongs in sampling messages", Raw: returns(content(&mcp.ToolUseContent{ID: "1", Name: "x"})), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "foreign_content", Explanation: "a type of the author's own that marshals to a good block", Raw: returns(content(foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"text","text":"foreign"}`), nil }})), Want: judge.Complete},
		{Name: "foreign_content_error", Explanation: "its MarshalJSON fails", Raw: returns(content(foreign{marshal: func() ([]byte, error) { return nil, errors.New("no") }})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "foreign_content_panic", Explanation: "its MarshalJSON panics, after the handler has returned", Raw: returns(content(foreign{marshal: func() ([]byte, error) { panic("boom") }})), Want: judge.ErrorResult, Type: "internal"},
		{Name: "foreign_content_goexit", Explanation: "its MarshalJSON ends the goroutine", Raw: returns(content(foreign{marshal: func() ([]byte, error) { runtime.Goexit(); return nil, nil }})), Want: judge.ErrorResult, Type: "internal"},
		{Name: "foreign_content_type", Explanation: "it marshals to a block that no protocol knows", Raw: returns(content(foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"hologram"}`), nil }})), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
	}
}

// unmarshallable are the tools whose result cannot be marshalled, or breaks the
// tool's own promise.
func unmarshallable() []badCase {
	return []badCase{
		{Name: "structured_nan", Explanation: "JSON has no NaN", Raw: returns(structured(map[string]any{"v": math.NaN()})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_infinity", Explanation: "nor infinity", Raw: returns(structured(map[string]any{"v": math.Inf(1)})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_func", Explanation: "nor functions", Raw: returns(structured(map[string]any{"v": func() {}})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_chan", Explanation: "nor channels", Raw: returns(structured(make(chan int))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_cyclic", Explanation: "a map that holds itself", Raw: returns(structured(cyclicMap())), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_bad_raw", Explanation: "a json.RawMessage that is no JSON", Raw: returns(structured(json.RawMessage(`{"a":`))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_empty_raw", Explanation: "an empty one", Raw: returns(structured(json.RawMessage{})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_too_deep", Explanation: "nested deeper than encoding/json goes", Raw: returns(structured(json.RawMessage(strings.Repeat("[", 20000) + strings.Repeat("]", 20000)))), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "structured_panic", Explanation: "a MarshalJSON that panics", Raw: returns(structured(marshaler(func() ([]byte, error) { panic("boom") }))), Want: judge.ErrorResult, Type: "internal"},
		{Name: "typed_nan", Explanation: "a typed handler's output that does not marshal", Typed: outputs(map[string]any{"v": math.NaN()}), Want: judge.ErrorResult, Type: "invalid_output"},
		{Name: "typed_func", Explanation: "the same with a function", Typed: outputs(map[string]any{"v": func() {}}), Want: judge.ErrorResult, Type: "invalid_output"},
		{Name: "meta_nan", Explanation: "_meta is marshalled too", Raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": math.NaN()}}), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "meta_func", Explanation: "with anything in it", Raw: returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": func() {}}}), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "block_meta_nan", Explanation: "and that of each block", Raw: returns(content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": math.NaN()}})), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "annotation_nan", Explanation: "an annotation's priority is a float", Raw: returns(content(&mcp.TextContent{Text: "a", Annotations: &mcp.Annotations{Priority: math.NaN()}})), NoResource: true, Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "output_missing", Explanation: "an output schema, and no structured content", Raw: returns(text("hello")), Output: celsius, Want: judge.ErrorResult, Type: "invalid_output"},
		{Name: "output_wrong_type", Explanation: "structured content of another type", Raw: returns(structured(map[string]any{"celsius": "warm"})), Output: celsius, Want: judge.ErrorResult, Type: "invalid_output"},
		{Name: "output_wrong_raw", Explanation: "the same as raw JSON", Raw: returns(structured(json.RawMessage(`{"celsius":"warm"}`))), Output: celsius, Want: judge.ErrorResult, Type: "invalid_output"},
		{Name: "output_typed", Explanation: "a typed handler: the SDK notices and sends an error without a code", Typed: outputs(map[string]any{"celsius": "warm"}), Output: celsius, Want: judge.ErrorResult, Type: "invalid_output"},
	}
}

// oversized are the tools that return too much, or strange characters.
func oversized() []badCase {
	return []badCase{
		{Name: "text_10mib", Explanation: "far over any limit", Raw: returns(text(strings.Repeat("wörd ", 10<<20/6))), Want: judge.Complete, Elsewhere: judge.ProtocolError},
		{Name: "structured_too_large", Explanation: "what is left of it could not satisfy the schema", Raw: returns(structured(map[string]any{"celsius": 1, "note": strings.Repeat("x", 4*maxResultBytes)})), Output: celsius, Want: judge.ErrorResult, Type: "too_large"},
		{Name: "image_too_large", Explanation: "an image is dropped whole", Raw: returns(content(&mcp.ImageContent{Data: make([]byte, 4*maxResultBytes), MIMEType: "image/png"}, &mcp.TextContent{Text: "caption"})), Want: judge.Complete, Elsewhere: judge.ProtocolError},
		{Name: "error_too_large", Explanation: "an error stays one when it is cut", Typed: raises(errors.New(strings.Repeat("é", 2*maxResultBytes))), Want: judge.ErrorResult, Type: "execution"},
		{Name: "text_not_utf8", Explanation: "bytes that are no text", Raw: returns(text("a\xff\xfeb")), Want: judge.Complete},
		{Name: "text_controls", Explanation: "characters that JSON and JavaScript escape", Raw: returns(text("\x00\x1b[31m\u2028\u2029</script>")), Want: judge.Complete},
	}
}

// failing are the tools that return an error. An error that would keep the processor
// of a server without a boundary busy for ever sleeps in the end until release is
// closed.
func failing(release <-chan struct{}) []badCase {
	return []badCase{
		{Name: "error_plain_raw", Explanation: "a raw handler's error goes out as a protocol error with code 0", Raw: fails(errors.New("the station is closed")), Want: judge.ErrorResult, Type: "execution"},
		{Name: "error_plain_typed", Explanation: "what every tool does", Typed: raises(errors.New("the station is closed")), Want: judge.ErrorResult, Type: "execution"},
		{Name: "error_empty", Explanation: "an error without a text leaves the model nothing to read", Typed: raises(errors.New("")), Want: judge.ErrorResult, Type: "execution"},
		{Name: "error_typed_nil", Explanation: "a nil pointer as a non-nil error, whose Error method panics", Raw: fails((*fragile)(nil)), Want: judge.ErrorResult, Type: "internal"},
		{Name: "error_panics", Explanation: "the same behind the typed handling", Typed: raises((*fragile)(nil)), Want: judge.ErrorResult, Type: "internal"},
		{Name: "error_by_hand", Explanation: "isError without a word", Raw: returns(&mcp.CallToolResult{IsError: true}), Want: judge.ErrorResult, Type: "execution"},
		{Name: "error_structured", Explanation: "an error with structured content that breaks the output schema", Raw: returns(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, StructuredContent: map[string]any{"celsius": "warm"}}), Output: celsius, Want: judge.ErrorResult, Type: "execution"},
		{Name: "protocol_bare", Explanation: "a refused state is meant for the client", Typed: raises(badState), Want: judge.ProtocolError},
		{Name: "protocol_bare_raw", Explanation: "the same from a raw handler, with data", Raw: fails(missingCapability), Want: judge.ProtocolError},
		{Name: "protocol_wrapped", Explanation: "an error from another server that was wrapped is this tool's own", Typed: raises(fmt.Errorf("asking the other server: %w", badState)), Want: judge.ErrorResult, Type: "execution"},
		{Name: "protocol_wrapped_raw", Explanation: "the same from a raw handler", Raw: fails(fmt.Errorf("asking the other server: %w", badState)), Want: judge.ErrorResult, Type: "execution"},
		{Name: "protocol_kept", Explanation: "a Protocol keeps code and data through wrapping", Typed: raises(fmt.Errorf("outer: %w", &boundary.Protocol{Code: -32000, Message: "busy", Data: json.RawMessage(`{"retry":1}`)})), Want: judge.ProtocolError},
		{Name: "protocol_no_code", Explanation: "code 0 is no code", Raw: fails(&jsonrpc.Error{Message: "what"}), Want: judge.ErrorResult, Type: "execution"},
		{Name: "protocol_bad_data", Explanation: "data that is no JSON cannot be sent", Raw: fails(&jsonrpc.Error{Code: -32000, Message: "what", Data: json.RawMessage(`{`)}), Want: judge.ErrorResult, Type: "execution"},
		{Name: "protocol_withdrawn", Explanation: "revision 2026-07-28 withdrew the code; before, it asked for a visit to an address", Raw: fails(mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Sign in.", URL: "https://example.com/", ElicitationID: "1"}})), Want: judge.ErrorResult, Legacy: judge.ProtocolError, Type: "withdrawn_code"},
		{Name: "protocol_nil", Explanation: "a nil *jsonrpc.Error as a non-nil error", Typed: raises((*jsonrpc.Error)(nil)), Want: judge.ErrorResult, Type: "internal"},
		{Name: "cancelled_upstream", Explanation: "a context error of something else's context", Typed: raises(fmt.Errorf("dial: %w", context.Canceled)), Want: judge.ErrorResult, Type: "execution"},
		{Name: "error_endless", Explanation: "an error that unwraps to itself; the SDK looks for its code for ever", Raw: fails(&endless{release: release}), Want: judge.ErrorResult, Type: "execution"},
	}
}

// badState and missingCapability are protocol errors intended for the client.
var (
	badState = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid or expired requestState"}

	missingCapability = &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "missing capability",
		Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{}}}`),
	}
)

func fails(err error) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
}

func raises(err error) mcp.ToolHandlerFor[input, any] { return typed(fails(err)) }

// typed makes a typed handler of a raw one.
func typed(h mcp.ToolHandler) mcp.ToolHandlerFor[input, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
		res, err := h(ctx, req)
		return res, nil, err
	}
}

// does makes a handler that cannot fail. It makes its result anew for each call.
func does(f func(*mcp.CallToolRequest) *mcp.CallToolResult) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return f(req), nil }
}

// makes is does for a result that does not depend on the request.
func makes(f func() *mcp.CallToolResult) mcp.ToolHandler {
	return does(func(*mcp.CallToolRequest) *mcp.CallToolResult { return f() })
}

// asksOnce makes a handler that asks until it is answered.
func asksOnce(ask func() *mcp.CallToolResult) mcp.ToolHandler {
	return does(func(req *mcp.CallToolRequest) *mcp.CallToolResult {
		if req.Params.InputResponses == nil {
			return ask()
		}
		return text("answered")
	})
}

var exits = makes(func() *mcp.CallToolResult { runtime.Goexit(); return nil })

// fragile is an error whose Error method panics on a nil receiver.
type fragile struct{ text string }

func (f *fragile) Error() string { return f.text }

// endless is an error that unwraps to itself. Code that walks its chain to the end
// takes a million steps and then sleeps.
type endless struct {
	turns   atomic.Int64
	release <-chan struct{}
}

func (e *endless) Error() string { return "round and round" }

func (e *endless) Unwrap() error {
	if e.turns.Add(1) > 1e6 {
		<-e.release
	}
	return e
}

// misused are calls with a wrong request, and calls that the server's middleware
// breaks.
func misused() []badCase {
	return []badCase{
		{Name: "no_such_tool", Explanation: "unknown to the server", Want: judge.ProtocolError},
		{Name: "arguments_wrong", Explanation: "two things wrong at once", Typed: outputs("fine"), Arguments: map[string]any{"place": 3, "days": "many"}, Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_unknown", Explanation: "an argument that the tool does not have", Typed: outputs("fine"), Arguments: map[string]any{"palce": "Lisbon"}, Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_array", Explanation: "no object", Typed: outputs("fine"), Wire: `[1]`, Want: judge.ErrorResult, Type: "validation"},
		{Name: "arguments_null", Explanation: "null stands for none", Typed: outputs("fine"), Wire: `null`, Want: judge.Complete},

		{Name: "middleware_panic", Explanation: "panics on the way in", Want: judge.ErrorResult, Type: "internal"},
		{Name: "middleware_goexit", Explanation: "ends the goroutine", Want: judge.ErrorResult, Type: "internal"},
		{Name: "middleware_nil", Explanation: "returns nothing", Want: judge.ErrorResult, Type: "no_result"},
		{Name: "middleware_typed_nil", Explanation: "returns a nil pointer", Want: judge.ErrorResult, Type: "no_result"},
		{Name: "middleware_other_result", Explanation: "returns the result of another method", Want: judge.ErrorResult, Type: "no_result"},
		{Name: "middleware_unstamped", Explanation: "makes a result of its own, which lacks resultType", Want: judge.Complete},
	}
}

// questions are the tools that ask the client's user.
func questions() []badCase {
	return []badCase{
		{Name: "asks", Asks: true, Explanation: "a good question passes; one to a client from before, which cannot be asked, ends in an error", Raw: asksOnce(asking), Want: judge.InputRequired, Legacy: judge.ErrorResult, Type: "execution"},
		{Name: "asks_and_fails", Asks: true, Explanation: "an error and a question at once", Raw: returns(&mcp.CallToolResult{IsError: true, InputRequests: asking().InputRequests}), Want: judge.ErrorResult},
		{Name: "asks_and_answers", Asks: true, Explanation: "content and a question at once", Raw: returns(&mcp.CallToolResult{Content: text("hello").Content, InputRequests: asking().InputRequests}), Want: judge.ErrorResult, Type: "malformed_result"},
		{Name: "asks_nil", Asks: true, Explanation: "a nil question", Raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": nil}}), Want: judge.ErrorResult, Modern: "malformed_result"},
		{Name: "asks_typed_nil", Asks: true, Explanation: "a question that is a nil pointer", Raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": (*mcp.ElicitParams)(nil)}}), Want: judge.ErrorResult, Modern: "malformed_result"},
		{Name: "asks_nothing", Asks: true, Explanation: "no question and no state: there is nothing to come again with", Raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}), Want: judge.ErrorResult, Modern: "malformed_result"},
		{Name: "asks_by_state", Asks: true, Endless: true, Explanation: "no question, but a state to come again with", Raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "s"}), Want: judge.InputRequired, Legacy: judge.ErrorResult},
		{Name: "asks_nan", Asks: true, Explanation: "a schema that cannot be marshalled", Raw: returns(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"x": math.NaN()}}}}), Want: judge.ErrorResult},
		{Name: "state_only", Explanation: "state without questions goes out as an empty success", Raw: returns(&mcp.CallToolResult{RequestState: "s"}), Want: judge.ErrorResult, Type: "malformed_result"},
	}
}

// asking is a result that asks for the units.
func asking() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"units": &mcp.ElicitParams{Message: "Which units?",
		RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"units": {Type: "string"}}}}}}
}

// celsius is an output schema that is easily broken.
var celsius = &jsonschema.Schema{
	Type:       "object",
	Properties: map[string]*jsonschema.Schema{"celsius": {Type: "number"}, "note": {Type: "string"}},
	Required:   []string{"celsius"},
}

// panics makes a handler that panics with v.
func panics(v any) mcp.ToolHandler {
	return makes(func() *mcp.CallToolResult { panic(v) })
}

// returns makes a handler that returns a copy of res, since go-sdk writes to it.
func returns(res *mcp.CallToolResult) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if res == nil {
			return nil, nil
		}
		copied := *res
		return &copied, nil
	}
}

// outputs makes a typed handler whose output is v.
func outputs(v any) mcp.ToolHandlerFor[input, any] {
	return func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, v, nil
	}
}

// text is a result of one text block.
func text(s string) *mcp.CallToolResult { return content(&mcp.TextContent{Text: s}) }

// content is a result of these blocks.
func content(blocks ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: blocks} }

// structured is a result with structured content.
func structured(v any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "see the structured content"}}, StructuredContent: v}
}

type marshaler func() ([]byte, error)

func (m marshaler) MarshalJSON() ([]byte, error) { return m() }

// foreign is a content block of a type outside go-sdk.
type foreign struct {
	*mcp.TextContent
	marshal func() ([]byte, error)
}

func (f foreign) MarshalJSON() ([]byte, error) { return f.marshal() }

func cyclicMap() map[string]any {
	m := map[string]any{}
	m["self"] = m
	return m
}
