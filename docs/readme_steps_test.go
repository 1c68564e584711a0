package docs_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
)

func bookInSteps() (mrtr.Style[Trip, Booking], error) {
	var b mrtr.Steps[Trip, Booking]
	hold := mrtr.DoStep(&b, "hold", func(ctx context.Context, at *mrtr.At[Trip], idem string) (string, error) {
		return desk.Hold(ctx, idem, at.In.To)
	})
	chosen := mrtr.AskStep(&b, "seat", func(ctx context.Context, at *mrtr.At[Trip]) (mrtr.Question[string], error) {
		return seat, nil
	})
	b.End(func(ctx context.Context, at *mrtr.At[Trip]) (Booking, error) {
		return Booking{"Booked " + hold.Of(at) + ", " + chosen.Of(at) + "."}, nil
	})
	return b.Build()
}

// A tool as a list of named steps. Each step that has an effect runs once.
func Example_steps() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	steps, err := bookInSteps()
	if err != nil {
		panic(err)
	}
	desk.held = 0
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, mrtr.Tool(rt, steps, nil))
	call(server, "book")
	fmt.Println("seats held:", desk.held)
	// Output:
	// asked: Which seat?
	// Booked a seat to Lisbon, window.
	// seats held: 1
}
