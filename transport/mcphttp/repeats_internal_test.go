package mcphttp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A call that is not answered again any more holds on to nothing, long before its time is
// over: many large results in a session are not kept one by one.
func TestForgottenCallsHoldNothing(t *testing.T) {
	var kept repeats
	var calls []*repeatable
	for n := range 50 {
		id, err := jsonrpc.MakeID(float64(n))
		require.NoError(t, err)
		call, first := kept.begin(id, []byte{byte(n)}, &post{})
		require.True(t, first)
		_, err = call.run(func() (mcp.Result, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`"` + strings.Repeat("x", 60<<10) + `"`)}, nil
		})
		require.NoError(t, err)
		call.leave(true)
		calls = append(calls, call)
	}
	bytes := 0
	for _, call := range calls {
		bytes += len(call.answer)
	}
	require.LessOrEqual(t, bytes, mostOfAnswers)
	require.Equal(t, kept.bytes, bytes)
	require.Nil(t, calls[0].post)
}
