package examples_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/examples"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// bookOver serves the tool on one URL for both eras, and books with a client of each.
// Its user takes the first seat, and no meal.
func bookOver(register func(server *mcp.Server)) {
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
	register(server)
	handler := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))
	web := httptest.NewServer(handler)
	defer web.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			fmt.Println(req.Params.Message)
			if strings.Contains(req.Params.Message, "meal") {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"seat": "1A"}}, nil
		},
	})
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session := must(client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: web.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version}))
		result := must(session.CallTool(context.Background(), &mcp.CallToolParams{Name: "book", Arguments: examples.Booking{Flight: "LIS-OSL"}}))
		fmt.Printf("%s: %s\n", version, result.Content[0].(*mcp.TextContent).Text)
		session.Close()
	}
}

// Put behind a front for both eras as it is, the tool fails for every modern client.
func ExampleBook() {
	bookOver(examples.RegisterBook)
	// Output:
	// Which seat on LIS-OSL?
	// (charged 90 for 1A)
	// Which meal?
	// 2025-11-25: {"price":90,"seat":"1A"}
	// 2026-07-28: "elicitation/create" cannot be sent while serving a request on protocol version 2026-07-28: return an InputRequests map instead (multi round-trip requests, SEP-2322)
}

// Migrated, it serves both.
func ExampleBookAnywhere() {
	rt := must(mrtr.New(nil))
	defer rt.Close()
	bookOver(func(server *mcp.Server) { examples.RegisterBookAnywhere(server, rt) })
	// Output:
	// Which seat on LIS-OSL?
	// (charged 90 for 1A)
	// Which meal?
	// 2025-11-25: {"price":90,"seat":"1A"}
	// Which seat on LIS-OSL?
	// (charged 90 for 1A)
	// Which meal?
	// 2026-07-28: {"price":90,"seat":"1A"}
}

// docs/migrating.md shows the difference between the two files as it is, below their imports.
func TestTheDiffOfTheMigration(t *testing.T) {
	docs, err := os.ReadFile("../docs/migrating.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(docs), "```diff\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	for file, other := range map[string]string{"migrate_before.go": "+", "migrate_after.go": "-"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		_, code, _ := strings.Cut(string(source), "\n)\n\n")
		var side string
		for line := range strings.Lines(shown) {
			if !strings.HasPrefix(line, other) {
				side += strings.TrimLeft(line[:1], "+- ") + line[1:]
			}
		}
		require.Equal(t, code, side, file)
	}
}
