package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func addPrompts(s *mcp.Server) {
	s.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "A prompt without arguments."}, simplePrompt)
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "A prompt with two arguments.", Arguments: []*mcp.PromptArgument{
		{Name: "arg1", Description: "The first.", Required: true},
		{Name: "arg2", Description: "The second.", Required: true},
	}}, promptWithArguments)
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A prompt about a resource.", Arguments: []*mcp.PromptArgument{
		{Name: "resourceUri", Description: "The resource's address.", Required: true},
	}}, promptWithResource)
	s.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "A prompt about an image."}, promptWithImage)
}

func simplePrompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return messages(&mcp.TextContent{Text: "This is a simple prompt for testing."}), nil
}

func promptWithArguments(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	args := req.Params.Arguments
	return messages(&mcp.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])}), nil
}

func promptWithResource(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return messages(
		embedded(req.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."),
		&mcp.TextContent{Text: "Please process the embedded resource above."},
	), nil
}

func promptWithImage(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return messages(
		&mcp.ImageContent{Data: pixel, MIMEType: "image/png"},
		&mcp.TextContent{Text: "Please analyze the image above."},
	), nil
}

func messages(contents ...mcp.Content) *mcp.GetPromptResult {
	var result mcp.GetPromptResult
	for _, content := range contents {
		result.Messages = append(result.Messages, userSays(content))
	}
	return &result
}

func userSays(content mcp.Content) *mcp.PromptMessage {
	return &mcp.PromptMessage{Role: "user", Content: content}
}

// complete proposes how an argument may go on.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, word := range []string{"paris", "park", "party", "test"} {
		if strings.HasPrefix(word, req.Params.Argument.Value) {
			values = append(values, word)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
