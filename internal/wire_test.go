package internal_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

// newTwoRounds has a tool that asks "a", then "b", and returns the answers as it got
// them. It checks nothing, so any check must be the client's.
func newTwoRounds() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	ask := func(key, state string) *mcp.CallToolResult {
		schema := json.RawMessage(`{"type":"object","properties":{"` + key + `":{"type":"string"}}}`)
		return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{
			key: &mcp.ElicitParams{Mode: "form", Message: key + "?", RequestedSchema: schema},
		}}
	}
	server.AddTool(&mcp.Tool{Name: "two", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch req.Params.RequestState {
		case "":
			return ask("a", "1"), nil
		case "1":
			return ask("b", "2"), nil
		}
		said, _ := json.Marshal(req.Params.InputResponses)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(said)}}}, nil
	})
	return server
}

func connect(t *testing.T, opts *wire.Options) *wire.Client {
	client, err := wire.Connect(t.Context(), newTwoRounds(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestCallGoesThroughTheRounds(t *testing.T) {
	client := connect(t, nil)
	out, err := client.Call(t.Context(), "two", nil, wire.Answers{"a": wire.Value("x"), "*": wire.Raw(`{"action":"banana"}`)})
	require.NoError(t, err)
	require.Equal(t, 3, out.Rounds)
	require.Equal(t, 3, client.Requests("tools/call"))
	require.Equal(t, []string{"1", "2"}, out.States)
	require.Equal(t, "complete", out.ResultType)
	require.Equal(t, `{"b":{"action":"banana"}}`, out.Text, "the last round's answers only, unchecked")
	require.Len(t, out.Questions, 2)
	require.Equal(t, "a?", out.Questions[0].Message)
	require.JSONEq(t, `{"type":"object","properties":{"a":{"type":"string"}}}`, string(out.Questions[0].Schema))
	require.Empty(t, client.Asked())
}

func TestAnswersInTurn(t *testing.T) {
	answer := wire.InTurn(wire.Value(1), wire.Missing, wire.Decline)
	q := wire.Question{Key: "k"}
	require.Equal(t, map[string]any{"action": "accept", "content": map[string]any{"k": 1}}, answer(q))
	require.Nil(t, answer(q))
	require.Equal(t, wire.Decline(q), answer(q))
	require.Equal(t, wire.Decline(q), answer(q))
}

func TestMessagesHoldEverything(t *testing.T) {
	client := connect(t, &wire.Options{Version: wire.Legacy, Capabilities: wire.Nothing})
	_, err := client.Call(t.Context(), "two", nil, nil)
	require.NoError(t, err)
	var sent, received []string
	for _, m := range client.Messages() {
		if m.Sent {
			sent = append(sent, string(m.JSON))
		} else {
			require.Empty(t, m.Method)
			received = append(received, string(m.JSON))
		}
	}
	require.Len(t, sent, 3)
	require.Len(t, received, 2)
	require.True(t, strings.Contains(sent[0], `"capabilities":{}`) && strings.Contains(sent[0], wire.Legacy), sent[0])
	require.Contains(t, sent[1], "notifications/initialized")
	require.Contains(t, sent[2], `"tools/call"`)
}
