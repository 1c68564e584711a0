package docs_test

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

var seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)

func book(ctx context.Context, c *mrtr.Call, trip Trip) (*mrtr.IncompleteResult, Booking, error) {
	chosen, ok := mrtr.Answer(c, seat)
	if !ok {
		return mrtr.Need(seat), Booking{}, nil // the client asks, and calls again from the top
	}
	return nil, Booking{"Booked to " + trip.To + ", " + chosen + "."}, nil
}

func register(server *mcp.Server) (*mrtr.Runtime, error) {
	rt, err := mrtr.New(nil)
	if err != nil {
		return nil, err
	}
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(book), nil))
	return rt, nil
}

type Trip struct {
	To string `json:"to"`
}

type Booking struct {
	Report string `json:"report"`
}

// Text is the content that people and models read.
func (b Booking) Text() string { return b.Report }

// A tool that asks one question, in the style of guards.
func Example() {
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	rt, err := register(server)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	call(server, "book")
	// Output:
	// asked: Which seat?
	// Booked to Lisbon, window.
}
