package ways_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/stdio"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// way is one that a message takes to a server: send hands it over, and returns the
// answer, which has the id 7 or is an error. Over a connection it does not wait for one to
// an id that begins with 1.
type way struct {
	name string
	open func(t *testing.T, server *mcp.Server) (send func(text string) string)
}

// eras are the members of _meta that a modern message has, and the messages with which a
// legacy client begins.
const (
	modernMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{}}}`
	began      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// A modern request over HTTP repeats its method and name in its headers, but not a long name.
var (
	methodMember = regexp.MustCompile(`"method":"([^"]*)"`)
	idMember     = regexp.MustCompile(`"id":("(?:[^"\\]|\\.)*"|[^,}]+)`)
	nameMember   = regexp.MustCompile(`"params":{"name":"(\w{1,100})"`)
)

func captured(member *regexp.Regexp, text, otherwise string) string {
	if m := member.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return otherwise
}

// overHTTP opens a client whose messages need not be well-formed.
func overHTTP(opts *mcphttp.HandlerOptions, modern bool) func(*testing.T, *mcp.Server) func(string) string {
	return func(t *testing.T, server *mcp.Server) func(string) string {
		front := fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, opts))(t)
		web := httptest.NewServer(front)
		t.Cleanup(web.Close)
		session := ""
		post := func(text string) string {
			var headers []string
			switch {
			case modern:
				headers = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", captured(methodMember, text, "tools/call"), "Mcp-Name", captured(nameMember, text, "tool")}
			case session != "":
				headers = []string{"Mcp-Session-Id", session}
			}
			res, body, err := fleet.Request(t.Context(), http.DefaultClient, http.MethodPost, web.URL, text, headers...)
			require.NoError(t, err)
			if id := res.Header.Get("Mcp-Session-Id"); id != "" {
				session = id
			}
			if _, data, found := strings.Cut(body, "\ndata: "); found {
				body = data
			}
			return body
		}
		if !modern {
			post(initialize)
			post(began)
		}
		return post
	}
}

// exchanging is a client of a connection.
func exchanging(modern bool, write func(string), read func() string) func(string) string {
	if !modern {
		write(initialize)
		read()
		write(began)
	}
	sent := map[string]bool{}
	return func(text string) string {
		sent[captured(idMember, text, "")] = true
		write(text)
		for strings.Contains(text, `"id":`) && !strings.Contains(text, `"id":1`) {
			got := read()
			var asked struct {
				ID     json.RawMessage
				Method string
			}
			switch err := json.Unmarshal([]byte(got), &asked); {
			case err == nil && asked.Method == "ping":
				write(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{}}`)
			case strings.Contains(got, `"id":7`) || strings.Contains(got, `"error"`):
				return got
			case asked.Method == "" && !sent[string(asked.ID)]: // to an id that nobody sent
				return got
			}
		}
		return ""
	}
}

func overStdio(modern bool) func(*testing.T, *mcp.Server) func(string) string {
	return func(t *testing.T, server *mcp.Server) func(string) string {
		write, read := fleet.Lines(t, func(in io.ReadCloser, out io.WriteCloser) {
			if transport, err := stdio.New(&stdio.Options{Reader: in, Writer: out}); err == nil {
				_ = server.Run(t.Context(), transport)
			}
		})
		return exchanging(modern, write, read)
	}
}

func overWebSocket(modern bool) func(*testing.T, *mcp.Server) func(string) string {
	return func(t *testing.T, server *mcp.Server) func(string) string {
		web := httptest.NewServer(fleet.Must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t))
		t.Cleanup(web.Close)
		write, read := fleet.Socket(t, web.URL)
		return exchanging(modern, write, read)
	}
}

var modernWays = []way{
	{"HTTP, lean", overHTTP(nil, true)},
	{"HTTP, stock", overHTTP(&mcphttp.HandlerOptions{StockFront: true}, true)},
	{"WebSocket", overWebSocket(true)},
	{"stdio", overStdio(true)},
}

var legacyWays = []way{
	{"HTTP, in a session", overHTTP(nil, false)},
	{"HTTP, without sessions", overHTTP(&mcphttp.HandlerOptions{Stateless: true}, false)},
	{"WebSocket", overWebSocket(false)},
	{"stdio", overStdio(false)},
}

// everyWay runs a test on each way of each era, with a boundary and without, and returns
// how often it did. Modern calls need the _meta of that era. opts may be nil.
func everyWay(t *testing.T, opts func(w way, modern bool) *mcp.ServerOptions, test func(t *testing.T, w way, modern bool, server *mcp.Server)) (cells int) {
	for _, guarded := range []bool{false, true} {
		for _, modern := range []bool{true, false} {
			ways, era := modernWays, "modern"
			if !modern {
				ways, era = legacyWays, "legacy"
			}
			for _, w := range ways {
				t.Run(fmt.Sprintf("%s, %s, boundary %v", era, w.name, guarded), func(t *testing.T) {
					var o *mcp.ServerOptions
					if opts != nil {
						o = opts(w, modern)
					}
					server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, o)
					if guarded {
						require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
					}
					test(t, w, modern, server)
				})
				cells++
			}
		}
	}
	return cells
}

// callSeven is the call with the id 7. Each of params has a comma after it, and meta begins
// with one.
func callSeven(modern bool, params, meta string) string {
	if modern {
		meta = "," + modernMeta + meta
	}
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool",` + params + `"_meta":{` + strings.TrimPrefix(meta, ",") + `}}}`
}

func ran(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
}
