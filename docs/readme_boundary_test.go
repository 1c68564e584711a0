package docs_test

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
)

func guardEveryCall(server *mcp.Server) error {
	return boundary.Install(server, nil)
}

// A panic ends its call with an error result, and the server lives on.
func Example_boundary() {
	log := slog.Default() // gets the panic and its stack
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(log)
	server := mcp.NewServer(&mcp.Implementation{Name: "travel", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "book"}, func(context.Context, *mcp.CallToolRequest, Trip) (*mcp.CallToolResult, any, error) {
		panic("no seats")
	})
	if err := guardEveryCall(server); err != nil {
		panic(err)
	}
	call(server, "book")
	// Output:
	// Tool "book" failed because of a fault in the server. The arguments are not the reason.
}
