package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
)

// mcpGoHandler serves the weather with mcp-go, by hand and unprotected as bare
// does.
func mcpGoHandler() http.Handler {
	s := server.NewMCPServer("server", "1", server.WithToolCapabilities(false), server.WithElicitation(),
		server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
	log := audit()
	s.AddTool(mcp.NewTool("weather", mcp.WithInputSchema[options.Query](), mcp.WithOutputSchema[options.Report]()),
		mcp.NewTypedToolHandler(func(_ context.Context, req mcp.CallToolRequest, q options.Query) (*mcp.CallToolResult, error) {
			answer := server.ElicitationResponse(req.Params.InputResponses, "units")
			if answer == nil {
				found, err := options.Find(q.Location)
				if err != nil {
					return nil, err
				}
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

func dialMCPGo(b *testing.B, url string, web *http.Client) (call func()) {
	wire, err := transport.NewStreamableHTTP(url, transport.WithHTTPBasicClient(web))
	require.NoError(b, err)
	peer := client.NewClient(wire, client.WithElicitationHandler(metric{}))
	b.Cleanup(func() { peer.Close() })
	require.NoError(b, peer.Start(context.Background()))
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "client", Version: "1"}
	_, err = peer.Initialize(context.Background(), hello)
	require.NoError(b, err)
	return func() {
		res, err := peer.CallTool(context.Background(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "weather", Arguments: arguments}})
		if err != nil {
			b.Error(err)
			return
		}
		if text, ok := res.Content[0].(mcp.TextContent); !ok || text.Text != weatherText {
			b.Errorf("the call came to %v", res)
		}
	}
}

// metric is a user who likes it so.
type metric struct{}

func (metric) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"units": "metric"},
	}}, nil
}
