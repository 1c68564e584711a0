package misbehaving

import (
	"context"
	"errors"
	"runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
)

// noResult are the tools that return no result, or a malformed one.
func noResult() []Case {
	return []Case{
		{Name: "nil_nil", Explanation: "neither a result nor an error", Raw: Returns(nil), Want: probe.ErrorResult, Type: "no_result"},
		{Name: "result_and_error", Explanation: "both: the error counts", Raw: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return Text("fine"), errors.New("not fine")
		}, Want: probe.ErrorResult, Type: "execution"},
		{Name: "nil_content_element", Explanation: "a nil interface among the blocks", Raw: Returns(Content(nil)), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "typed_nil_text", Explanation: "a nil pointer in a non-nil interface", Raw: Returns(Content((*mcp.TextContent)(nil))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "typed_nil_image", Explanation: "the same in another type", Raw: Returns(Content((*mcp.ImageContent)(nil))), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "nil_element_among_good", Explanation: "good blocks around it do not help", Raw: Returns(Content(&mcp.TextContent{Text: "a"}, nil, &mcp.TextContent{Text: "b"})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "resource_missing", Explanation: "an embedded resource that embeds nothing", Raw: Returns(Content(&mcp.EmbeddedResource{})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "resource_empty", Explanation: "an empty text resource loses its text on the wire", Raw: Returns(Content(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a"}})), Want: probe.Complete},
		{Name: "link_unnamed", Explanation: "a resource link needs a name", Raw: Returns(Content(&mcp.ResourceLink{URI: "file:///a"})), Want: probe.Complete},
		{Name: "tool_use_content", Explanation: "a block that belongs in sampling messages", Raw: Returns(Content(&mcp.ToolUseContent{ID: "1", Name: "x"})), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "foreign_content", Explanation: "a type of the author's own that marshals to a good block", Raw: Returns(Content(foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"text","text":"foreign"}`), nil }})), Want: probe.Complete},
		{Name: "foreign_content_error", Explanation: "its MarshalJSON fails", Raw: Returns(Content(foreign{marshal: func() ([]byte, error) { return nil, errors.New("no") }})), Want: probe.ErrorResult, Type: "malformed_result"},
		{Name: "foreign_content_panic", Explanation: "its MarshalJSON panics, after the handler has returned", Raw: Returns(Content(foreign{marshal: func() ([]byte, error) { panic("boom") }})), Want: probe.ErrorResult, Type: "internal"},
		{Name: "foreign_content_goexit", Explanation: "its MarshalJSON ends the goroutine", Raw: Returns(Content(foreign{marshal: func() ([]byte, error) { runtime.Goexit(); return nil, nil }})), Want: probe.ErrorResult, Type: "internal"},
		{Name: "foreign_content_type", Explanation: "it marshals to a block that no protocol knows", Raw: Returns(Content(foreign{marshal: func() ([]byte, error) { return []byte(`{"type":"hologram"}`), nil }})), NoResource: true, Want: probe.ErrorResult, Type: "malformed_result"},
	}
}
