package main

import (
	"context"
	"net/http"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mrtr-go/sdk/options"
)

// mcpGoHandler serves the same two tools with mcp-go, written by hand and as
// unprotected as bare.
func mcpGoHandler() http.Handler {
	s := server.NewMCPServer("server", "1", server.WithToolCapabilities(false), server.WithElicitation(),
		server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
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
	s.AddTool(mcp.NewTool("questions", mcp.WithInputSchema[many](), mcp.WithOutputSchema[answered]()),
		mcp.NewTypedToolHandler(func(_ context.Context, req mcp.CallToolRequest, in many) (*mcp.CallToolResult, error) {
			n := 0
			if state := req.Params.RequestState; state != "" {
				asked, err := strconv.Atoi(state)
				if err != nil {
					return nil, err
				}
				answer := server.ElicitationResponse(req.Params.InputResponses, questionKey(asked))
				if answer == nil || answer.Action != mcp.ElicitationResponseActionAccept {
					return mcp.NewToolResultError("no answer"), nil
				}
				n = asked + 1
			}
			if n < in.Questions {
				return server.NewInputRequestBuilder(strconv.Itoa(n)).Elicit(questionKey(n), mcp.ElicitationParams{
					Mode: mcp.ElicitationModeForm, Message: "Which one?", RequestedSchema: schemaOf(n),
				}).ToolResult(), nil
			}
			out := answered{n}
			return mcp.NewToolResultStructured(out, out.Text()), nil
		}))
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true))
}
