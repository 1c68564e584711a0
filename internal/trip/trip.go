// Package trip is a tool with two rounds, as a go-sdk user writes one without any
// help, for the tests and examples of several packages.
package trip

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
)

// In is the tool's input, and Out its output.
type (
	In struct {
		Who string `json:"who"`
	}
	Out struct {
		Text string `json:"text"`
	}
)

// Handler asks where to go, then how, and carries the first answer in the state.
func Handler(_ context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
	place := req.Params.RequestState
	if place == "" {
		var ok bool
		if place, ok = Accepted(req, "place"); !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"place": Form("Where to?", "place")}}, Out{}, nil
		}
	}
	by, ok := Accepted(req, "by")
	if !ok {
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"by": Form("How?", "by")},
			RequestState:  place,
		}, Out{}, nil
	}
	return nil, Out{Text: fmt.Sprintf("%s goes to %s by %s", in.Who, place, by)}, nil
}

// NewServer is a server whose tool "trip" has the handler h.
func NewServer(h mcp.ToolHandlerFor[In, Out]) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "trip", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "trip"}, h)
	return server
}

// Answers go to Lisbon by train.
var Answers = wire.Answers{"place": wire.Value("Lisbon"), "by": wire.Value("train")}

// Form is a question for one text.
func Form(message, property string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message: message,
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{property: map[string]any{"type": "string"}},
			"required":   []string{property},
		},
	}
}

// Accepted is the text that answers the [Form] with this key.
func Accepted(req *mcp.CallToolRequest, key string) (string, bool) {
	r, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok || r.Action != "accept" {
		return "", false
	}
	s, ok := r.Content[key].(string)
	return s, ok
}
