package wire

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TripIn is the input of [Trip], and TripOut its output.
type (
	TripIn struct {
		Who string `json:"who"`
	}
	TripOut struct {
		Text string `json:"text"`
	}
)

// Trip is the handler of a tool with two rounds, as a go-sdk user writes one without any help.
// It asks where to go, then how, and carries the first answer in the state.
func Trip(_ context.Context, req *mcp.CallToolRequest, in TripIn) (*mcp.CallToolResult, TripOut, error) {
	place := req.Params.RequestState
	if place == "" {
		var ok bool
		if place, ok = AcceptedText(req, "place"); !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"place": TextForm("Where to?", "place")}}, TripOut{}, nil
		}
	}
	by, ok := AcceptedText(req, "by")
	if !ok {
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"by": TextForm("How?", "by")},
			RequestState:  place,
		}, TripOut{}, nil
	}
	return nil, TripOut{Text: fmt.Sprintf("%s goes to %s by %s", in.Who, place, by)}, nil
}

// NewTripServer is a server whose tool "trip" has the handler h.
func NewTripServer(h mcp.ToolHandlerFor[TripIn, TripOut]) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "trip", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "trip"}, h)
	return server
}

// TripAnswers go to Lisbon by train.
var TripAnswers = Answers{"place": Value("Lisbon"), "by": Value("train")}

// TextForm is a question for one text.
func TextForm(message, property string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message: message,
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{property: map[string]any{"type": "string"}},
			"required":   []string{property},
		},
	}
}

// AcceptedText is the text that answers the [TextForm] with this key.
func AcceptedText(req *mcp.CallToolRequest, key string) (string, bool) {
	r, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok || r.Action != "accept" {
		return "", false
	}
	s, ok := r.Content[key].(string)
	return s, ok
}
