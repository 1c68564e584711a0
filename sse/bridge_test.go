package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/sse"
)

type raw = func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

func rawServer(h mcp.ToolHandler) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, h)
	return server
}

func say(format string, args ...any) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}, nil
}

func need(state string, questions mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{InputRequests: questions, RequestState: state}, nil
}

// callRaw bridges h and calls it once as a legacy client.
func callRaw(t *testing.T, h raw, opts *sse.BridgeOptions, caps any, answer func(question) reply) (map[string]any, *rawClient) {
	t.Helper()
	client, err := dial(t.Context(), rawServer(sse.BridgeTool(h, opts)), "2025-11-25", caps, answer)
	require.NoError(t, err)
	t.Cleanup(client.hangUp)
	res, err := client.callTool(t.Context(), "tool", map[string]any{}, nil)
	require.NoError(t, err)
	require.NotContains(t, res, "inputRequests", "a legacy client must never see a question as a result")
	require.NotContains(t, res, "requestState")
	return res, client
}

func TestBareHandlerLeaksAndBridgeMends(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2025-06-18"} {
		bare, err := dial(t.Context(), tripServer(trip), version, formCaps, traveller)
		require.NoError(t, err)
		res, err := bare.callTool(t.Context(), "trip", map[string]any{"who": "Ada"}, nil)
		require.NoError(t, err)
		require.Contains(t, res, "inputRequests", "go-sdk mended its shim: say so in the docs")
		require.Empty(t, res["content"])

		mended, err := dial(t.Context(), tripServer(sse.Bridge(trip, nil)), version, formCaps, traveller)
		require.NoError(t, err)
		res, err = mended.callTool(t.Context(), "trip", map[string]any{"who": "Ada"}, nil)
		require.NoError(t, err)
		require.NotContains(t, res, "inputRequests")
		require.Equal(t, map[string]any{"text": "Ada goes to Lisbon by train"}, res["structuredContent"])
		require.Nil(t, res["isError"])
		require.Equal(t, 1, mended.callsMade())
		asked := mended.questions()
		require.Len(t, asked, 2)
		require.Equal(t, []string{"Where to?", "How?"}, []string{asked[0].message(), asked[1].message()})
	}
}

func TestModernRequestPassesThrough(t *testing.T) {
	client, err := dial(t.Context(), tripServer(sse.Bridge(trip, nil)), "2026-07-28", nil, traveller)
	require.NoError(t, err)
	res, err := client.callTool(t.Context(), "trip", map[string]any{"who": "Ada"}, modernMeta(formCaps))
	require.NoError(t, err)
	require.Equal(t, "input_required", res["resultType"])
	require.Contains(t, res["inputRequests"], "place")
	require.Empty(t, client.questions())
}

func TestPassThroughAllocatesNothing(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: modernMeta(formCaps)}}
	bare := func(context.Context, *mcp.CallToolRequest, tripIn) (*mcp.CallToolResult, tripOut, error) {
		return nil, tripOut{}, nil
	}
	bridged := sse.Bridge(bare, nil)
	tool := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, nil)
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _ = bridged(ctx, req, tripIn{})
		_, _ = tool(ctx, req)
	}))
}

// The handler sees of a legacy client what it would see of a modern one.
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
			return need(states[1], mcp.InputRequestMap{"a": form("a?", "a"), "b": form("b?", "b")})
		case 2:
			return need(states[2], mcp.InputRequestMap{"c": form("c?", "c")})
		case 3:
			return need(states[3], mcp.InputRequestMap{})
		default:
			return say("done")
		}
	}
	res, client := callRaw(t, h, nil, formCaps, func(q question) reply {
		return accept(map[string]any{q.message()[:1]: "yes"})
	})
	require.Equal(t, "done", text(res))
	require.Equal(t, []round{
		{nil, "", true},
		{[]string{"a", "b"}, states[1], false},
		{[]string{"c"}, states[2], false}, // replaced, not gathered
		{nil, "", true},
	}, rounds)
	require.Len(t, client.questions(), 3)
}

func TestQuestionsOfARoundAreAskedAtOnce(t *testing.T) {
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) == 2 {
			return say("both")
		}
		return need("s", mcp.InputRequestMap{"a": form("a?", "a"), "b": form("b?", "b")})
	}
	// Each user waits for the other: asked one after the other, neither answers.
	met := make(chan struct{})
	var waiting atomic.Int32
	res, _ := callRaw(t, h, nil, formCaps, func(q question) reply {
		if waiting.Add(1) == 2 {
			close(met)
		}
		<-met
		return accept(map[string]any{q.message()[:1]: "yes"})
	})
	require.Equal(t, "both", text(res))
}

func TestDeclineAndCancelAreAnswers(t *testing.T) {
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r, ok := req.Params.InputResponses["q"].(*mcp.ElicitResult); ok {
			return say("%s, %d fields", r.Action, len(r.Content))
		}
		return need("s", mcp.InputRequestMap{"q": form("q?", "q")})
	}
	for _, action := range []string{"decline", "cancel"} {
		res, client := callRaw(t, h, nil, formCaps, func(question) reply { return act(action) })
		require.Equal(t, action+", 0 fields", text(res))
		require.Nil(t, res["isError"])
		require.Len(t, client.questions(), 1)
	}
}

// go-sdk refuses content that breaks the schema, and loses it. The handler finds
// no answer and asks again; the other answers of the round arrive.
func TestInvalidAnswerIsAMissingOne(t *testing.T) {
	var rounds []int
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		rounds = append(rounds, len(req.Params.InputResponses))
		state := req.Params.RequestState
		if _, ok := accepted(req, "a"); ok {
			state += "a"
		}
		if _, ok := accepted(req, "b"); ok {
			state += "b"
		}
		ask := mcp.InputRequestMap{}
		for _, key := range []string{"a", "b"} {
			if !strings.Contains(state, key) {
				ask[key] = form(key+"?", key)
			}
		}
		if len(ask) == 0 {
			return say("%s", state)
		}
		return need(state, ask)
	}
	var tries atomic.Int32
	res, client := callRaw(t, h, nil, formCaps, func(q question) reply {
		if q.message() == "b?" && tries.Add(1) <= 2 {
			return accept(map[string]any{"b": 5})
		}
		return accept(map[string]any{q.message()[:1]: "yes"})
	})
	require.Equal(t, "ab", text(res))
	require.Equal(t, []int{0, 1, 0, 1}, rounds)
	require.Len(t, client.questions(), 4)
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
	h := func(_ context.Context, req *mcp.CallToolRequest, in mutableIn) (*mcp.CallToolResult, any, error) {
		now, err := json.Marshal([]any{in, req.Params.Meta, req.Params.Name, string(req.Params.Arguments)})
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
		if len(seen) == 3 {
			return nil, nil, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": form("q?", "q")}}, nil, nil
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "m", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool", InputSchema: map[string]any{
		"type":       "object",
		"properties": map[string]any{"preset": map[string]any{"type": "string", "default": "from the schema"}},
	}}, sse.Bridge(h, nil))
	client, err := dial(t.Context(), server, "2025-11-25", formCaps, func(question) reply {
		return accept(map[string]any{"q": "yes"})
	})
	require.NoError(t, err)
	res, err := client.callTool(t.Context(), "tool", map[string]any{
		"list": []string{"one"}, "map": map[string]string{"k": "v"}, "ptr": 7,
		"any": map[string]any{"deep": []any{"x"}},
	}, map[string]any{"note": map[string]any{"x": "kept"}})
	require.NoError(t, err)
	require.Nil(t, res["isError"], text(res))
	require.Len(t, seen, 3)
	require.Contains(t, seen[0], "from the schema")
	require.Contains(t, seen[0], "kept")
	require.Equal(t, seen[0], seen[1])
	require.Equal(t, seen[0], seen[2])
	require.NotSame(t, requests[0], requests[1])
	require.NotSame(t, requests[0].Params, requests[1].Params)
	require.NotSame(t, requests[1].Params, requests[2].Params)
}

// Handlers keep their questions in package variables; sending must not write to
// them.
func TestQuestionsStayTheHandlers(t *testing.T) {
	url := &mcp.ElicitParams{Mode: "url", Message: "pay", URL: "https://pay.example/1"}
	plain := form("q?", "q")
	h := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return say("done")
		}
		return need("", mcp.InputRequestMap{"pay": url, "q": plain})
	}
	callRaw(t, h, nil, map[string]any{"elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}},
		func(question) reply { return act("accept") })
	require.Equal(t, &mcp.ElicitParams{Mode: "url", Message: "pay", URL: "https://pay.example/1"}, url)
	require.Equal(t, form("q?", "q"), plain)
}

func TestURLElicitationHasAnID(t *testing.T) {
	caps := map[string]any{"elicitation": map[string]any{"url": map[string]any{}}}
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
	res, client := callRaw(t, h, nil, caps, func(question) reply { return act("accept") })
	require.Equal(t, "paid", text(res))
	ids := map[string][]any{}
	for _, q := range client.questions() {
		require.Equal(t, "url", q.Params["mode"])
		ids[q.message()] = append(ids[q.message()], q.Params["elicitationId"])
	}
	require.Equal(t, []any{"mine"}, ids["b"])
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
	caps := map[string]any{"sampling": map[string]any{"tools": map[string]any{}}, "roots": map[string]any{}}
	res, client := callRaw(t, h, nil, caps, func(q question) reply {
		if q.Method == "roots/list" {
			return reply{result: map[string]any{"roots": []any{map[string]any{"uri": "file:///r"}}}}
		}
		return reply{result: map[string]any{
			"role": "assistant", "model": fmt.Sprint("m", q.Params["maxTokens"]),
			"content": map[string]any{"type": "text", "text": "hi"},
		}}
	})
	require.Equal(t, "m5 m6 file:///r", text(res))
	for _, q := range client.questions() {
		if q.Params["maxTokens"] == float64(5) {
			messages, err := json.Marshal(q.Params["messages"])
			require.NoError(t, err)
			require.JSONEq(t, `[{"role":"user","content":{"type":"text","text":"hello"}}]`, string(messages))
			require.Equal(t, "short", q.Params["systemPrompt"])
		}
	}
}

func TestPromptsAndResources(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "pr", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "p"}, sse.BridgePrompt(func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		arg := req.Params.Arguments["x"]
		req.Params.Arguments["x"] = "ruined"
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.GetPromptResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": form("q?", "q")}}, nil
		}
		return &mcp.GetPromptResult{Description: arg, Messages: []*mcp.PromptMessage{}}, nil
	}, nil))
	server.AddResource(&mcp.Resource{Name: "r", URI: "r://x"}, sse.BridgeResource(func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if state := req.Params.RequestState; len(state) < 2 {
			return &mcp.ReadResourceResult{RequestState: state + "+", InputRequests: mcp.InputRequestMap{"q": form("q?", "q")}}, nil
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "r://x", Text: "content"}}}, nil
	}, nil))
	answer := func(question) reply { return accept(map[string]any{"q": "yes"}) }
	client, err := dial(t.Context(), server, "2025-11-25", formCaps, answer)
	require.NoError(t, err)
	res, err := client.call(t.Context(), "prompts/get", map[string]any{"name": "p", "arguments": map[string]any{"x": "kept"}}, nil)
	require.NoError(t, err)
	require.Equal(t, "kept", res["description"])
	require.Len(t, client.questions(), 2)
	res, err = client.call(t.Context(), "resources/read", map[string]any{"uri": "r://x"}, nil)
	require.NoError(t, err)
	require.Equal(t, "content", res["contents"].([]any)[0].(map[string]any)["text"])
	require.NotContains(t, res, "inputRequests")
	require.Len(t, client.questions(), 4)

	modern, err := dial(t.Context(), server, "2026-07-28", nil, answer)
	require.NoError(t, err)
	for method, params := range map[string]map[string]any{
		"prompts/get":    {"name": "p", "arguments": map[string]any{"x": "kept"}},
		"resources/read": {"uri": "r://x"},
	} {
		res, err := modern.call(t.Context(), method, params, modernMeta(formCaps))
		require.NoError(t, err)
		require.Equal(t, "input_required", res["resultType"])
	}
	require.Empty(t, modern.questions())
}

// What the handler returns in the end is its own, errors included.
func TestFinalResultIsTheHandlers(t *testing.T) {
	final := fmt.Errorf("no such place")
	h := func(_ context.Context, req *mcp.CallToolRequest, _ tripIn) (*mcp.CallToolResult, tripOut, error) {
		if len(req.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": form("q?", "q")}}, tripOut{}, nil
		}
		return nil, tripOut{}, final
	}
	client, err := dial(t.Context(), tripServer(sse.Bridge(h, nil)), "2025-11-25", formCaps, func(question) reply { return act("decline") })
	require.NoError(t, err)
	res, err := client.callTool(t.Context(), "trip", map[string]any{"who": "Ada"}, nil)
	require.NoError(t, err)
	require.Equal(t, true, res["isError"])
	require.Equal(t, "no such place", text(res))
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
		return need("s", mcp.InputRequestMap{"q": form("q?", "q")})
	}
	callRaw(t, h, nil, formCaps, func(question) reply { return accept(map[string]any{"q": 5}) })
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
		res, client := callRaw(t, h, &sse.BridgeOptions{MaxStateRounds: bound}, formCaps, nil)
		require.Equal(t, true, res["isError"])
		require.Equal(t, entries, entered)
		require.Empty(t, client.questions())
	}
}
