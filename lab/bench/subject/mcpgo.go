package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// mcpGoServer serves the same tools with mcp-go, written by hand. As it comes mcp-go checks
// neither arguments nor output against their schemas, and its state is not protected.
func mcpGoServer(tools int, opts ...server.ServerOption) *server.MCPServer {
	s := server.NewMCPServer("server", "1", append(opts, server.WithToolCapabilities(false), server.WithElicitation())...)
	add := func(name string, handler mcp.TypedToolHandlerFunc[query]) {
		s.AddTool(mcp.NewTool(name, mcp.WithInputSchema[query](), mcp.WithOutputSchema[report]()), mcp.NewTypedToolHandler(handler))
	}
	sky := func(_ context.Context, _ mcp.CallToolRequest, q query) (*mcp.CallToolResult, error) {
		place, err := find(q)
		return mcp.NewToolResultStructured(place, place.Text()), err
	}
	add("weather", func(_ context.Context, req mcp.CallToolRequest, q query) (*mcp.CallToolResult, error) {
		place, err := find(q)
		if err != nil {
			return nil, err
		}
		answer := server.ElicitationResponse(req.Params.InputResponses, "units")
		if answer == nil {
			return server.NewInputRequestBuilder(place.Location).Elicit("units", mcp.ElicitationParams{
				Mode: mcp.ElicitationModeForm, Message: whichUnits, RequestedSchema: json.RawMessage(unitsSchema),
			}).ToolResult(), nil
		}
		said, _ := answer.Content.(map[string]any)
		units, _ := said["units"].(string)
		if place, err = place.in(units); err != nil || answer.Action != mcp.ElicitationResponseActionAccept {
			return mcp.NewToolResultError("no units"), nil
		}
		return mcp.NewToolResultStructured(place, place.Text()), nil
	})
	add("sky", sky)
	for _, name := range others(tools) {
		add(name, sky)
	}
	return s
}

// validating is mcp-go as we would set it.
var validating = []server.ServerOption{server.WithInputSchemaValidation(), server.WithOutputSchemaValidation()}

func mcpGo(opts ...server.ServerOption) func(tools int) (http.Handler, error) {
	return func(tools int) (http.Handler, error) {
		return server.NewStreamableHTTPServer(mcpGoServer(tools, opts...), server.WithStateLess(true)), nil
	}
}

func mcpGoStdio(tools int) error {
	return server.NewStdioServer(mcpGoServer(tools)).Listen(context.Background(), os.Stdin, os.Stdout)
}
