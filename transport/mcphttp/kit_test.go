package mcphttp_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
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
	if err := flag.Set("test.skip", alreadyBoth); err != nil {
		panic(err)
	}
	os.Exit(max(status, m.Run()))
}

// alreadyBoth are the tests that the second run would repeat as they were: those that take
// both ways themselves, those of sessions, whose requests all go through, and those of the
// router and of peek, which know of neither.
const alreadyBoth = `Alike|Lean|TheLongestIdle|SessionsOfA|BusySessions|InitializeIs|PlacesAre|OpeningCosts|SubscriptionsAre|EndedSessions|TestDeleteOf|TestDeleteDoes|TwoSessions|IDsInASession|HandlerOptions|Verdicts|^Test(GetServerIsAskedOnce|Notifications|TheEndOfARequest|MiddlewareSees|APanicEnds|CallsWithout|CallsOutlive|AUsualCall|ARequestWithin|A?Router|AnInstance|ARetryGoes|AForgedName|TheCallsOfAnInstance|ALegacySessionStays|SessionIDs|WhichRequests|NoHeaderHas|Peek)|^Example`

// newFront is [mcphttp.NewHandler] for both runs.
func newFront(getServer func(*http.Request) *mcp.Server, opts *mcphttp.HandlerOptions) (*mcphttp.Handler, error) {
	var o mcphttp.HandlerOptions
	if opts != nil {
		o = *opts
	}
	o.StockFront = stockFront
	return mcphttp.NewHandler(getServer, &o)
}

// clientHeaders are those that every client of the streamable transport sends.
func clientHeaders(r *http.Request) {
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
}

func modernHeaders(r *http.Request) {
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "tool")
}

// inSession puts a request into a session, if there is one.
func inSession(id string, more ...func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		if id != "" {
			r.Header.Set("Mcp-Session-Id", id)
		}
		for _, edit := range more {
			if edit != nil {
				edit(r)
			}
		}
	}
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
	r := must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	clientHeaders(r)
	if edit != nil {
		edit(r)
	}
	res := must(http.DefaultClient.Do(r))(t)
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return response{res.StatusCode, res.Header, string(text)}
}

// openSession opens a legacy session.
func openSession(t *testing.T, url string) string {
	t.Helper()
	return send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
}

// direct makes a POST without a socket.
func direct(ctx context.Context, h http.Handler, body string, edit func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(body))
	clientHeaders(r)
	edit(r)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func dial(t *testing.T, url string, opts *wire.Options) *wire.Client {
	t.Helper()
	client := must(wire.DialHTTP(t.Context(), url, nil, opts))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

// rawServer is a server whose tool "tool" has the handler h.
func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	mrtr.AddRawTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func ran(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") }

func say(text string) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
