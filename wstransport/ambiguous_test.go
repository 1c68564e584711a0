package wstransport_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
)

// A call whose answers can be read in two ways does not run, and is told the member.
func TestAnswersThatStandTwiceAreRefused(t *testing.T) {
	for explanation, answers := range map[string]string{
		"sum":            `{"a":{"action":"accept","content":{"sum":10,"sum":1000}}}`,
		"action":         `{"a":{"action":"decline","\u0061ction":"accept"}}`,
		"a":              `{"a":{"action":"decline"},"a":{"action":"accept"}}`,
		"inputResponses": `{},"inputResponses":{}`,
	} {
		t.Run(explanation, func(t *testing.T) {
			s := newPark()
			ws := dialRaw(t, serve(t, s.server, nil).url)
			text := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","arguments":{},"inputResponses":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, answers)
			require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text)))
			require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
			_, data, err := ws.ReadMessage()
			require.NoError(t, err)
			require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid params: an answer has two members \"%s\""}}`, explanation), string(data))
			require.Zero(t, len(s.began))
			callTheTool(t, ws, "7") // the id is free again
			receive(t, s.began)
			close(s.release)
			require.NotNil(t, readRPC(t, ws).Result)
		})
	}
}

// The answer of a legacy client that stands twice ends its question, and nothing else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	server := mcp.NewServer(impl, nil)
	tool(server, "ask", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, trip.Form("q?", "q"))
		asked <- err
		return says("over"), nil
	})
	ws := dialRaw(t, serve(t, server, nil).url)
	send := func(text string) { require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text))) }
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"x","version":"1"},"capabilities":{"elicitation":{}}}}`)
	require.NotNil(t, readRPC(t, ws).Result)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, answer := range []string{`"action":"decline","action":"accept"`, `"action":"accept"`} {
		send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
		question := readRPC(t, ws)
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s,"content":{"q":"yes"}}}`, question.ID, answer))
		require.NotNil(t, readRPC(t, ws).Result)
	}
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	require.NoError(t, <-asked)
}
