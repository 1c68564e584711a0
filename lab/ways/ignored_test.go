package ways_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Whatever a server is to ignore is ignored alike on every way, on the first call and on later
// ones: an answer of no known shape beside one that is known, and a token of progress that
// is neither a text nor an exact integer.
func TestEveryWayIgnoresTheSame(t *testing.T) {
	answers := []string{`7`, `null`, `"x"`, `[]`, `{}`, `{"of":"no known kind"}`, `{"action":7}`, `{"action":"accept","content":7}`, `{"roots":7}`, `{"role":7}`}
	tokens := map[string]string{
		`1`: "1", `"a"`: "a", `-5`: "-5", `""`: "", `9007199254740992`: "9.007199254740992e+15",
		`{"a":1}`: "none", `[1]`: "none", `true`: "none", `null`: "none", `1.5`: "none", `1e3`: "none", `9007199254740993`: "none",
	}
	cells := 0
	ways := everyWay(t, nil, func(t *testing.T, w way, modern bool, server *mcp.Server) {
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			token := req.Params.GetProgressToken()
			if token == nil {
				token = "none"
			}
			text := fmt.Sprint("token ", token, ", answers ", slices.Sorted(maps.Keys(req.Params.InputResponses)), ", meta ", req.Params.Meta["b"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
		send := w.open(t, server)
		for n := range 3 { // the first call is never lean
			for _, bad := range answers {
				const good = `"good":{"action":"accept","content":{"x":1}}`
				for _, both := range []string{`"bad":` + bad + `,` + good, good + ` , "bad":` + bad, `"bad":` + bad + `,` + good + `,"worse":` + bad} {
					require.Contains(t, send(callSeven(modern, fmt.Sprintf(`"arguments":{"a":%d},`, n)+`"inputResponses":{`+both+`},`, "")), "answers [good]", both)
				}
				require.Contains(t, send(callSeven(modern, `"inputResponses":{ "bad" : `+bad+` },`, "")), "answers []", bad)
				cells++
			}
			for token, seen := range tokens {
				for _, meta := range []string{`,"progressToken":` + token + `,"b":"kept"`, `,"b":"kept","progressToken" : ` + token + ` `} {
					require.Contains(t, send(callSeven(modern, fmt.Sprintf(`"arguments":{"a":%d},`, n), meta)), "token "+seen+", answers [], meta kept", meta)
				}
				cells++
			}
		}
	})
	require.Equal(t, 16, ways)
	require.Equal(t, 16*3*(len(answers)+len(tokens)), cells)
}

// A method that nobody knows is the error of its call, on every way, and ends nothing else:
// a client of an older revision takes a plain text for a broken connection.
func TestEveryWayKnowsNoOtherMethod(t *testing.T) {
	cells := 0
	ways := everyWay(t, nil, func(t *testing.T, w way, modern bool, server *mcp.Server) {
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, ran)
		send := w.open(t, server)
		meta := ""
		if modern {
			meta = modernMeta
		}
		for _, method := range []string{"no/such", "tools/cal", "", `\u0000`} {
			got := send(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{"_meta":{` + meta + `}}}`)
			require.Contains(t, got, `"code":-32601`, method)
			require.Contains(t, got, `"id":7`, method)
			require.Contains(t, send(callSeven(modern, "", "")), `"ran"`, "the next call")
			cells++
		}
		if modern {
			return
		}
		require.Contains(t, send(`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`), `"id":7,"error":{"code":-32`, "no params")
		cells++
	})
	require.Equal(t, 16, ways)
	require.Equal(t, 16*4+8, cells)
}

// A cancellation that comes when its call was answered cancels nothing, also where the
// client has begun another call under that id at once.
func TestALateCancellationHitsNoOtherCall(t *testing.T) {
	cells := 0
	ways := everyWay(t, nil, func(t *testing.T, w way, modern bool, server *mcp.Server) {
		server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text := "to its end"
			select {
			case <-ctx.Done():
				text = "cut off"
			case <-time.After(2 * time.Millisecond):
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
		var late atomic.Int64 // go-sdk cancels when it has handed these on
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if params, ok := req.GetParams().(*mcp.CancelledParams); ok && fmt.Sprint(params.RequestID) == "7" {
					late.Add(1)
				}
				return next(ctx, method, req)
			}
		})
		send := w.open(t, server)
		for n := range 50 {
			require.Contains(t, send(callSeven(modern, fmt.Sprintf(`"arguments":{"n":%d},`, n), "")), "to its end")
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			cells++
		}
		if sessionless := strings.HasPrefix(w.name, "HTTP") && (modern || strings.Contains(w.name, "without")); !sessionless {
			require.Zero(t, late.Load())
		}
	})
	require.Equal(t, 16, ways)
	require.Equal(t, 16*50, cells)
}
