package ways_test

import (
	"bufio"
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

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
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
		front := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, opts))(t)
		web := httptest.NewServer(front)
		t.Cleanup(web.Close)
		session := ""
		post := func(text string) string {
			r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(text)))(t)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			switch {
			case modern:
				r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
				r.Header.Set("Mcp-Method", captured(methodMember, text, "tools/call"))
				r.Header.Set("Mcp-Name", captured(nameMember, text, "tool"))
			case session != "":
				r.Header.Set("Mcp-Session-Id", session)
			}
			res := must(http.DefaultClient.Do(r))(t)
			defer res.Body.Close()
			if id := res.Header.Get("Mcp-Session-Id"); id != "" {
				session = id
			}
			body := string(must(io.ReadAll(res.Body))(t))
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
func exchanging(t *testing.T, modern bool, write func(string), read func() string) func(string) string {
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
		input, in := io.Pipe()
		out, output := io.Pipe()
		t.Cleanup(func() { in.Close(); out.Close() })
		transport := must(stdio.New(&stdio.Options{Reader: input, Writer: output}))(t)
		go server.Run(t.Context(), transport)
		lines := bufio.NewReader(out)
		return exchanging(t, modern, func(text string) { io.WriteString(in, text+"\n") },
			func() string { return must(lines.ReadString('\n'))(t) })
	}
}

func overWebSocket(modern bool) func(*testing.T, *mcp.Server) func(string) string {
	return func(t *testing.T, server *mcp.Server) func(string) string {
		web := httptest.NewServer(must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t))
		t.Cleanup(web.Close)
		dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
		ws, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), nil)
		require.NoError(t, err)
		t.Cleanup(func() { ws.Close() })
		return exchanging(t, modern, func(text string) { require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text))) },
			func() string {
				_, data, err := ws.ReadMessage()
				if err != nil {
					return fmt.Sprintf(`{"error":%q}`, err)
				}
				return string(data)
			})
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
