package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

type chosen struct {
	Units string `json:"units"`
}

type place struct {
	Location string `json:"location"`
}

// engineAlone makes the two rounds of a call through a tool's handler, without a
// transport: with the engine, all protections on, or trusting whatever comes back.
func engineAlone(name string) (made, error) {
	var h mcp.ToolHandlerFor[place, chosen]
	switch name {
	case "bare":
		h = trusting
	case "protected":
		rt, err := mrtr.New(nil)
		if err != nil {
			return made{}, err
		}
		units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
		h = mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ place) (*mrtr.IncompleteResult, chosen, error) {
			answer, ok := mrtr.Answer(c, units)
			if !ok {
				return mrtr.Need(units), chosen{}, nil
			}
			return nil, chosen{answer}, nil
		}), nil)
	default:
		return unknown(name)
	}
	ctx, lisbon, arguments := context.Background(), place{"Lisbon"}, json.RawMessage(`{"location":"Lisbon"}`)
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	return work(func() error {
		first := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: arguments}}
		res, _, err := h(ctx, first, lisbon)
		if err != nil || len(res.InputRequests) != 1 {
			return fmt.Errorf("nothing is asked: %v, %w", res, err)
		}
		second := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
			Meta: meta, Name: "tool", Arguments: arguments, RequestState: res.RequestState,
			InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
		}}
		_, out, err := h(ctx, second, lisbon)
		if err == nil && out.Units != "metric" {
			err = fmt.Errorf("the call came to %v", out)
		}
		return err
	})
}

func trusting(_ context.Context, req *mcp.CallToolRequest, _ place) (*mcp.CallToolResult, chosen, error) {
	answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{RequestState: "s", InputRequests: askUnits()}, chosen{}, nil
	}
	units, _ := answer.Content["units"].(string)
	return nil, chosen{units}, nil
}
