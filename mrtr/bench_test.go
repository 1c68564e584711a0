package mrtr_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
)

// The benchmarks measure a call of two rounds through the tool's handler
// alone, without a transport: the cost that the engine adds to a handler that
// does nothing with the state, beside the cost of signing it by hand.

type benchInput struct {
	Location string `json:"location"`
}

type benchTool = mcp.ToolHandlerFor[benchInput, output]

// bare trusts whatever comes back.
func bare(_ context.Context, req *mcp.CallToolRequest, _ benchInput) (*mcp.CallToolResult, output, error) {
	answer, ok := req.Params.InputResponses["units"].(*mcp.ElicitResult)
	if !ok {
		return &mcp.CallToolResult{RequestState: "s", InputRequests: benchAsk()}, output{}, nil
	}
	v, _ := answer.Content["units"].(string)
	return nil, output{v}, nil
}

func benchAsk() mcp.InputRequestMap {
	return mcp.InputRequestMap{"units": &mcp.ElicitParams{Mode: "form", Message: "Which units?", RequestedSchema: benchSchema}}
}

var benchSchema = json.RawMessage(`{"type":"object","properties":{"units":{"type":"string","enum":["metric","imperial"]}},"required":["units"]}`)

// signed checks its state, and nothing else.
func signed() benchTool {
	key := []byte("0123456789abcdef0123456789abcdef")
	type state struct{ Tool, Asked string }
	sign := func(payload []byte) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write(payload)
		return mac.Sum(payload)
	}
	return func(_ context.Context, req *mcp.CallToolRequest, _ benchInput) (*mcp.CallToolResult, output, error) {
		if req.Params.RequestState == "" {
			payload, err := json.Marshal(state{req.Params.Name, "units"})
			if err != nil {
				return nil, output{}, err
			}
			token := base64.RawURLEncoding.EncodeToString(sign(payload))
			return &mcp.CallToolResult{RequestState: token, InputRequests: benchAsk()}, output{}, nil
		}
		token, err := base64.RawURLEncoding.DecodeString(req.Params.RequestState)
		if err != nil || len(token) < sha256.Size {
			return nil, output{}, err
		}
		payload := token[:len(token)-sha256.Size]
		if !hmac.Equal(sign(payload[:len(payload):len(payload)]), token) {
			return nil, output{}, context.Canceled
		}
		var st state
		if err := json.Unmarshal(payload, &st); err != nil || st.Tool != req.Params.Name {
			return nil, output{}, err
		}
		answer, ok := req.Params.InputResponses[st.Asked].(*mcp.ElicitResult)
		if !ok {
			return nil, output{}, context.Canceled
		}
		v, _ := answer.Content["units"].(string)
		return nil, output{v}, nil
	}
}

func engine(b testing.TB, opts *mrtr.Options) benchTool {
	rt, err := mrtr.New(opts)
	require.NoError(b, err)
	return mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ benchInput) (*mrtr.IncompleteResult, output, error) {
		v, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), output{}, nil
		}
		return nil, output{v}, nil
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

func BenchmarkTwoRounds(b *testing.B) {
	meta := modernMeta()
	arguments := json.RawMessage(`{"location":"Lisbon"}`)
	for _, c := range []struct {
		name string
		tool benchTool
	}{{"bare", bare}, {"signed", signed()}, {"engine", engine(b, nil)},
		{"remembered", engine(b, &mrtr.Options{Durable: durable.In(store.NewMemory(&store.MemoryOptions{MaxBytes: 8 << 30}), nil)})}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				twoRounds(b, c.tool, meta, arguments)
			}
		})
	}
}
