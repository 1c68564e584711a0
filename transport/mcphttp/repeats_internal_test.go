package mcphttp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A call that is not answered again any more holds on to nothing, long before its time is
// over: many large results in a session are not kept one by one.
func TestForgottenCallsHoldNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept repeats
		var calls []*repeatable
		for n := range 50 {
			id, err := jsonrpc.MakeID(float64(n))
			require.NoError(t, err)
			call, first := kept.begin(id, []byte{byte(n)}, &post{})
			require.True(t, first)
			_, err = call.run("tools/call", func() (mcp.Result, error) {
				return &mcp.CallToolResult{StructuredContent: json.RawMessage(`"` + strings.Repeat("x", 60<<10) + `"`)}, nil
			})
			require.NoError(t, err)
			call.leave(true)
			calls = append(calls, call)
		}
		kept.mu.Lock()
		defer kept.mu.Unlock()
		bytes := 0
		for _, call := range calls {
			bytes += len(call.answer)
		}
		require.LessOrEqual(t, bytes, mostOfAnswers)
		require.Equal(t, kept.bytes, bytes)
		require.Nil(t, calls[0].post)
	})
}

// The last client that waits for a call may hang up just as the call ends and its id is
// used again.
func TestARepeatLeavesAsTheCallEnds(t *testing.T) {
	id, err := jsonrpc.MakeID("7")
	require.NoError(t, err)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for range 2000 {
		synctest.Test(t, func(t *testing.T) {
			var kept repeats
			call, _ := kept.begin(id, []byte("a"), &post{})
			again, first := kept.begin(id, []byte("a"), &post{})
			require.Same(t, call, again)
			require.False(t, first)
			_, err := call.run("tools/call", func() (mcp.Result, error) {
				require.False(t, call.leave(true), "another one waits")
				go serveRepeat(&reply{phase: over}, httptest.NewRequestWithContext(gone, http.MethodPost, "/", nil), again)
				return &mcp.CallToolResult{}, nil
			})
			require.NoError(t, err)
			kept.begin(id, []byte("b"), &post{})
		})
	}
}
