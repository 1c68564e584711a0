package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addContents registers a tool for each kind of content a result can hold.
func addContents(s *mcp.Server) {
	text := &mcp.TextContent{Text: "This is a simple text response for testing."}
	image := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	audio := &mcp.AudioContent{Data: silence, MIMEType: "audio/wav"}
	note := embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
	data := embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)

	add(s, "test_simple_text", "Answers with text.", always(text))
	add(s, "test_image_content", "Answers with an image.", always(image))
	add(s, "test_audio_content", "Answers with a sound.", always(audio))
	add(s, "test_embedded_resource", "Answers with a resource.", always(note))
	add(s, "test_multiple_content_types", "Answers with text, an image and a resource.", always(text, image, data))
}

// always is a tool with one answer.
func always(content ...mcp.Content) mcp.ToolHandlerFor[nothing, any] {
	return func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: content}, nil, nil
	}
}

func embedded(uri, mimeType, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}
