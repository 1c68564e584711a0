package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

// Handlers keep their questions in package variables; sending must not write to
// them.
func TestQuestionsStayTheHandlers(t *testing.T) {
	url := &mcp.ElicitParams{Mode: "url", Message: "pay", URL: "https://pay.example/1"}
	plain := trip.Form("q?", "q")
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return say("done")
		}
		return need("", mcp.InputRequestMap{"pay": url, "q": plain})
	}
	callRaw(t, h, nil, wire.Everything, wire.Raw(`{"action":"accept"}`))
	require.Equal(t, &mcp.ElicitParams{Mode: "url", Message: "pay", URL: "https://pay.example/1"}, url)
	require.Equal(t, trip.Form("q?", "q"), plain)
}

func TestURLElicitationHasAnID(t *testing.T) {
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch req.Params.RequestState {
		case "":
			return need("1", mcp.InputRequestMap{
				"a": &mcp.ElicitParams{Message: "a", URL: "https://a.example"},
				"b": &mcp.ElicitParams{Message: "b", URL: "https://b.example", ElicitationID: "mine"},
			})
		case "1":
			return need("2", mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: "a", URL: "https://a.example"}})
		}
		return say("paid")
	}
	out, client := callRaw(t, h, nil, wire.URLOnly, wire.Raw(`{"action":"accept"}`))
	require.Equal(t, "paid", out.Text)
	ids := map[string][]string{}
	for _, q := range client.Asked() {
		require.Equal(t, "url", q.Mode)
		var params struct{ ElicitationID string }
		require.NoError(t, json.Unmarshal(q.Params, &params))
		ids[q.Message] = append(ids[q.Message], params.ElicitationID)
	}
	require.Equal(t, []string{"mine"}, ids["b"])
	require.Len(t, ids["a"], 2)
	require.NotEmpty(t, ids["a"][0])
	require.Equal(t, ids["a"][0], ids["a"][1], "the same url asked again is the same elicitation")
}

func TestSamplingAndRoots(t *testing.T) {
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in := req.Params.InputResponses
		if len(in) == 0 {
			return need("", mcp.InputRequestMap{
				"plain": &mcp.CreateMessageParams{MaxTokens: 5, SystemPrompt: "short", Messages: []*mcp.SamplingMessage{
					{Role: "user", Content: &mcp.TextContent{Text: "hello"}},
				}},
				"tools": &mcp.CreateMessageWithToolsParams{MaxTokens: 6, Tools: []*mcp.Tool{{Name: "t", InputSchema: map[string]any{"type": "object"}}}},
				"roots": &mcp.ListRootsParams{},
			})
		}
		plain, ok1 := in["plain"].(*mcp.CreateMessageWithToolsResult)
		tools, ok2 := in["tools"].(*mcp.CreateMessageWithToolsResult)
		roots, ok3 := in["roots"].(*mcp.ListRootsResult)
		if !ok1 || !ok2 || !ok3 {
			return say("%T %T %T", in["plain"], in["tools"], in["roots"])
		}
		return say("%s %s %s", plain.Model, tools.Model, roots.Roots[0].URI)
	}
	type sampling struct {
		MaxTokens    int             `json:"maxTokens"`
		SystemPrompt string          `json:"systemPrompt"`
		Messages     json.RawMessage `json:"messages"`
	}
	read := func(q wire.Question) (s sampling) {
		require.NoError(t, json.Unmarshal(q.Params, &s))
		return s
	}
	out, client := callRaw(t, h, nil, `{"sampling":{"tools":{}},"roots":{}}`, func(q wire.Question) any {
		if q.Method == "roots/list" {
			return map[string]any{"roots": []any{map[string]any{"uri": "file:///r"}}}
		}
		return map[string]any{
			"role": "assistant", "model": fmt.Sprint("m", read(q).MaxTokens),
			"content": map[string]any{"type": "text", "text": "hi"},
		}
	})
	require.Equal(t, "m5 m6 file:///r", out.Text)
	plain := 0
	for _, q := range client.Asked() {
		if s := read(q); s.MaxTokens == 5 {
			plain++
			require.JSONEq(t, `[{"role":"user","content":{"type":"text","text":"hello"}}]`, string(s.Messages))
			require.Equal(t, "short", s.SystemPrompt)
		}
	}
	require.Equal(t, 1, plain)
}

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
