package sse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// Handlers keep their questions in package variables; sending must not write to
// them.
func TestQuestionsStayTheHandlers(t *testing.T) {
	questions := func() mcp.InputRequestMap {
		meta := func() mcp.Meta { return mcp.Meta{"own": true} }
		return mcp.InputRequestMap{
			"pay":    &mcp.ElicitParams{Meta: meta(), Mode: "url", Message: "pay", URL: "https://pay.example/1"},
			"q":      wire.TextForm("q?", "q"),
			"roots":  &mcp.ListRootsParams{Meta: meta()},
			"sample": &mcp.CreateMessageWithToolsParams{Meta: meta(), MaxTokens: 1},
		}
	}
	mine := questions()
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return say("done")
		}
		return need("", mine)
	}
	server := rawServer(sse.BridgeTool(h, nil))
	server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if meta := req.GetParams().GetMeta(); meta != nil {
				meta["written"] = true
			}
			return next(ctx, method, req)
		}
	})
	client := connect(t, server, &wire.Options{Version: wire.Legacy, Capabilities: wire.Everything})
	call(t, client, "tool", wire.Raw(`{"action":"accept","roots":[],"role":"assistant","model":"m","content":{"type":"text","text":"hi"}}`))
	require.Len(t, client.Asked(), 4)
	require.Equal(t, questions(), mine)
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
	question := mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}
	for _, c := range []struct {
		explanation string
		requested   string
		answer      wire.Answer
		reason      sse.Reason
		action      string // of the answer, empty where there is none
	}{
		{"a decline is an answer", wire.Legacy, wire.Decline, "", "decline"},
		{"an answer that does not fit is missing", wire.Legacy, wire.Value(5), "", ""},
		{"no answer in time", wire.Legacy, wire.Silent, sse.TimedOut, ""},
		{"negotiated down: go-sdk refuses, and nobody waits", "2026-07-28", yes, sse.Unreachable, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				answers, err := sse.Ask(ctx, req.Session, question, nil)
				var failed *sse.Error
				require.Equal(t, c.reason != "", errors.As(err, &failed), c.explanation)
				require.True(t, failed == nil || failed.Reason == c.reason && failed.Key == "q" && answers == nil, c.explanation)
				answer, ok := answers["q"].(*mcp.ElicitResult)
				require.Equal(t, c.action != "", ok, c.explanation)
				require.True(t, !ok || answer.Action == c.action, c.explanation)

				began := time.Now()
				rounds := sse.NewRounds(era.ClientOf(req), req.Session, req.Params, nil)
				answers, err = rounds.Ask(ctx, question, map[string]time.Time{"q": began.Add(time.Second)})
				if c.reason == sse.TimedOut {
					require.NoError(t, err, "the silence of a deadline is a missing answer")
					require.Empty(t, answers)
					require.Equal(t, time.Second, time.Since(began))
				}
				return say("asked")
			})
			call(t, connect(t, server, &wire.Options{Version: c.requested, Handshake: true, Capabilities: wire.FormOnly}), "tool", c.answer)
		})
	}
	_, err := sse.Ask(t.Context(), nil, question, nil)
	var failed *sse.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, sse.Unreachable, failed.Reason)
}
