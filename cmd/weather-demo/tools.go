package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/landmine"
)

// newServer is a server with every style of the weather tool, the two smallest
// examples, and two tools that ask nothing.
func newServer(rt *mrtr.Runtime, audit *options.Audit, withLandmine bool) *mcp.Server {
	server := mcp.NewServer(implementation, nil)
	for _, o := range options.All {
		mcp.AddTool(server, tool(o), o.New(rt, audit))
	}
	if withLandmine {
		for _, o := range landmine.All {
			mcp.AddTool(server, tool(o), o.New(rt, audit))
		}
	}
	mcp.AddTool(server, &mcp.Tool{
		Name:        "greet",
		Description: "A greeting. Asks for a name.",
		Annotations: readOnly,
	}, options.Basic(rt))
	mcp.AddTool(server, &mcp.Tool{
		Name:        "resolve_work_item",
		Description: "Resolves a work item. Asks how.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: true},
	}, options.MultiRound(rt))
	mcp.AddTool(server, &mcp.Tool{
		Name:        "places",
		Description: "The places whose weather is known. Asks nothing.",
		Annotations: readOnly,
	}, listPlaces)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "forecasts",
		Description: "The weather at several places, in metric units. A place may fail alone. Asks nothing.",
		Annotations: readOnly,
	}, forecasts)
	return server
}

func tool(o options.Option) *mcp.Tool {
	return &mcp.Tool{
		Name:        o.Tool(),
		Description: "The weather at a place. " + o.Lesson,
		Annotations: readOnly,
	}
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true}

type placeList struct {
	Places []string `json:"places"`
}

func listPlaces(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, placeList, error) {
	return nil, placeList{options.Places()}, nil
}

type placesWanted struct {
	Locations []string `json:"locations" jsonschema:"the names of places"`
}

// forecasts looks the places up four at a time. One that is unknown, or fits several,
// fails alone, and the agent repeats it alone.
func forecasts(ctx context.Context, _ *mcp.CallToolRequest, in placesWanted) (*mcp.CallToolResult, boundary.Batch[options.Report], error) {
	itself := func(location string) string { return location }
	batch, err := boundary.Each(ctx, in.Locations, itself, forecast, &boundary.BatchOptions{Parallel: 4})
	return nil, batch, err
}

func forecast(_ context.Context, location string) (options.Report, error) {
	found, err := options.Find(location)
	if err != nil {
		return options.Report{}, err
	}
	if len(found) > 1 {
		return options.Report{}, &boundary.Selector{Kind: boundary.Ambiguous, Selector: "locations", Candidates: found}
	}
	return options.NewReport(found[0], "metric"), nil
}
