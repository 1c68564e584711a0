package main

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mrtr-go/sdk/options"
)

// mcpGoHandler serves the same tool with mcp-go as it comes, written by hand and as
// unprotected as bare. It checks neither arguments nor output against their schemas,
// unless a server opts in.
func mcpGoHandler() http.Handler {
	s := server.NewMCPServer("server", "1", server.WithToolCapabilities(false), server.WithElicitation())
	log := audit()
	s.AddTool(mcp.NewTool("weather", mcp.WithInputSchema[options.Query](), mcp.WithOutputSchema[options.Report]()),
		mcp.NewTypedToolHandler(func(_ context.Context, req mcp.CallToolRequest, q options.Query) (*mcp.CallToolResult, error) {
			found, err := options.Find(q.Location)
			if err != nil {
				return nil, err
			}
			answer := server.ElicitationResponse(req.Params.InputResponses, "units")
			if answer == nil {
				return server.NewInputRequestBuilder(found[0]).Elicit("units", mcp.ElicitationParams{
					Mode: mcp.ElicitationModeForm, Message: "Which units?", RequestedSchema: unitsSchema,
				}).ToolResult(), nil
			}
			content, _ := answer.Content.(map[string]any)
			units, _ := content["units"].(string)
			if answer.Action != mcp.ElicitationResponseActionAccept || units != "metric" && units != "imperial" {
				return mcp.NewToolResultError("no units"), nil
			}
			place := req.Params.RequestState
			log.Record(place)
			report := options.NewReport(place, units)
			return mcp.NewToolResultStructured(report, report.Text()), nil
		}))
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true))
}
