package docs_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

func bookLinear(ctx context.Context, c *mrtr.Call, trip Trip) (Booking, error) {
	hold, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, idem string) (string, error) {
		return desk.Hold(ctx, idem, trip.To)
	})
	if err != nil {
		return Booking{}, err
	}
	chosen, err := mrtr.Ask(ctx, c, seat)
	if err != nil {
		return Booking{}, err
	}
	return Booking{"Booked " + hold + ", " + chosen + "."}, nil
}

// One linear handler, replayed from the sealed state or held in the process.
// Either way its effect happens once.
func Example_linear() {
	for _, style := range []mrtr.Style[Trip, Booking]{mrtr.Journal(bookLinear), mrtr.Coroutine(bookLinear)} {
		rt, err := mrtr.New(nil)
		if err != nil {
			panic(err)
		}
		defer rt.Close()
		desk.held = 0
		server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
		mcp.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, style, nil))
		call(server, "book")
		fmt.Println("seats held:", desk.held)
	}
	// Output:
	// asked: Which seat?
	// Booked a seat to Lisbon, window.
	// seats held: 1
	// asked: Which seat?
	// Booked a seat to Lisbon, window.
	// seats held: 1
}
