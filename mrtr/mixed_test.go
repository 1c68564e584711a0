package mrtr_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
)

// Instances that leave their states legible and instances that do not take up each
// other's calls, in every round, with the answers and effects of the rounds before.
func TestReadableAndSealedInstancesTakeUpEachOthersCalls(t *testing.T) {
	key, err := statecodec.NewKey(bytes.Repeat([]byte{7, 11, 13, 17, 19, 23, 29, 31}, 4))
	require.NoError(t, err)
	type input struct{}
	first, second := mrtr.Choose("first", "First?", mrtr.Choices("a", "b")...), mrtr.Elicit[int]("second", "Second?")
	looked := 0
	instance := func(readable bool) mcp.ToolHandlerFor[input, output] {
		rt, err := mrtr.New(&mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}, Readable: readable}})
		require.NoError(t, err)
		return mrtr.Tool(rt, mrtr.Journal(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
			a, err := mrtr.Ask(ctx, c, first)
			if err != nil {
				return output{}, err
			}
			found, err := mrtr.Once(ctx, c, "look", func(context.Context, string) (string, error) { looked++; return "found " + a, nil })
			if err != nil {
				return output{}, err
			}
			n, err := mrtr.Ask(ctx, c, second)
			return output{found + string(rune('0'+n))}, err
		}), nil)
	}
	instances := []mcp.ToolHandlerFor[input, output]{instance(false), instance(true)}
	meta := mcp.Meta{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientCapabilities: map[string]any{"elicitation": map[string]any{"form": map[string]any{}}},
	}
	answers := []map[string]any{nil, {"first": "b"}, {"second": 3.0}}
	for path := range 8 { // which instance serves each of three rounds
		looked = 0
		token := ""
		for round, answer := range answers {
			req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: meta, Name: "tool", Arguments: json.RawMessage(`{}`), RequestState: token}}
			for name := range answer {
				req.Params.InputResponses = mcp.InputResponseMap{name: &mcp.ElicitResult{Action: "accept", Content: answer}}
			}
			res, out, err := instances[path>>round&1](t.Context(), req, input{})
			require.NoError(t, err, "path %b, round %d", path, round+1)
			if round < 2 {
				require.Len(t, res.InputRequests, 1)
				token = res.RequestState
				continue
			}
			require.Equal(t, "found b3", out.Said)
		}
		require.Equal(t, 1, looked, "path %b", path)
	}
}
