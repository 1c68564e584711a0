//go:build !race

package mrtr_test

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
)

// A call of two rounds through the tool's handler alone, without a transport, beside a handler
// that does nothing with its state.

type benchInput struct {
	Location string `json:"location"`
}

type benchTool = mcp.ToolHandlerFor[benchInput, kit.Output]

// bare trusts whatever comes back.
func bare(_ context.Context, req *mcp.CallToolRequest, _ benchInput) (*mcp.CallToolResult, kit.Output, error) {
	answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{RequestState: "s", InputRequests: benchAsk()}, kit.Output{}, nil
	}
	v, _ := answer.Content["units"].(string)
	return nil, kit.Output{Said: v}, nil
}

func benchAsk() mcp.InputRequestMap {
	return mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: "Which units?", RequestedSchema: benchSchema}}
}

var benchSchema = json.RawMessage(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)

func engine(b testing.TB, opts *mrtr.Options) benchTool {
	rt, err := mrtr.New(opts)
	require.NoError(b, err)
	return mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ benchInput) (*mrtr.IncompleteResult, kit.Output, error) {
		v, ok := mrtr.Answer(c, kit.Units)
		if !ok {
			return mrtr.Need(kit.Units), kit.Output{}, nil
		}
		return nil, kit.Output{Said: v}, nil
	}), nil)
}

// twoRounds makes one call as a modern client does.
func twoRounds(b testing.TB, h benchTool, meta mcp.Meta, arguments json.RawMessage) {
	ctx := context.Background()
	first := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: arguments}}
	res, _, err := h(ctx, first, benchInput{})
	if err != nil || len(res.InputRequests) != 1 {
		b.Fatal(err, res)
	}
	second := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: meta, Name: "tool", Arguments: arguments, RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"units": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"units": "metric"}}},
	}}
	_, out, err := h(ctx, second, benchInput{})
	if err != nil || out.Said != "metric" {
		b.Fatal(err, out)
	}
}

// The engine adds few and small allocations to the two rounds of a call, beside those
// of a handler that asks by hand. They do not depend on the machine. The race detector
// makes pools forget at random.
func TestTwoRoundsStayWithinTheirBudget(t *testing.T) {
	const (
		mostAllocations = 12
		mostBytes       = 3800
	)
	meta := kit.ModernMeta()
	arguments := json.RawMessage(`{"location":"Lisbon"}`)
	cost := func(h benchTool) (allocations, bytes float64) {
		call := func() { twoRounds(t, h, meta, arguments) }
		allocations = testing.AllocsPerRun(1000, call)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const n = 1000
		for range n {
			call()
		}
		runtime.ReadMemStats(&after)
		return allocations, float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	bareAllocations, bareBytes := cost(bare)
	allocations, bytes := cost(engine(t, nil))
	t.Logf("the engine adds %.0f allocations and %.0f bytes", allocations-bareAllocations, bytes-bareBytes)
	require.LessOrEqual(t, allocations-bareAllocations, float64(mostAllocations))
	require.LessOrEqual(t, bytes-bareBytes, float64(mostBytes))
}

// What a round allocates grows with its answers by a few bytes for each of theirs, however
// many there are.
func TestAllocationGrowsEvenlyWithAnswers(t *testing.T) {
	kit.Differs(t, "a record of the round holds the answers too")
	const mostPerByte = 13
	rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 1 << 20}})
	tool := kit.NewTrip(rt, mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		return kit.Out{Plan: kit.Ask(s, kit.Text("first"))[:1] + kit.Ask(s, kit.Text("second"))}, nil
	})), "")
	allocated := func(length int) float64 {
		first, long := tool.Begin(), strings.Repeat("x", length)
		var before, after runtime.MemStats
		const n = 20
		runtime.ReadMemStats(&before)
		for range n {
			last := tool.Answer(tool.Answer(first, long), "y")
			require.Equal(t, "xy", last.Plan, last.Err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	short, long, longer := allocated(1), allocated(25_000), allocated(100_000)
	t.Logf("%.1f and %.1f bytes for each byte of an answer", (long-short)/25_000, (longer-short)/100_000)
	require.Less(t, (long-short)/25_000, float64(mostPerByte))
	require.Less(t, (longer-short)/100_000, float64(mostPerByte))
}
