// Command server serves one tool that asks twice, written by hand on mcp-go, over
// stdio. It writes a line on stderr for each effect.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("weather", "1.0.0", server.WithToolCapabilities(true), server.WithElicitation())
	for _, name := range []string{"weather", "weather_again"} {
		s.AddTool(mcp.NewTool(name, mcp.WithString("location", mcp.Required())), weather)
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}

// weather keeps the place in the state, since a retry carries the latest answers
// only.
func weather(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	place := request.Params.RequestState
	if place == "" {
		if place = answer(request, "place"); place == "" {
			return ask("", "place", "Which place?", "Springfield, Illinois", "Springfield, Missouri")
		}
	}
	units := answer(request, "units")
	if units == "" {
		return ask(place, "units", "Which units?", "metric", "imperial")
	}
	fmt.Fprintln(os.Stderr, "audit")
	return mcp.NewToolResultText(fmt.Sprintf("Weather of %s in %s, %s.", request.GetString("location", ""), place, units)), nil
}

func answer(request mcp.CallToolRequest, key string) string {
	given := server.ElicitationResponse(request.Params.InputResponses, key)
	if given == nil || given.Action != mcp.ElicitationResponseActionAccept {
		return ""
	}
	content, _ := given.Content.(map[string]any)
	text, _ := content[key].(string)
	return text
}

func ask(state, key, message string, choices ...string) (*mcp.CallToolResult, error) {
	return server.NewInputRequestBuilder(state).Elicit(key, mcp.ElicitationParams{
		Mode: mcp.ElicitationModeForm, Message: message,
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{key: map[string]any{"type": "string", "enum": choices}},
			"required":   []string{key},
		},
	}).ToolResult(), nil
}
