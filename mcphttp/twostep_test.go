package mcphttp_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type tripIn struct {
	Who string `json:"who"`
}

type tripOut struct {
	Text string `json:"text"`
}

func form(message, property string) *mcp.ElicitParams {
	return &mcp.ElicitParams{
		Message: message,
		RequestedSchema: map[string]any{
			"type":       "object",
			"properties": map[string]any{property: map[string]any{"type": "string"}},
			"required":   []string{property},
		},
	}
}

func accepted(req *mcp.CallToolRequest, key string) (string, bool) {
	r, ok := req.Params.InputResponses[key].(*mcp.ElicitResult)
	if !ok || r.Action != "accept" {
		return "", false
	}
	s, ok := r.Content[key].(string)
	return s, ok
}

// trip is a two-round tool as a go-sdk user writes it: it asks where, then how,
// and carries the first answer in the state.
func trip(_ context.Context, req *mcp.CallToolRequest, in tripIn) (*mcp.CallToolResult, tripOut, error) {
	place := req.Params.RequestState
	if place == "" {
		var ok bool
		if place, ok = accepted(req, "place"); !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"place": form("Where to?", "place")}}, tripOut{}, nil
		}
	}
	by, ok := accepted(req, "by")
	if !ok {
		return &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"by": form("How?", "by")},
			RequestState:  place,
		}, tripOut{}, nil
	}
	return nil, tripOut{Text: fmt.Sprintf("%s goes to %s by %s", in.Who, place, by)}, nil
}

func tripServer(h mcp.ToolHandlerFor[tripIn, tripOut]) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "trip", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "trip"}, h)
	return server
}

// traveller answers the questions of trip.
func traveller(q question) reply {
	switch q.message() {
	case "Where to?":
		return accept(map[string]any{"place": "Lisbon"})
	case "How?":
		return accept(map[string]any{"by": "train"})
	}
	return act("cancel")
}

var formCaps = map[string]any{"elicitation": map[string]any{}}
