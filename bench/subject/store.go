package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// beforeRenewal is how many calls one store serves. Their records live for an hour, so
// that one store for a whole measurement would hold more than that of a server does.
const beforeRenewal = 10_000

type storeInput struct {
	Location string `json:"location"`
}

type storeOutput struct {
	Units string `json:"units"`
}

// storeCalls makes calls of two rounds through the tool's handler: without a store,
// without one and with two bare writes beside, and with rounds that are remembered.
func storeCalls(name string) (made, error) {
	if name != "without" && name != "beside" && name != "remembered" {
		return unknown(name)
	}
	units := mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)
	style := mrtr.Native(func(_ context.Context, c *mrtr.Call, _ storeInput) (*mrtr.IncompleteResult, storeOutput, error) {
		chosen, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), storeOutput{}, nil
		}
		return nil, storeOutput{chosen}, nil
	})
	first, second := bytes.Repeat([]byte("1"), 400), bytes.Repeat([]byte("2"), 400)
	var memory *store.Memory
	var epoch string
	var rt *mrtr.Runtime
	var tool mcp.ToolHandlerFor[storeInput, storeOutput]
	ctx, n := context.Background(), 0
	renew := func() (err error) {
		memory = store.NewMemory(nil)
		if epoch, err = memory.Epoch(ctx); err != nil {
			return err
		}
		var opts mrtr.Options
		if name == "remembered" {
			opts.Store = memory
		}
		if rt, err = mrtr.New(&opts); err != nil {
			return err
		}
		tool = mrtr.Tool(rt, style, nil)
		return nil
	}
	return work(func() error {
		if n%beforeRenewal == 0 {
			if rt != nil {
				if err := rt.Close(); err != nil {
					return err
				}
			}
			if err := renew(); err != nil {
				return err
			}
		}
		n++
		if err := storedCall(ctx, tool); err != nil || name != "beside" {
			return err
		}
		key := store.Key{Epoch: epoch, Name: "bench." + strconv.Itoa(n)}
		at, err := memory.Create(ctx, key, first, time.Hour)
		if err == nil {
			_, err = memory.Update(ctx, key, at, second, time.Hour)
		}
		return err
	})
}

func storedCall(ctx context.Context, tool mcp.ToolHandlerFor[storeInput, storeOutput]) error {
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	lisbon := json.RawMessage(`{"location":"Lisbon"}`)
	res, _, err := tool(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: lisbon}}, storeInput{"Lisbon"})
	if err != nil || len(res.InputRequests) != 1 {
		return fmt.Errorf("nothing is asked: %v, %w", res, err)
	}
	_, out, err := tool(ctx, &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta, Name: "tool", Arguments: lisbon, RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}, storeInput{"Lisbon"})
	if err == nil && out.Units != "metric" {
		err = fmt.Errorf("the call came to %v", out)
	}
	return err
}
