// Command bare serves one tool that asks two questions, one after the other,
// written with go-sdk alone. Over stdio, where go-sdk serves both eras, a
// modern client completes it and a legacy client does not: the contrast that
// the tests of interop hold.
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type input struct {
	Location string `json:"location"`
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "weather_bare"}, weather)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// weather keeps the place in the state, since a retry carries the latest
// answers only.
func weather(_ context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
	place := req.Params.RequestState
	if place == "" {
		if place = answer(req, "place"); place == "" {
			return ask("place", "Which Springfield?", "Springfield, Illinois", "Springfield, Missouri"), nil, nil
		}
	}
	units := answer(req, "units")
	if units == "" {
		result := ask("units", "Which units?", "metric", "imperial")
		result.RequestState = place
		return result, nil, nil
	}
	text := &mcp.TextContent{Text: "Weather in " + place + ", " + units + "."}
	return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil
}

func answer(req *mcp.CallToolRequest, key string) string {
	result, _ := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if result == nil {
		return ""
	}
	text, _ := result.Content[key].(string)
	return text
}

func ask(key, message string, choices ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: &mcp.ElicitParams{
		Message: message,
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{key: map[string]any{"type": "string", "enum": choices}},
			"required":   []string{key},
		},
	}}}
}
