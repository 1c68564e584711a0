package check_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
// message that has the id 7.
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
				r.Header.Set("Mcp-Method", "tools/call")
				r.Header.Set("Mcp-Name", "tool")
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
	return func(text string) string {
		write(text)
		for {
			if got := read(); strings.Contains(got, `"id":7`) || strings.Contains(got, `"error"`) {
				return got
			}
		}
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
				require.NoError(t, err)
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

// What two readers may read in two ways, and what would cost out of all proportion to
// read, is refused alike on every way, before any code of the author's runs; null
// arguments are none. The server serves its next client as if nothing had been.
func TestEveryWayRefusesTheSame(t *testing.T) {
	nested := func(depth int, inside string) string {
		return strings.Repeat("[", depth) + inside + strings.Repeat("]", depth)
	}
	cases := []struct{ explanation, params, meta, after, says string }{
		{explanation: "a call", params: `"arguments":{}`},
		{explanation: "arguments that are null", params: `"arguments":null`},
		{explanation: "no arguments", params: `"x":1`},
		{explanation: "arguments twice", params: `"arguments":{},"arguments":{}`, says: `the params have two members \"arguments\"`},
		{explanation: "an argument twice", params: `"arguments":{"a":[{"b":1,"b":2}]}`, says: `an argument has two members \"b\"`},
		{explanation: "a member of _meta twice", params: `"arguments":{}`, meta: `,"a":{"b":1,"b":1}`, says: `_meta has two members \"b\"`},
		{explanation: "an answer twice", params: `"inputResponses":{"a":{"action":"decline"},"a":{"action":"accept"}}`, says: `an answer has two members \"a\"`},
		{explanation: "a state twice", params: `"requestState":"a","requestState":"a"`, says: `the params have two members \"requestState\"`},
		{explanation: "params twice", params: `"arguments":{}`, after: `,"params":{}`, says: `the message has two members \"params\"`},
		{explanation: "many members", params: `"arguments":{}`, after: members(200), says: `the message has over 100 members`},
		{explanation: "many params", params: `"arguments":{}` + members(200), says: `the params have over 100 members`},
		{explanation: "an integer that readers round", params: `"arguments":{"a":[9007199254740993]}`, says: `arguments.a[0] is a number that readers of JSON round`},
		{explanation: "deep arguments", params: `"arguments":{"a":` + nested(100, "") + `}`, says: `nested more than 64 deep`},
		{explanation: "deep _meta", params: `"arguments":{}`, meta: `,"a":` + nested(9000, ""), says: `nested more than 64 deep`},
		{explanation: "a large _meta", params: `"arguments":{}`, meta: `,"a":"` + strings.Repeat("x", 65<<10) + `"`, says: `_meta is over 65536 bytes`},
		{explanation: "deep and large", params: `"arguments":{"a":` + nested(50, strings.Repeat("0,", 550<<10)+"0") + `}`, says: `nested too deep for its size`},
	}
	cells := 0
	for _, guarded := range []bool{false, true} {
		for era, ways := range map[string][]way{"modern": modernWays, "legacy": legacyWays} {
			for _, way := range ways {
				t.Run(fmt.Sprintf("%s, %s, boundary %v", era, way.name, guarded), func(t *testing.T) {
					ran := 0
					server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
					if guarded {
						require.NoError(t, boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}))
					}
					schema := json.RawMessage(`{"type":"object","properties":{"b":{"type":"string","default":"there"}}}`)
					mcp.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: schema}, func(_ context.Context, _ *mcp.CallToolRequest, in map[string]any) (*mcp.CallToolResult, any, error) {
						ran++
						return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("ran with ", in)}}}, nil, nil
					})
					send := way.open(t, server)
					for _, c := range cases {
						meta := c.meta
						if era == "modern" {
							meta = modernMeta + meta
						}
						ran = 0
						got := send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool",` + c.params + `,"_meta":{` + strings.TrimPrefix(meta, ",") + `}}` + c.after + `}`)
						if c.says == "" {
							require.Contains(t, got, "ran with map[b:there]", c.explanation)
							require.Equal(t, 1, ran, c.explanation)
						} else {
							require.Contains(t, got, c.says, c.explanation)
							require.Zero(t, ran, c.explanation)
						}
						cells++
					}
				})
			}
		}
	}
	require.Equal(t, 2*8*len(cases), cells)
}

// members are so many that mean nothing, each behind a comma.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":0`, i)
	}
	return b.String()
}
