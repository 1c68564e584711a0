package misbehaving

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Celsius is an output schema that is easily broken.
var Celsius = &jsonschema.Schema{
	Type:       "object",
	Properties: map[string]*jsonschema.Schema{"celsius": {Type: "number"}, "note": {Type: "string"}},
	Required:   []string{"celsius"},
}

// Panics makes a handler that panics with v.
func Panics(v any) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic(v) }
}

// Returns makes a handler that returns a copy of res, since go-sdk writes to it.
func Returns(res *mcp.CallToolResult) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if res == nil {
			return nil, nil
		}
		copied := *res
		return &copied, nil
	}
}

// Outputs makes a typed handler whose output is v.
func Outputs(v any) mcp.ToolHandlerFor[Input, any] {
	return func(context.Context, *mcp.CallToolRequest, Input) (*mcp.CallToolResult, any, error) {
		return nil, v, nil
	}
}

// Text is a result of one text block.
func Text(s string) *mcp.CallToolResult { return Content(&mcp.TextContent{Text: s}) }

// Content is a result of these blocks.
func Content(blocks ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: blocks} }

// Structured is a result with structured content.
func Structured(v any) *mcp.CallToolResult {
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
