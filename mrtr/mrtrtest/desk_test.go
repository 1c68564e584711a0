package mrtrtest_test

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
)

// trip is the input of the tool book, and booking its output.
type (
	trip struct {
		To string `json:"to"`
	}
	booking struct {
		Text string `json:"text"`
	}
)

// seatQuestion asks for one of two seats.
var seatQuestion = &mcp.ElicitParams{
	Message: "Which seat?",
	RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"seat": map[string]any{"type": "string", "enum": []string{"window", "aisle"}}},
		"required":   []string{"seat"},
	},
}

// book is a tool as a go-sdk user writes one at first: it asks for a seat, and
// then charges the card.
func book(charge func()) mcp.ToolHandlerFor[trip, booking] {
	return func(_ context.Context, req *mcp.CallToolRequest, in trip) (*mcp.CallToolResult, booking, error) {
		answer, answered := req.Params.InputResponses["seat"].(*mcp.ElicitResult)
		if !answered {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"seat": seatQuestion}}, booking{}, nil
		}
		if answer.Action != "accept" {
			return nil, booking{Text: "Nothing was booked."}, nil
		}
		seat, _ := answer.Content["seat"].(string)
		charge()
		return nil, booking{Text: "Booked to " + in.To + ", " + seat + "."}, nil
	}
}

// serve is a build function for one handler of the tool book.
func serve(handler func(w *mrtrtest.World) mcp.ToolHandlerFor[trip, booking]) mrtrtest.Build {
	return func(w *mrtrtest.World) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "book"}, handler(w))
		return server
	}
}

func toLisbon(answers ...mrtrtest.Answer) mrtrtest.Script {
	return mrtrtest.Script{Tool: "book", Arguments: trip{"Lisbon"}, Answers: mrtrtest.Answers{"seat": answers}}
}
