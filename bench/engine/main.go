// Command engine is the subject that measures the engine alone: two rounds of a
// call through the tool's handler, without a transport. It is a program of its
// own, and uses few of our names, so that it can be built with the engine's
// first version too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/bench/internal/subject"
	"github.com/mrtr-go/sdk/mrtr"
)

type input struct {
	Location string `json:"location"`
}

type output struct {
	Units string `json:"units"`
}

type tool = mcp.ToolHandlerFor[input, output]

var unitsSchema = json.RawMessage(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)

// bare trusts whatever comes back.
func bare(_ context.Context, req *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, output, error) {
	answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{
			"units": &mcp.ElicitParams{Mode: "form", Message: "Which units?", RequestedSchema: unitsSchema},
		}}, output{}, nil
	}
	units, _ := answer.Content["units"].(string)
	return nil, output{units}, nil
}

// protected is the same with the engine, all protections on.
func protected() (tool, error) {
	rt, err := mrtr.New(nil)
	if err != nil {
		return nil, err
	}
	units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
	return mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		chosen, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), output{}, nil
		}
		return nil, output{chosen}, nil
	}), nil), nil
}

// twoRounds makes one call as a modern client does.
func twoRounds(h tool, meta mcp.Meta, arguments json.RawMessage) error {
	ctx := context.Background()
	first := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: arguments}}
	res, _, err := h(ctx, first, input{"Lisbon"})
	if err != nil || len(res.InputRequests) != 1 {
		return fmt.Errorf("nothing is asked: %v, %w", res, err)
	}
	second := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta, Name: "tool", Arguments: arguments, RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}
	_, out, err := h(ctx, second, input{"Lisbon"})
	if err == nil && out.Units != "metric" {
		err = fmt.Errorf("the call came to %v", out)
	}
	return err
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "engine:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	handlers := map[string]func() (tool, error){
		"bare":      func() (tool, error) { return bare, nil },
		"protected": protected,
	}
	if len(arguments) != 1 || handlers[arguments[0]] == nil {
		return errors.New("one argument is wanted: bare or protected")
	}
	h, err := handlers[arguments[0]]()
	if err != nil {
		return err
	}
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	lisbon := json.RawMessage(`{"location":"Lisbon"}`)
	return subject.Converse("-", subject.Times(func() error { return twoRounds(h, meta, lisbon) }))
}
