package ways_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

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

// An id that would be answered as another one is refused on every way, wherever it stands,
// and nothing runs.
func TestEveryWayRefusesAlteredIDs(t *testing.T) {
	ids := []string{"7.5", "7.0", "7e3", "7E0", "-0", "9e999", `"\ud800"`, `"a\udc00b"`, "\"a\xff\""}
	cells := 0
	ways := everyWay(t, nil, func(t *testing.T, w way, modern bool, server *mcp.Server) {
		ran := 0
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ran++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, nil
		})
		for _, id := range ids {
			for _, before := range []int{0, 50, 300} {
				send := w.open(t, server) // WebSocket closes over what is no message
				call := callSeven(modern, "", "")
				call = strings.TrimSuffix(strings.Replace(call, `"id":7,`, "", 1), "}") + members(before) + `,"id":` + id + "}"
				require.Contains(t, send(call), `"error"`, call)
				cells++
			}
		}
		send := w.open(t, server)
		require.Contains(t, send(callSeven(modern, "", "")), `"ran"`)
		require.Equal(t, 1, ran)
	})
	require.Equal(t, 16, ways)
	require.Equal(t, 16*len(ids)*3, cells)
}
