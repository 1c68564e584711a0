package misbehaving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/probe"
)

// failing are the tools that return an error. An error that would keep the processor
// of a server without a boundary busy for ever sleeps in the end until release is
// closed.
func failing(release <-chan struct{}) []Case {
	return []Case{
		{Name: "error_plain_raw", Explanation: "a raw handler's error goes out as a protocol error with code 0", Raw: fails(errors.New("the station is closed")), Want: probe.ErrorResult, Type: "execution"},
		{Name: "error_plain_typed", Explanation: "what every tool does", Typed: raises(errors.New("the station is closed")), Want: probe.ErrorResult, Type: "execution"},
		{Name: "error_empty", Explanation: "an error without a text leaves the model nothing to read", Typed: raises(errors.New("")), Want: probe.ErrorResult, Type: "execution"},
		{Name: "error_typed_nil", Explanation: "a nil pointer as a non-nil error, whose Error method panics", Raw: fails((*fragile)(nil)), Want: probe.ErrorResult, Type: "internal"},
		{Name: "error_panics", Explanation: "the same behind the typed handling", Typed: raises((*fragile)(nil)), Want: probe.ErrorResult, Type: "internal"},
		{Name: "error_by_hand", Explanation: "isError without a word", Raw: Returns(&mcp.CallToolResult{IsError: true}), Want: probe.ErrorResult, Type: "execution"},
		{Name: "error_structured", Explanation: "an error with structured content that breaks the output schema", Raw: Returns(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no"}}, StructuredContent: map[string]any{"celsius": "warm"}}), Output: Celsius, Want: probe.ErrorResult, Type: "execution"},
		{Name: "protocol_bare", Explanation: "a refused state is meant for the client", Typed: raises(BadState), Want: probe.ProtocolError},
		{Name: "protocol_bare_raw", Explanation: "the same from a raw handler, with data", Raw: fails(MissingCapability), Want: probe.ProtocolError},
		{Name: "protocol_wrapped", Explanation: "an error from another server that was wrapped is this tool's own", Typed: raises(fmt.Errorf("asking the other server: %w", BadState)), Want: probe.ErrorResult, Type: "execution"},
		{Name: "protocol_wrapped_raw", Explanation: "the same from a raw handler", Raw: fails(fmt.Errorf("asking the other server: %w", BadState)), Want: probe.ErrorResult, Type: "execution"},
		{Name: "protocol_kept", Explanation: "a Protocol keeps code and data through wrapping", Typed: raises(fmt.Errorf("outer: %w", &boundary.Protocol{Code: -32000, Message: "busy", Data: json.RawMessage(`{"retry":1}`)})), Want: probe.ProtocolError},
		{Name: "protocol_no_code", Explanation: "code 0 is no code", Raw: fails(&jsonrpc.Error{Message: "what"}), Want: probe.ErrorResult, Type: "execution"},
		{Name: "protocol_bad_data", Explanation: "data that is no JSON cannot be sent", Raw: fails(&jsonrpc.Error{Code: -32000, Message: "what", Data: json.RawMessage(`{`)}), Want: probe.ErrorResult, Type: "execution"},
		{Name: "protocol_withdrawn", Explanation: "revision 2026-07-28 withdrew the code; before, it asked for a visit to an address", Raw: fails(mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", Message: "Sign in.", URL: "https://example.com/", ElicitationID: "1"}})), Want: probe.ErrorResult, Legacy: probe.ProtocolError, Type: "withdrawn_code"},
		{Name: "protocol_nil", Explanation: "a nil *jsonrpc.Error as a non-nil error", Typed: raises((*jsonrpc.Error)(nil)), Want: probe.ErrorResult, Type: "internal"},
		{Name: "cancelled_upstream", Explanation: "a context error of something else's context", Typed: raises(fmt.Errorf("dial: %w", context.Canceled)), Want: probe.ErrorResult, Type: "execution"},
		{Name: "error_endless", Explanation: "an error that unwraps to itself; the SDK looks for its code for ever", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &endless{release: release}
		}, Want: probe.ErrorResult, Type: "execution"},
	}
}

// BadState and MissingCapability are protocol errors intended for the client.
var (
	BadState = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid or expired requestState"}

	MissingCapability = &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Message: "missing capability",
		Data: json.RawMessage(`{"requiredCapabilities":{"elicitation":{}}}`),
	}
)

func fails(err error) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, err }
}

func raises(err error) mcp.ToolHandlerFor[Input, any] {
	return func(context.Context, *mcp.CallToolRequest, Input) (*mcp.CallToolResult, any, error) {
		return nil, nil, err
	}
}

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
