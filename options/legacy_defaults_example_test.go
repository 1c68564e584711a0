package options_test

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// With these two policies a legacy client is never asked: a question with a default
// takes it, and one without ends the call with an error. This is for servers whose
// legacy clients have nobody to ask, such as scheduled jobs. The policies belong to
// the runtime, or to one tool by its HandlerOptions.
func Example_legacyDefaults() {
	rt, err := mrtr.New(&mrtr.Options{Legacy: mrtr.LegacyNever, Unaskable: mrtr.UnaskableLegacyDefaults})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	server := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, options.Native(rt, &options.Card{}))

	session, err := connectLegacy(server)
	if err != nil {
		panic(err)
	}
	defer session.Close()
	for _, place := range []string{"Lisbon", "Springfield"} {
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "weather", Arguments: options.Query{Location: place}})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// Weather in Lisbon: 22°C, partly cloudy.
	// This client cannot be asked for "place": it lacks protocol revision 2026-07-28.
}

// connectLegacy connects a client of revision 2025-11-25 that could be asked.
func connectLegacy(server *mcp.Server) (*mcp.ClientSession, error) {
	ctx := context.Background()
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "legacy", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println("asked")
			return &mcp.ElicitResult{Action: "decline"}, nil
		},
	})
	return client.Connect(ctx, clientSide, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
}
