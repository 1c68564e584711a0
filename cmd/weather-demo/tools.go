package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

// newServer is a server with every style of the weather tool, the two smallest examples,
// and a tool that asks nothing.
func newServer(rt *mrtr.Runtime, card *options.Card, withLandmine bool) *mcp.Server {
	server := mcp.NewServer(weather.Implementation, nil)
	styles := options.All
	if withLandmine {
		styles = weather.Styles()
	}
	for _, o := range styles {
		mrtr.AddTool(server, weather.Tool(o), o.New(rt, card))
	}
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "greet",
		Description: "A greeting. Asks for a name.",
		Annotations: readOnly,
	}, options.Basic(rt))
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "resolve_work_item",
		Description: "Resolves a work item. Asks how.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: true},
	}, options.MultiRound(rt))
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "places",
		Description: "The places whose weather is known. Asks nothing.",
		Annotations: readOnly,
	}, listPlaces)
	return server
}

type placeList struct {
	Places []string `json:"places"`
}

func listPlaces(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, placeList, error) {
	return nil, placeList{options.Places()}, nil
}
