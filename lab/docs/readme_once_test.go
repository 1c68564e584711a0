package docs_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

func bookHeld(ctx context.Context, c *mrtr.Call, trip Trip) (*mrtr.IncompleteResult, Booking, error) {
	hold, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, idem string) (string, error) {
		return desk.Hold(ctx, idem, trip.To) // idem: one idempotency key for every attempt
	})
	if err != nil {
		return nil, Booking{}, err
	}
	chosen, ok := mrtr.Answer(c, seat)
	if !ok {
		return mrtr.Need(seat), Booking{}, nil
	}
	return nil, Booking{"Booked " + hold + ", " + chosen + "."}, nil
}

// An effect above a guard. The handler runs twice, and the seat is held once.
func Example_once() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	desk.held = 0
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, mrtr.Native(bookHeld), nil))
	call(server, "book")
	fmt.Println("seats held:", desk.held)
	// Output:
	// asked: Which seat?
	// Booked a seat to Lisbon, window.
	// seats held: 1
}
