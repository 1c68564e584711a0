package sse_test

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

func TestAskOutsideABridge(t *testing.T) {
	cases := []struct {
		explanation string
		requested   string
		caps        wire.Capabilities
		answer      wire.Answer
		reason      sse.Reason
		action      string // of the answer, empty where there is none
		asked       int
	}{
		{explanation: "an answer", requested: "2025-11-25", caps: wire.FormOnly, answer: wire.Value("yes"), action: "accept", asked: 1},
		{explanation: "a decline is an answer", requested: "2025-11-25", caps: wire.FormOnly, answer: wire.Decline, action: "decline", asked: 1},
		{explanation: "an answer that does not fit is missing", requested: "2025-11-25", caps: wire.FormOnly, answer: wire.Value(5), asked: 1},
		{explanation: "no answer in time", requested: "2025-11-25", caps: wire.FormOnly, answer: wire.Silent, reason: sse.TimedOut, asked: 1},
		{explanation: "nothing declared", requested: "2025-11-25", caps: wire.Nothing, answer: wire.Value("yes"), reason: sse.Undeclared},
		{explanation: "negotiated down: go-sdk refuses, and nobody waits", requested: "2026-07-28", caps: wire.FormOnly, answer: wire.Value("yes"), reason: sse.Unreachable},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		var answers mcp.InputResponseMap
		var failure error
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var opts *sse.BridgeOptions
			if c.reason == sse.TimedOut {
				opts = &sse.BridgeOptions{AnswerTimeout: 20 * time.Millisecond}
			}
			answers, failure = sse.Ask(ctx, req.Session, mcp.InputRequestMap{"q": trip.Form("q?", "q")}, opts)
			return say("asked")
		})
		client := connect(t, server, &wire.Options{Version: c.requested, Handshake: true, Capabilities: c.caps})
		call(t, client, "tool", c.answer)
		require.Len(t, client.Asked(), c.asked, c.explanation)
		if c.reason != "" {
			var failed *sse.Error
			require.ErrorAs(t, failure, &failed, c.explanation)
			require.Equal(t, c.reason, failed.Reason, c.explanation)
			require.Equal(t, "q", failed.Key, c.explanation)
			require.Nil(t, answers, c.explanation)
			continue
		}
		require.NoError(t, failure, c.explanation)
		if c.action == "" {
			require.Empty(t, answers, c.explanation)
			continue
		}
		answer, ok := answers["q"].(*mcp.ElicitResult)
		require.True(t, ok, c.explanation)
		require.Equal(t, c.action, answer.Action, c.explanation)
		if c.action == "accept" {
			require.Equal(t, map[string]any{"q": "yes"}, answer.Content, c.explanation)
		}
	}
}

func TestAskWithoutASession(t *testing.T) {
	_, err := sse.Ask(t.Context(), nil, mcp.InputRequestMap{"q": trip.Form("q?", "q")}, nil)
	var failed *sse.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, sse.Unreachable, failed.Reason)
}
