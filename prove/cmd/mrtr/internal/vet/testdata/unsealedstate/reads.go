// Package unsealedstate trusts states, and seals them.
package unsealedstate

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
)

type order struct {
	Item  string
	Price int
}

func decoded(req *mcp.CallToolRequest) (order, error) {
	var o order
	err := json.Unmarshal([]byte(req.Params.RequestState), &o) // want `RequestState is decoded by json.Unmarshal on line \d+ as it came`
	return o, err
}

func decodedFromBase64(req *mcp.GetPromptRequest) (order, error) {
	raw, err := base64.StdEncoding.DecodeString(req.Params.RequestState) // want `RequestState is decoded by json.Unmarshal`
	if err != nil {
		return order{}, err
	}
	var o order
	return o, json.Unmarshal(raw, &o)
}

func decodedAsStream(req *mcp.CallToolRequest) (o order, err error) {
	err = json.NewDecoder(strings.NewReader(req.Params.RequestState)).Decode(&o) // want `RequestState is decoded by json.NewDecoder`
	return o, err
}

func decodedInClosure(req *mcp.CallToolRequest) func() (order, error) {
	state := req.Params.RequestState // want `RequestState is decoded by json.Unmarshal`
	return func() (o order, err error) {
		return o, json.Unmarshal([]byte(state), &o)
	}
}

func parsed(req *mcp.ReadResourceRequest) int {
	_, round, _ := strings.Cut(req.Params.RequestState, "=") // want `RequestState is decoded by strconv.Atoi`
	n, _ := strconv.Atoi(round)
	return n
}

func switchedOn(req *mcp.CallToolRequest) int {
	switch req.Params.RequestState { // want `RequestState is compared with a constant`
	case "":
		return 1
	case "asked":
		return 2
	}
	return 0
}

func comparedInHelper(req *mcp.CallToolRequest) bool {
	return looksRight(req.Params.RequestState) // want `RequestState is compared with a constant`
}

func placedOnly(req *mcp.CallToolRequest) bool {
	return era.Of(req) == era.Modern && req.Params.RequestState == "paid" // want `RequestState is compared with a constant`
}

func looksRight(state string) bool { return strings.HasPrefix(state, "v1.") }

func shown(req *mcp.CallToolRequest) *mcp.CallToolResult {
	place := req.Params.RequestState // want `RequestState is written into a result`
	return text(fmt.Sprintf("Weather in %s.", place))
}

// round is what a handler keeps of a request.
type round struct{ state, opened string }

func keptInField(req *mcp.CallToolRequest) bool {
	r := &round{state: req.Params.RequestState} // want `RequestState is compared with a constant`
	return r.paid()
}

func (r *round) paid() bool { return r.state == "paid" }

// From here on nothing is trusted that was not checked.

func openedInField(open func(string) string, req *mcp.CallToolRequest) bool {
	r := &round{opened: req.Params.RequestState}
	r.opened = open(r.opened)
	return r.opened == "paid"
}

func present(req *mcp.CallToolRequest) bool {
	return req.Params.RequestState != "" && len(req.Params.RequestState) < 4096
}

func opened(codec *statecodec.Codec, req *mcp.CallToolRequest) (o order, err error) {
	payload, err := codec.Open(statecodec.Binding{Method: "tools/call"}, req.Params.RequestState)
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(payload, &o)
}

func openedByHand(key []byte, req *mcp.CallToolRequest) (o order, err error) {
	payload, tag, _ := strings.Cut(req.Params.RequestState, ".")
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(payload))
	if !hmac.Equal([]byte(tag), []byte(base64.URLEncoding.EncodeToString(mac.Sum(nil)))) {
		return o, errors.New("bad state")
	}
	return o, json.Unmarshal([]byte(payload), &o)
}

type signed struct {
	Order order
	Tag   string
}

func checkedAfterDecoding(key []byte, req *mcp.CallToolRequest) (order, error) {
	var s signed
	if err := json.Unmarshal([]byte(req.Params.RequestState), &s); err != nil {
		return order{}, err
	}
	if s.Tag != tag(key, s.Order) {
		return order{}, errors.New("bad state")
	}
	return s.Order, nil
}

func checkedByOthers(verify func(signed) error, req *mcp.CallToolRequest) (order, error) {
	var s signed
	if err := json.Unmarshal([]byte(req.Params.RequestState), &s); err != nil {
		return order{}, err
	}
	return s.Order, verify(s)
}

func checkedInHelper(verify func(string) error, req *mcp.CallToolRequest) bool {
	if err := check(verify, req); err != nil {
		return false
	}
	return req.Params.RequestState == "paid"
}

func check(verify func(string) error, req *mcp.CallToolRequest) error {
	return verify(req.Params.RequestState)
}

func checkedWithTheRequest(verify func(*mcp.CallToolRequest) error, req *mcp.CallToolRequest) (bool, error) {
	return req.Params.RequestState == "paid", verify(req)
}

// handles are names of orders that the server keeps.
type handles map[string]order

func (h handles) lookup(req *mcp.CallToolRequest) order { return h[req.Params.RequestState] }

func expected(req *mcp.CallToolRequest, nonce string) bool { return req.Params.RequestState == nonce }

// A client sends back the state that it got.
func client(ctx context.Context, s *mcp.ClientSession, res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if res.RequestState == "done" {
		return res, nil
	}
	return s.CallTool(ctx, &mcp.CallToolParams{RequestState: res.RequestState})
}

func tag(key []byte, o order) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprint(mac, o.Item, o.Price)
	return string(mac.Sum(nil))
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}
