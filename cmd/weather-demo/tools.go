package main

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/tasks"
)

// newServer is a server with the tools of the demo.
func newServer(rt *mrtr.Runtime, audit *options.Audit, withLandmine bool) *mcp.Server {
	server := mcp.NewServer(weather.Implementation, nil)
	addTools(server, rt, audit, withLandmine)
	return server
}

// addTools adds every style of the weather tool, the two smallest examples, and two
// tools that ask nothing.
func addTools(server *mcp.Server, rt *mrtr.Runtime, audit *options.Audit, withLandmine bool) {
	styles := options.All
	if withLandmine {
		styles = weather.Styles()
	}
	for _, o := range styles {
		mrtr.AddTool(server, weather.Tool(o), o.New(rt, audit))
	}
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "greet",
		Description: "A greeting. Asks for a name.",
		Annotations: weather.ReadOnly,
	}, options.Basic(rt))
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "resolve_work_item",
		Description: "Resolves a work item. Asks how.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), IdempotentHint: true},
	}, options.MultiRound(rt))
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "places",
		Description: "The places whose weather is known. Asks nothing.",
		Annotations: weather.ReadOnly,
	}, listPlaces)
	mrtr.AddTool(server, &mcp.Tool{
		Name:        "forecasts",
		Description: "The weather at several places, in metric units. A place may fail alone. Asks nothing.",
		Annotations: weather.ReadOnly,
	}, forecasts)
}

// serveTasks makes every call of a tool that asks a task, for the clients that take tasks.
func serveTasks(server *mcp.Server, rt *mrtr.Runtime) (*tasks.Manager, error) {
	policy := map[string]tasks.Policy{"greet": {AtOnce: true}, "resolve_work_item": {AtOnce: true}}
	for _, o := range weather.Styles() {
		policy[weather.Tool(o).Name] = tasks.Policy{AtOnce: true}
	}
	return tasks.Install(server, &tasks.Options{Runtime: rt, Policy: policy})
}

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
