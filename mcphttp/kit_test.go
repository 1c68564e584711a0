package mcphttp_test

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mcphttp"
)

// stockFront is true in the second run of all tests, in which no request goes past
// go-sdk's HTTP layer.
var stockFront bool

func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	for _, other := range []string{"test.fuzz", "test.list"} {
		if flag.Lookup(other).Value.String() != "" {
			os.Exit(status)
		}
	}
	fmt.Println("once more, with every request through go-sdk's HTTP layer:")
	stockFront = true
	os.Exit(max(status, m.Run()))
}

// newFront is [mcphttp.NewHandler] for both runs.
func newFront(getServer func(*http.Request) *mcp.Server, opts *mcphttp.HandlerOptions) (*mcphttp.Handler, error) {
	var o mcphttp.HandlerOptions
	if opts != nil {
		o = *opts
	}
	o.StockFront = stockFront
	return mcphttp.NewHandler(getServer, &o)
}

type response struct {
	status int
	header http.Header
	body   string
}

// send makes one HTTP request with the headers a client of the streamable
// transport sends, and edit has the last word.
func send(t *testing.T, method, url, body string, edit func(*http.Request)) response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if edit != nil {
		edit(r)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return response{res.StatusCode, res.Header, string(text)}
}

func dial(t *testing.T, url string, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.DialHTTP(t.Context(), url, nil, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// rawServer is a server whose tool "tool" has the handler h.
func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func say(text string) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}
