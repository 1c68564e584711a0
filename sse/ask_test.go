package sse_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/sse"
)

func TestAskOutsideABridge(t *testing.T) {
	cases := []struct {
		explanation string
		requested   string
		caps        any
		content     map[string]any
		reason      sse.Reason
		answers     int
	}{
		{explanation: "an answer", requested: "2025-11-25", caps: formCaps, content: map[string]any{"q": "yes"}, answers: 1},
		{explanation: "an answer that does not fit is missing", requested: "2025-11-25", caps: formCaps, content: map[string]any{"q": 5}},
		{explanation: "nothing declared", requested: "2025-11-25", caps: map[string]any{}, reason: sse.Undeclared},
		{explanation: "negotiated down: go-sdk refuses, and nobody waits", requested: "2026-07-28", caps: formCaps, reason: sse.Unreachable},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		var answers mcp.InputResponseMap
		var failure error
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answers, failure = sse.Ask(ctx, req.Session, mcp.InputRequestMap{"q": form("q?", "q")}, nil)
			return say("asked")
		})
		client, err := dial(t.Context(), server, "2026-07-28", nil, func(question) reply { return accept(c.content) })
		require.NoError(t, err)
		require.NoError(t, client.initialize(t.Context(), c.requested, c.caps))
		_, err = client.callTool(t.Context(), "tool", map[string]any{}, nil)
		require.NoError(t, err)
		require.Len(t, answers, c.answers, c.explanation)
		if c.reason == "" {
			require.NoError(t, failure, c.explanation)
			continue
		}
		var failed *sse.Error
		require.ErrorAs(t, failure, &failed, c.explanation)
		require.Equal(t, c.reason, failed.Reason, c.explanation)
	}
}
