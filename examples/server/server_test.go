package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

func bookInALine(ctx context.Context, c *mrtr.Call, trip Trip) (Booking, error) {
	place, err := linear.Ask(ctx, c, seat)
	if err != nil {
		return Booking{}, err
	}
	hold, err := mrtr.Once(ctx, c, "hold", func(ctx context.Context, idem string) (string, error) {
		return desk.Hold(ctx, idem, trip.To, place)
	})
	if err != nil {
		return Booking{}, err
	}
	dish, err := linear.Ask(ctx, c, meal)
	return Booking{hold, dish}, err
}

// Two styles, which no client can tell apart. Each runs in three rounds, and holds one seat.
func Example() {
	rt, err := mrtr.New(nil)
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mrtr.Add(server, rt, &mcp.Tool{Name: "guards"}, mrtr.Native(book))
	mrtr.Add(server, rt, &mcp.Tool{Name: "linear"}, linear.Journal(bookInALine))
	for _, tool := range []string{"guards", "linear"} {
		desk.held = 0
		fmt.Println(call(server, tool), "seats held:", desk.held)
	}
	// Output:
	// Which seat? Which meal? {"hold":"window to Lisbon","meal":"pasta"} seats held: 1
	// Which seat? Which meal? {"hold":"window to Lisbon","meal":"pasta"} seats held: 1
}

// A server that is told to end at once ends without an error.
func Example_run() {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	fmt.Println(run(ctx, "127.0.0.1:0"))
	// Output: <nil>
}

// call calls a tool, and returns its questions and its result.
func call(server *mcp.Server, tool string) (said string) {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		panic(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "user", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			said += req.Params.Message + " "
			answers := map[string]map[string]any{"Which seat?": {"seat": "window"}, "Which meal?": {"meal": "pasta"}}
			return &mcp.ElicitResult{Action: "accept", Content: answers[req.Params.Message]}, nil
		},
	})
	session, err := client.Connect(ctx, clientSide, nil)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: Trip{"Lisbon"}})
	if err != nil {
		panic(err)
	}
	return said + res.Content[0].(*mcp.TextContent).Text
}
