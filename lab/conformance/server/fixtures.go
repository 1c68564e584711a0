package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

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

// addReports registers the tools that say something while they run, and the
// one that fails.
func addReports(s *mcp.Server) {
	add(s, "test_tool_with_logging", "Logs three times while it runs.", logSteps)
	add(s, "test_logging_tool", "Logs once, where the caller asked for logs.", logOnce)
	add(s, "test_tool_with_progress", "Reports its progress, where the caller gave a token.", reportProgress)
	add(s, "test_error_handling", "Fails.", fail)
}

// The suite looks at the reports that arrive before the result, so there is a
// pause between two of them.
const pace = 50 * time.Millisecond

func logSteps(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, said, error) {
	for i, step := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			time.Sleep(pace)
		}
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: step}); err != nil {
			return nil, said{}, err
		}
	}
	return nil, said{"Logged three times."}, nil
}

func logOnce(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, said, error) {
	err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "The tool ran."})
	return nil, said{"Logged, if anybody wanted it."}, err
}

func reportProgress(ctx context.Context, req *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, said, error) {
	token := req.Params.GetProgressToken()
	for _, progress := range []float64{0, 50, 100} {
		if token != nil {
			err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: 100})
			if err != nil {
				return nil, said{}, err
			}
		}
		time.Sleep(pace)
	}
	return nil, said{"Done."}, nil
}

func fail(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, said, error) {
	return nil, said{}, errors.New("this tool always fails")
}

// addChanges registers the tools that change the lists of the server, for clients
// that subscribed to such changes. Each leaves the list as it was.
func addChanges(s *mcp.Server) {
	const guest = "test_guest"
	add(s, "test_trigger_tool_change", "Adds a tool, and removes it.",
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, said, error) {
			add(s, guest, "Comes and goes.", always())
			s.RemoveTools(guest)
			return nil, said{"The tools have changed."}, nil
		})
	add(s, "test_trigger_prompt_change", "Adds a prompt, and removes it.",
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, said, error) {
			s.AddPrompt(&mcp.Prompt{Name: guest, Description: "Comes and goes."}, simplePrompt)
			s.RemovePrompts(guest)
			return nil, said{"The prompts have changed."}, nil
		})
}

// addSchemas registers the tools whose input schema must reach the client as
// it was written.
func addSchemas(s *mcp.Server) {
	mcp.AddTool(s, &mcp.Tool{
		Name:        "json_schema_2020_12_tool",
		Description: "Has a schema of many keywords.",
		InputSchema: json.RawMessage(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"type": "object",
			"$defs": {
				"address": {
					"$anchor": "addressDef",
					"type": "object",
					"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
				}
			},
			"properties": {
				"name": {"type": "string"},
				"address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"},
				"email": {"type": "string"}
			},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]},
			"else": {"required": ["email"]},
			"additionalProperties": false
		}`),
	}, echo)
	mcp.AddTool(s, &mcp.Tool{
		Name:        "test_x_mcp_header",
		Description: "Has an argument that is repeated in a header.",
		InputSchema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"region": {"type": "string", "x-mcp-header": "Region"},
				"level": {"type": "integer"}
			}
		}`),
	}, echo)
}

func echo(_ context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, said, error) {
	return nil, said{string(req.Params.Arguments)}, nil
}

func addResources(s *mcp.Server) {
	text := mcp.ResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."}
	binary := mcp.ResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: pixel}
	watched := mcp.ResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "This is the content of the watched resource."}
	for name, contents := range map[string]mcp.ResourceContents{"static-text": text, "static-binary": binary, "watched": watched} {
		s.AddResource(&mcp.Resource{
			Name: name, URI: contents.URI, MIMEType: contents.MIMEType, Description: "A resource that stays the same.",
		}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			own := contents
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&own}}, nil
		})
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json", Description: "Data by its id.",
	}, readTemplate)
}

type datum struct {
	ID           string `json:"id"`
	TemplateTest bool   `json:"templateTest"`
	Data         string `json:"data"`
}

func readTemplate(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
	text, err := json.Marshal(datum{ID: id, TemplateTest: true, Data: "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "application/json", Text: string(text)}}}, nil
}

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
