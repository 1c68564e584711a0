package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// The call that is measured is the weather in Lisbon, whose units are asked for,
// so it takes two requests.

// style is one of our handlers, by the name of its style.
func style(name string, limits *mrtr.Options) (options.Handler, error) {
	rt, err := mrtr.New(limits)
	if err != nil {
		return nil, err
	}
	for _, s := range options.All {
		if s.Name == name {
			return s.New(rt, audit()), nil
		}
	}
	return nil, errors.New("no such style: " + name)
}

// audit keeps nothing: a log that grows would be measured too.
func audit() *options.Audit { return &options.Audit{Out: func(string) {}} }

// bare asks the same by hand and protects nothing: its state is the name of the
// place, as it is, and whoever holds it can change it. It looks the place up in
// each round, as our styles do.
func bare() options.Handler {
	log := audit()
	return func(_ context.Context, req *mcp.CallToolRequest, q options.Query) (*mcp.CallToolResult, options.Report, error) {
		found, err := options.Find(q.Location)
		if err != nil {
			return nil, options.Report{}, err
		}
		place := req.Params.RequestState
		if place == "" {
			return &mcp.CallToolResult{InputRequests: askUnits(), RequestState: found[0]}, options.Report{}, nil
		}
		answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
		if !ok || answer.Action != "accept" {
			return nil, options.Report{}, errors.New("no units")
		}
		units, ok := answer.Content["units"].(string)
		if !ok || units != "metric" && units != "imperial" {
			return nil, options.Report{}, errors.New("not units")
		}
		log.Record(place)
		report := options.NewReport(place, units)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: report.Text()}}}, report, nil
	}
}

// padded is bare with a state as long as the native style's, which it does not look
// into: its extra cost over bare is the cost of moving the characters.
func padded() (options.Handler, error) {
	native, err := style("native", nil)
	if err != nil {
		return nil, err
	}
	state, err := ask(native)
	if err != nil {
		return nil, err
	}
	handler := bare()
	padding := strings.Repeat("x", len(state)-len("Lisbon"))
	return func(ctx context.Context, req *mcp.CallToolRequest, q options.Query) (*mcp.CallToolResult, options.Report, error) {
		req.Params.RequestState = strings.TrimSuffix(req.Params.RequestState, padding)
		res, report, err := handler(ctx, req, q)
		if err == nil && res.RequestState != "" {
			res.RequestState += padding
		}
		return res, report, err
	}, nil
}

var unitsSchema = json.RawMessage(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)

func askUnits() mcp.InputRequestMap {
	return mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: "Which units?", RequestedSchema: unitsSchema}}
}

// weatherServer serves a handler (bare, padded or one of our styles) as the tool weather.
func weatherServer(name string) (*mcp.Server, error) {
	handler, err := bare(), error(nil)
	switch name {
	case "bare":
	case "padded":
		handler, err = padded()
	default:
		handler, err = style(name, nil)
	}
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, handler)
	return server, nil
}
