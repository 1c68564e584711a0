package misbehaving

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// afterwards are the tools whose code would run, or whose values would change, after
// the handler has returned.
func afterwards(release <-chan struct{}) []Case {
	return []Case{
		{Name: "params_nil", Explanation: "the request belongs to the handler, which sets its Params to nil", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			req.Params = nil
			return Text("fine"), nil
		}, Want: probe.Complete},
		{Name: "params_nil_panic", Explanation: "and panics then", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			req.Params = nil
			panic("boom")
		}, Want: probe.ErrorResult, Type: "internal"},
		{Name: "params_nil_error", Explanation: "or fails", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			req.Params = nil
			return nil, errors.New("no")
		}, Want: probe.ErrorResult, Type: "execution"},
		{Name: "params_nil_asks", Asks: true, Explanation: "or has asked before", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses == nil {
				return Asking(), nil
			}
			req.Params = nil
			return Text("answered"), nil
		}, Want: probe.InputRequired, Legacy: probe.ErrorResult, Type: "execution"},
		{Name: "session_nil", Explanation: "or forgets its session", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			req.Extra = nil
			req.Params.Name, req.Params.Meta = "other", nil
			return Text("fine"), nil
		}, Want: probe.Complete},

		{Name: "hang_in_error", Explanation: "an error whose Error never returns", Raw: fails(saying(func() string { <-release; return "late" })), Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_in_error_typed", Explanation: "the same from a typed handler", Typed: raises(saying(func() string { <-release; return "late" })), Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_in_unwrap", Explanation: "an error whose chain never ends", Raw: fails(&unwrapping{func() error { <-release; return nil }}), Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_in_panic_value", Explanation: "a panic with such an error", Raw: Panics(saying(func() string { <-release; return "late" })), Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_in_meta", Explanation: "a _meta whose MarshalJSON never returns", Raw: Returns(&mcp.CallToolResult{Meta: mcp.Meta{"x": hanging(release)}}), Want: probe.ErrorResult, Type: "timeout"},
		{Name: "hang_in_question", Asks: true, Explanation: "a form whose MarshalJSON never returns", Raw: Returns(asks(&mcp.ElicitParams{Message: "?", RequestedSchema: hanging(release)})), Want: probe.ErrorResult, Legacy: probe.ErrorResult},
		{Name: "error_exits", Explanation: "an error whose Error ends the goroutine", Raw: fails(saying(func() string { runtime.Goexit(); return "" })), Want: probe.ErrorResult, Type: "internal"},
		{Name: "error_twice", Explanation: "an error whose Error panics the second time", Raw: fails(saying(second(func() string { return "no" }))), Want: probe.ErrorResult},
		{Name: "error_described_badly", Explanation: "an error whose description of itself panics", Typed: raises(describedBadly{}), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_value_panics", Explanation: "a panic with an error whose Error panics", Raw: Panics(saying(func() string { panic("again") })), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_value_exits", Explanation: "a panic with an error whose Error ends the goroutine", Raw: Panics(saying(func() string { runtime.Goexit(); return "" })), Want: probe.ErrorResult, Type: "internal"},
		{Name: "panic_runtime", Explanation: "an index out of range", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var none []int
			_ = none[len(none)]
			return nil, nil
		}, Want: probe.ErrorResult, Type: "internal"},

		{Name: "twice_structured", Explanation: "structured content whose MarshalJSON panics the second time", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return Structured(twice(`{"a":1}`)), nil
		}, Want: probe.Complete},
		{Name: "twice_meta", Explanation: "the same in _meta", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: Text("fine").Content, Meta: mcp.Meta{"x": twice(`1`)}}, nil
		}, Want: probe.Complete},
		{Name: "twice_deep_in_meta", Explanation: "deep in it", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: Text("fine").Content, Meta: mcp.Meta{"x": map[string]any{"y": []any{twice(`1`)}}}}, nil
		}, Want: probe.Complete},
		{Name: "twice_block_meta", Explanation: "in the _meta of a block", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return Content(&mcp.TextContent{Text: "a", Meta: mcp.Meta{"x": twice(`1`)}}), nil
		}, Want: probe.Complete},
		{Name: "twice_image_meta", Explanation: "in that of an image", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return Content(&mcp.ImageContent{Data: []byte{1}, MIMEType: "image/png", Meta: mcp.Meta{"x": twice(`1`)}}), nil
		}, Want: probe.Complete},
		{Name: "twice_resource_meta", Explanation: "in that of an embedded resource", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return Content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "a", Meta: mcp.Meta{"x": twice(`1`)}}}), nil
		}, Want: probe.Complete},
		{Name: "twice_block", Explanation: "a block of the author's own type", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return Content(foreign{marshal: twice(`{"type":"text","text":"foreign"}`)}), nil
		}, Want: probe.Complete},
		{Name: "twice_question", Asks: true, Explanation: "the schema of a question", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses != nil {
				return Text("answered"), nil
			}
			return asks(&mcp.ElicitParams{Message: "?", RequestedSchema: twice(`{"type":"object","properties":{}}`)}), nil
		}, Want: probe.InputRequired, Legacy: probe.ErrorResult},
		{Name: "twice_question_meta", Asks: true, Explanation: "the _meta of a question", Raw: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.InputResponses != nil {
				return Text("answered"), nil
			}
			return asks(&mcp.ElicitParams{Message: "?", Meta: mcp.Meta{"x": twice(`1`)}}), nil
		}, Want: probe.InputRequired, Legacy: probe.ErrorResult},
		{Name: "shared_meta", Explanation: "one _meta for all calls, to which go-sdk writes", Raw: Returns(&mcp.CallToolResult{Content: Text("fine").Content, Meta: sharedMeta}), Want: probe.Complete},

		{Name: "protocol_data_not_utf8", Explanation: "an error's data that is not UTF-8", Raw: fails(&jsonrpc.Error{Code: 7, Message: "no", Data: json.RawMessage("\"\xff\"")}), Want: probe.ErrorResult, Elsewhere: probe.ProtocolError, Type: "execution"},
		{Name: "protocol_large", Explanation: "an error far over any limit", Raw: fails(&jsonrpc.Error{Code: 7, Message: strings.Repeat("<", 4*maxResultBytes), Data: json.RawMessage(`"` + strings.Repeat("x", 4*maxResultBytes) + `"`)}), Want: probe.ProtocolError},
		{Name: "protocol_silent", Explanation: "an error without a message", Raw: fails(&jsonrpc.Error{Code: 7}), Want: probe.ProtocolError},
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
