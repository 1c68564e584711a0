package wstransport

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A client that asks for much and reads nothing: soon it is no longer listened
// to, then dropped. The answers that are kept for it meanwhile are bounded. The
// socket is a pipe without buffers, so each answer that was taken off this end's
// hands was read by the peer.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const asked = 400
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		var calls atomic.Int64
		server.AddTool(&mcp.Tool{Name: "much", InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				calls.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", 4<<10)}}}, nil
			})
		near, far := net.Pipe()
		handshake := make(chan struct{})
		go func() {
			defer close(handshake)
			_, _ = far.Read(make([]byte, 1<<10))
		}()
		c := upgraded(t, near, Limits{})
		<-handshake
		session, err := server.Connect(t.Context(), &transport{conn: c}, nil)
		require.NoError(t, err)

		// One call at a time, for a handler that has not answered yet holds no place
		// in the line.
		taken := 0
		var began time.Time // of the first answer
		for ; taken < asked; taken++ {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"much","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, taken)
			go func() { _, _ = far.Write(masked(0x81, message)) }() // until the pipe is closed
			if taken == 0 {
				began = time.Now()
			}
			synctest.Wait()
			if calls.Load() == int64(taken) {
				break
			}
		}
		require.Equal(t, maxLine+1, taken, "a place in the line for each answer, and one call that was being read already")

		require.ErrorContains(t, session.Wait(), "the peer did not read for 30s")
		require.Equal(t, defaultWriteTimeout, time.Since(began))
		require.EqualValues(t, taken, calls.Load(), "a call was taken after all")
		rest, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Empty(t, rest, "no close frame can follow half a message")
		require.NoError(t, far.Close())
		<-c.released
	})
}
