package era_test

import (
	"context"
	"fmt"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse/era"
)

// A handler that works without a bridge looks at its request before it asks:
// how it can ask, and whether the client declared that it can be asked.
func ExampleClientOf() {
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "guide", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "guide"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		question := &mcp.ElicitParams{Message: "Pay here.", URL: "https://pay.example"}
		client := era.ClientOf(req)
		fmt.Printf("%s, %s: %s declared: %t\n", client.Version, client.Era,
			era.CapabilityFor(question), client.Declared(era.CapabilityFor(question)))
		return nil, nil, nil
	})
	for _, opts := range []*wire.Options{
		{Version: "2026-07-28"},
		{Version: "2025-11-25", Capabilities: `{"elicitation":{"form":{}}}`},
		// It asked for a revision that go-sdk negotiates down, and refuses to ask since.
		{Version: "2026-07-28", Handshake: true},
	} {
		client, err := wire.Connect(ctx, server, opts)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := client.Call(ctx, "guide", nil, nil); err != nil {
			log.Fatal(err)
		}
		client.Close()
	}

	// Output:
	// 2026-07-28, modern: url elicitation declared: true
	// 2025-11-25, legacy: url elicitation declared: false
	// 2026-07-28, unaskable: url elicitation declared: false
}

// Where only the way to ask matters, Of is enough.
func ExampleOf() {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{
		Meta: mcp.Meta{mcp.MetaKeyProtocolVersion: "2026-07-28"},
	}}
	switch era.Of(req) {
	case era.Modern:
		fmt.Println("return the questions in the result")
	case era.Legacy:
		fmt.Println("ask over the session")
	case era.Unaskable:
		fmt.Println("do without an answer, or end with an error")
	}

	// Output:
	// return the questions in the result
}
