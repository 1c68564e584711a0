package wstransport_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

var askName = &mcp.ElicitParams{
	Message: "Who are you?",
	RequestedSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"name": map[string]any{"type": "string"}},
		"required":   []string{"name"},
	},
}

// greeter asks for a name in the way of either era, and counts its rounds.
func greeter() (*mcp.Server, *atomic.Int64) {
	var rounds atomic.Int64
	server := mcp.NewServer(impl, nil)
	tool(server, "greet", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rounds.Add(1)
		var answer *mcp.ElicitResult
		if req.ProtocolVersion() >= modern {
			var ok bool
			if answer, ok = req.Params.InputResponses["name"].(*mcp.ElicitResult); !ok {
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": askName}, RequestState: "round 1"}, nil
			}
			if req.Params.RequestState != "round 1" {
				return nil, fmt.Errorf("state %q", req.Params.RequestState)
			}
		} else {
			var err error
			if answer, err = req.Session.Elicit(ctx, askName); err != nil {
				return nil, err
			}
		}
		return says(fmt.Sprintf("Hello, %v!", answer.Content["name"])), nil
	})
	return server, &rounds
}

func answering(name string, asked *atomic.Int64) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked.Add(1)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": name}}, nil
	}}
}

func TestBothEras(t *testing.T) {
	cases := []struct {
		version string
		rounds  int64
	}{
		{modern, 2},
		{legacy, 1},
		{"2025-06-18", 1},
	}
	for _, c := range cases {
		t.Run(c.version, func(t *testing.T) {
			server, rounds := greeter()
			e := serve(t, server, nil)
			var asked atomic.Int64
			session := connect(t, e.url, c.version, answering("Ada", &asked))
			require.Equal(t, c.version, session.InitializeResult().ProtocolVersion)
			require.Empty(t, session.ID())
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"})
			require.NoError(t, err)
			require.False(t, res.IsError)
			require.Equal(t, "Hello, Ada!", textOf(t, res))
			require.Equal(t, c.rounds, rounds.Load())
			require.EqualValues(t, 1, asked.Load())
			require.NoError(t, session.Close())
			e.sessionEnds(t)
			require.NoError(t, session.Wait())
		})
	}
}

// Many calls at once on one connection, each asking in between, with results
// on both sides of the buffer sizes.
func TestConcurrentWriters(t *testing.T) {
	const calls = 100
	for _, version := range []string{modern, legacy} {
		t.Run(version, func(t *testing.T) {
			server, _ := greeter()
			e := serve(t, server, nil)
			var asked atomic.Int64
			long := make([]byte, 20<<10)
			for i := range long {
				long[i] = 'a' + byte(i%26)
			}
			session := connect(t, e.url, version, answering(string(long), &asked))
			var running sync.WaitGroup
			var good atomic.Int64
			for range calls {
				running.Go(func() {
					res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet"})
					if err == nil && !res.IsError && res.Content[0].(*mcp.TextContent).Text == "Hello, "+string(long)+"!" {
						good.Add(1)
					}
				})
			}
			running.Wait()
			require.EqualValues(t, calls, good.Load())
			require.EqualValues(t, calls, asked.Load())
		})
	}
}

// The client's side keeps the same rules against a server that breaks them.
func TestServerBreaksTheRules(t *testing.T) {
	cases := []struct {
		explanation string
		send        func(*testing.T, *websocket.Conn)
		code        int
	}{
		{"a binary message", sendMessage(websocket.BinaryMessage, "{}"), 1003},
		{"text that is not JSON", sendMessage(websocket.TextMessage, "hello"), 1007},
		{"a message over the limit", sendMessage(websocket.TextMessage, string(make([]byte, 3000))), 1009},
		{"a server that masks", sendFrames(maskedFrame(1, true, 2)), 1002},
		{"silence", func(*testing.T, *websocket.Conn) {}, 1011},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			accepted, url := acceptRaw(t)
			limits := wstransport.Limits{MaxMessageBytes: 2000}
			if c.code == 1011 {
				limits.PingInterval, limits.PongWait = 20*time.Millisecond, 100*time.Millisecond
			}
			transport, err := wstransport.Dial(t.Context(), url, &wstransport.DialOptions{Limits: limits})
			require.NoError(t, err)
			connection, err := transport.Connect(t.Context())
			require.NoError(t, err)
			c.send(t, receive(t, accepted))
			_, err = connection.Read(context.Background())
			requireClose(t, err, c.code, false)
			again, err := connection.Read(context.Background())
			require.Nil(t, again)
			requireClose(t, err, c.code, false)
		})
	}
}
