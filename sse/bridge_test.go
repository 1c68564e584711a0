package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

func TestBareHandlerLeaksAndBridgeMends(t *testing.T) {
	who := map[string]any{"who": "Ada"}
	for _, version := range []string{"2025-11-25", "2025-06-18"} {
		bare := connect(t, trip.NewServer(trip.Handler), &wire.Options{Version: version})
		out, err := bare.Call(t.Context(), "trip", who, trip.Answers)
		require.NoError(t, err)
		require.Contains(t, string(out.Result), "inputRequests", "go-sdk mended its shim: say so in the docs")
		require.Empty(t, out.Text)

		mended := connect(t, trip.NewServer(sse.Bridge(trip.Handler, nil)), &wire.Options{Version: version})
		out, err = mended.Call(t.Context(), "trip", who, trip.Answers)
		require.NoError(t, err)
		require.NotContains(t, string(out.Result), "inputRequests")
		require.JSONEq(t, `{"text":"Ada goes to Lisbon by train"}`, string(out.Structured))
		require.False(t, out.IsError)
		require.Equal(t, 1, mended.Requests("tools/call"))
		asked := mended.Asked()
		require.Len(t, asked, 2)
		require.Equal(t, []string{"Where to?", "How?"}, []string{asked[0].Message, asked[1].Message})
	}
}

func TestModernRequestPassesThrough(t *testing.T) {
	client := connect(t, trip.NewServer(sse.Bridge(trip.Handler, nil)), nil)
	reply, err := client.Send(t.Context(), wire.Request{Name: "trip", Arguments: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	require.Equal(t, "input_required", reply.ResultType)
	require.Equal(t, "place", reply.Asks[0].Key)
	require.Empty(t, client.Asked())
}

func TestPassThroughAllocatesNothing(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: modernMeta}}
	bare := func(context.Context, *mcp.CallToolRequest, trip.In) (*mcp.CallToolResult, trip.Out, error) {
		return nil, trip.Out{}, nil
	}
	bridged := sse.Bridge(bare, nil)
	tool := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, nil)
	prompt := sse.BridgePrompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil }, nil)
	promptReq := &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Meta: modernMeta}}
	resource := sse.BridgeResource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil }, nil)
	resourceReq := &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{Meta: modernMeta}}
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _ = bridged(ctx, req, trip.In{})
		_, _ = tool(ctx, req)
		_, _ = prompt(ctx, promptReq)
		_, _ = resource(ctx, resourceReq)
	}))
}

// A round looks to the handler as if a modern client had sent it.
func TestEveryRoundLooksModern(t *testing.T) {
	type round struct {
		Keys  []string
		State string
		Nil   bool // InputResponses
	}
	var rounds []round
	states := []string{"", "first\x00 \"state\" é", strings.Repeat("s", 1<<16), ""}
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		p := req.Params
		rounds = append(rounds, round{slices.Sorted(maps.Keys(p.InputResponses)), p.RequestState, p.InputResponses == nil})
		switch n := len(rounds); n {
		case 1:
			return need(states[1], mcp.InputRequestMap{"a": trip.Form("a?", "a"), "b": trip.Form("b?", "b")})
		case 2:
			return need(states[2], mcp.InputRequestMap{"c": trip.Form("c?", "c")})
		case 3:
			return need(states[3], mcp.InputRequestMap{})
		default:
			return say("done")
		}
	}
	out, client := callRaw(t, h, nil, wire.FormOnly, wire.Value("yes"))
	require.Equal(t, "done", out.Text)
	require.Equal(t, []round{
		{nil, "", true},
		{[]string{"a", "b"}, states[1], false},
		{[]string{"c"}, states[2], false}, // replaced, not gathered
		{nil, "", true},
	}, rounds)
	require.Len(t, client.Asked(), 3)
}

func TestQuestionsOfARoundAreAskedAtOnce(t *testing.T) {
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) == 2 {
			return say("both")
		}
		return need("s", mcp.InputRequestMap{"a": trip.Form("a?", "a"), "b": trip.Form("b?", "b")})
	}
	// Each user waits for the other: asked one after the other, neither answers.
	met := make(chan struct{})
	var waiting atomic.Int32
	out, _ := callRaw(t, h, nil, wire.FormOnly, func(q wire.Question) any {
		if waiting.Add(1) == 2 {
			close(met)
		}
		<-met
		return wire.Value("yes")(q)
	})
	require.Equal(t, "both", out.Text)
}

func TestDeclineAndCancelAreAnswers(t *testing.T) {
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r, ok := req.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
			return say("%s, %d fields", r.Action, len(r.Content))
		}
		return need("s", mcp.InputRequestMap{"q": trip.Form("q?", "q")})
	}
	for action, answer := range map[string]wire.Answer{"decline": wire.Decline, "cancel": wire.Cancel} {
		out, client := callRaw(t, h, nil, wire.FormOnly, answer)
		require.Equal(t, action+", 0 fields", out.Text)
		require.False(t, out.IsError)
		require.Len(t, client.Asked(), 1)
	}
}

// go-sdk refuses content that breaks the schema, and loses it. The handler finds
// no answer and asks again; the other answers of the round arrive.
func TestInvalidAnswerIsAMissingOne(t *testing.T) {
	var rounds []int
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rounds = append(rounds, len(req.Params.InputResponses))
		state := req.Params.RequestState
		if _, ok := trip.Accepted(req, "a"); ok {
			state += "a"
		}
		if _, ok := trip.Accepted(req, "b"); ok {
			state += "b"
		}
		ask := mcp.InputRequestMap{}
		for _, key := range []string{"a", "b"} {
			if !strings.Contains(state, key) {
				ask[key] = trip.Form(key+"?", key)
			}
		}
		if len(ask) == 0 {
			return say("%s", state)
		}
		return need(state, ask)
	}
	var tries atomic.Int32
	out, client := callRaw(t, h, nil, wire.FormOnly, func(q wire.Question) any {
		if q.Key == "b" && tries.Add(1) <= 2 {
			return wire.Value(5)(q)
		}
		return wire.Value("yes")(q)
	})
	require.Equal(t, "ab", out.Text)
	require.Equal(t, []int{0, 1, 0, 1}, rounds)
	require.Len(t, client.Asked(), 4)
}

type mutableIn struct {
	List   []string          `json:"list"`
	Map    map[string]string `json:"map"`
	Ptr    *int              `json:"ptr"`
	Any    any               `json:"any"`
	Preset string            `json:"preset,omitempty"`
}

// A round that ruins all it was given leaves the next round's untouched.
func TestRoundsShareNothing(t *testing.T) {
	var requests []*mcp.CallToolRequest
	var seen []string
	own := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"k": "kept"}}
	h := func(_ context.Context, req *mcp.CallToolRequest, in mutableIn) (*mcp.CallToolResult, any, error) {
		now, err := json.Marshal([]any{in, req.Params.Meta, req.Params.Name, string(req.Params.Arguments), req.Extra.Header})
		if err != nil {
			return nil, nil, err
		}
		seen = append(seen, string(now))
		requests = append(requests, req)

		in.List[0], in.Map["k"], *in.Ptr = "ruined", "ruined", -1
		in.Any.(map[string]any)["deep"].([]any)[0] = "ruined"
		req.Params.Meta["note"].(map[string]any)["x"] = "ruined"
		req.Params.Name = "ruined"
		copy(req.Params.Arguments, "ruined")
		req.Extra.Header.Set("X", "ruined")
		if own, ok := req.Params.InputResponses["own"].(*mcp.ElicitResult); ok {
			own.Content["k"] = "ruined"
		}
		if len(seen) == 3 {
			return nil, nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": trip.Form("q?", "q")}}, nil, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "m", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"preset": map[string]any{"type": "string", "default": "from the schema"}},
	}}, func(ctx context.Context, req *mcp.CallToolRequest, in mutableIn) (*mcp.CallToolResult, any, error) {
		req.Extra = &mcp.RequestExtra{Header: http.Header{"X": {"kept"}}}
		req.Params.InputResponses = mcp.InputResponseMap{"own": own}
		return sse.Bridge(h, nil)(ctx, req, in)
	})
	client := connect(t, server, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": wire.Value("yes")}})
	reply, err := client.Send(t.Context(), wire.Request{Params: map[string]any{
		"name": "tool",
		"arguments": map[string]any{
			"list": []string{"one"}, "map": map[string]string{"k": "v"}, "ptr": 7,
			"any": map[string]any{"deep": []any{"x"}},
		},
		"_meta": map[string]any{"note": map[string]any{"x": "kept"}},
	}})
	require.NoError(t, err)
	require.False(t, reply.IsError, reply.Text)
	require.Len(t, seen, 3)
	require.Contains(t, seen[0], "from the schema")
	require.Contains(t, seen[0], "kept")
	require.Equal(t, seen[0], seen[1])
	require.Equal(t, seen[0], seen[2])
	require.Equal(t, "kept", own.Content["k"])
	require.NotSame(t, requests[0], requests[1])
	require.NotSame(t, requests[0].Params, requests[1].Params)
	require.NotSame(t, requests[1].Params, requests[2].Params)
}

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

func TestPromptsAndResources(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "pr", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "p"}, sse.BridgePrompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		arg := req.Params.Arguments["x"]
		req.Params.Arguments["x"] = "ruined"
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.GetPromptResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": trip.Form("q?", "q")}}, nil
		}
		return &mcp.GetPromptResult{Description: arg, Messages: []*mcp.PromptMessage{}}, nil
	}, nil))
	server.AddResource(&mcp.Resource{Name: "r", URI: "r://x"}, sse.BridgeResource(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.ReadResourceResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": trip.Form("q?", "q")}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "r://x", Text: "content"}}}, nil
	}, nil))
	prompt := wire.Request{Method: "prompts/get", Name: "p", Arguments: map[string]any{"x": "kept"}}
	resource := wire.Request{Method: "resources/read", Name: "r://x"}
	client := connect(t, server, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": wire.Value("yes")}})
	reply, err := client.Send(t.Context(), prompt)
	require.NoError(t, err)
	require.JSONEq(t, `{"description":"kept","messages":[]}`, string(reply.Result))
	require.Len(t, client.Asked(), 2)
	reply, err = client.Send(t.Context(), resource)
	require.NoError(t, err)
	require.Contains(t, string(reply.Result), `"text":"content"`)
	require.NotContains(t, string(reply.Result), "inputRequests")
	require.Len(t, client.Asked(), 4)

	modern := connect(t, server, nil)
	for _, r := range []wire.Request{prompt, resource} {
		reply, err := modern.Send(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, "input_required", reply.ResultType)
	}
	require.Empty(t, modern.Asked())
}

// The handler's last result is returned as it is, an error included.
func TestFinalResultIsTheHandlers(t *testing.T) {
	final := fmt.Errorf("no such place")
	h := func(_ context.Context, req *mcp.CallToolRequest, _ trip.In) (*mcp.CallToolResult, trip.Out, error) {
		if len(req.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": trip.Form("q?", "q")}}, trip.Out{}, nil
		}
		return nil, trip.Out{}, final
	}
	client := connect(t, trip.NewServer(sse.Bridge(h, nil)), legacy)
	out, err := client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.Answers{"q": wire.Decline})
	require.NoError(t, err)
	require.True(t, out.IsError)
	require.Equal(t, "no such place", out.Text)
}

// An empty map arrives from a modern client as none at all, and handlers tell
// their first round by that.
func TestNoAnswerAtAllIsNil(t *testing.T) {
	var lone []mcp.InputResponseMap
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		lone = append(lone, req.Params.InputResponses)
		if len(lone) == 2 {
			return say("done")
		}
		return need("s", mcp.InputRequestMap{"q": trip.Form("q?", "q")})
	}
	callRaw(t, h, nil, wire.FormOnly, wire.Value(5))
	require.Len(t, lone, 2)
	require.Nil(t, lone[1])
}

func TestStateOnlyRoundsAreBounded(t *testing.T) {
	for bound, entries := range map[int]int{0: 3, 1: 2, 5: 6} {
		entered := 0
		h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			entered++
			return need("s", mcp.InputRequestMap{})
		}
		out, client := callRaw(t, h, &sse.BridgeOptions{MaxStateRounds: bound}, wire.FormOnly, nil)
		require.True(t, out.IsError)
		require.Equal(t, entries, entered)
		require.Empty(t, client.Asked())
	}
}
