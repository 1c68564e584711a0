package unsealedstate

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

func formatted(round int) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: fmt.Sprintf("round=%d", round)} // want `RequestState is set to plain data`
}

func counted(round int) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{RequestState: "round=" + strconv.Itoa(round+1)} // want `RequestState is set to plain data`
}

func encoded(_ context.Context, _ *mcp.CallToolRequest, in order) (*mcp.CallToolResult, any, error) {
	b, err := json.Marshal(order{Item: in.Item, Price: 2 * in.Price})
	if err != nil {
		return nil, nil, err
	}
	res := ask()
	res.RequestState = base64.StdEncoding.EncodeToString(b) // want `RequestState is set to plain data`
	return res, nil, nil
}

func answered(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	place := answer(req, "place")
	return &mcp.ReadResourceResult{RequestState: place}, nil // want `RequestState is set to plain data`
}

// That an answer fits its form does not keep the client from changing it.
func judged(ctx context.Context, c *mrtr.Call) (*mcp.CallToolResult, error) {
	res, err := linear.Ask(ctx, c, mrtr.ElicitRaw("place", &mcp.ElicitParams{Message: "Where?"}))
	if err != nil || res.Action != "accept" {
		return nil, err
	}
	place, _ := res.Content["place"].(string)
	return &mcp.CallToolResult{RequestState: place}, nil // want `RequestState is set to plain data`
}

func inHelper(round int) *mcp.CallToolResult { return prefixed(strconv.Itoa(round)) }

func prefixed(state string) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: "v1." + state} // want `RequestState is set to plain data`
}

// progress counts the rounds of a call.
type progress struct{ text, sealed string }

func (p *progress) result(n int) *mcp.CallToolResult {
	p.text = strconv.Itoa(n)
	return &mcp.CallToolResult{RequestState: p.next()} // want `RequestState is set to plain data`
}

func (p *progress) next() string { return "v1." + p.text }

func answer(req *mcp.ReadResourceRequest, key string) string {
	found, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok {
		return ""
	}
	s, _ := found.Content[key].(string)
	return s
}

// From here on a seal is in it, or may be, or there is nothing to seal.

func sealed(codec *statecodec.Codec, o order) (*mcp.CallToolResult, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	token, err := codec.Seal(statecodec.Binding{Method: "tools/call"}, b)
	return &mcp.CallToolResult{RequestState: token}, err
}

func tagged(key []byte, round int) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: fmt.Sprintf("%d.%s", round, tag(key, order{Price: round}))}
}

func (p *progress) tagged(key []byte, n int) *mcp.CallToolResult {
	p.sealed = strconv.Itoa(n) + tag(key, order{})
	return &mcp.CallToolResult{RequestState: p.sealed}
}

// Somebody else may call it with a sealed state.
var prefixer = prefixedByMany

func inOtherHelper(round int) *mcp.CallToolResult { return prefixedByMany(strconv.Itoa(round)) }

func prefixedByMany(state string) *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: "v1." + state}
}

func constant() *mcp.CallToolResult { return &mcp.CallToolResult{RequestState: "asked"} }

func same(req *mcp.CallToolRequest) *mcp.CallToolResult {
	res := ask()
	res.RequestState = req.Params.RequestState
	return res
}

func cleared(res *mcp.CallToolResult) { res.RequestState = "" }

// The engine and the bridge carry a state without a finding.
func ours(rt *mrtr.Runtime, h mcp.ToolHandlerFor[order, string]) (mcp.ToolHandlerFor[order, string], mcp.ToolHandlerFor[order, string]) {
	return sse.Bridge(h, nil), mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, in order) (*mrtr.IncompleteResult, string, error) {
		q := mrtr.Elicit[string]("place", "Where?")
		place, ok := mrtr.Answer(c, q)
		if !ok {
			return mrtr.Need(q), "", nil
		}
		return nil, place, nil
	}), nil)
}

func ask() *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"place": &mcp.ElicitParams{Message: "Where?"}}}
}
