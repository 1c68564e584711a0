package sse_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// drawQuestion draws a question of any kind. Its message says how respond answers it.
func drawQuestion(r *rand.Rand, key string) mcp.InputRequest {
	meta := mcp.Meta{"own": true}
	switch r.IntN(6) {
	case 0:
		return &mcp.CreateMessageParams{MaxTokens: 5, SystemPrompt: "short", Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello"}}}}
	case 1:
		return &mcp.CreateMessageWithToolsParams{Meta: meta, MaxTokens: 6, Tools: []*mcp.Tool{{Name: "t", InputSchema: map[string]any{"type": "object"}}}}
	case 2:
		return &mcp.ListRootsParams{Meta: meta}
	case 3:
		url := &mcp.ElicitParams{Meta: meta, Mode: "url", Message: "accept", URL: "https://pay.example/" + key}
		if r.IntN(2) == 0 {
			url.ElicitationID = "mine"
		}
		return url
	}
	form := wire.TextForm([]string{"accept", "decline", "cancel", "misfit"}[r.IntN(4)], key)
	form.Meta = meta
	return form
}

func respond(q wire.Question) any {
	switch {
	case q.Method == "roots/list":
		return json.RawMessage(`{"roots":[{"uri":"file:///r"}]}`)
	case q.Method == "sampling/createMessage":
		var p struct {
			MaxTokens    int
			SystemPrompt string
		}
		_ = json.Unmarshal(q.Params, &p)
		model := fmt.Sprint(p.MaxTokens, p.SystemPrompt, strings.Contains(string(q.Params), "hello"))
		return map[string]any{"role": "assistant", "model": model, "content": map[string]any{"type": "text", "text": "hi"}}
	case q.Mode == "url":
		return json.RawMessage(`{"action":"accept"}`)
	}
	return map[string]wire.Answer{"accept": yes, "decline": wire.Decline, "cancel": wire.Cancel, "misfit": wire.Value(5)}[q.Message](q)
}

// script draws the rounds of a handler, within the default bounds of a bridge.
func script(r *rand.Rand) []turn {
	var turns []turn
	idle := 0
	for range r.IntN(10) {
		next := turn{questions: mcp.InputRequestMap{}, state: fmt.Sprintf("%d\x00 \"é", r.Uint32())}
		for key := range r.IntN(4) {
			name := string(rune('a' + key))
			next.questions[name] = drawQuestion(r, name)
		}
		if len(next.questions) == 0 {
			if idle++; idle > 2 {
				continue
			}
		}
		turns = append(turns, next)
	}
	return append(turns, turn{})
}

// What a handler sees of each round does not depend on the era of its client: the answers of
// this round alone, the state byte for byte. An answer that breaks its question is missing,
// as go-sdk drops it. The same url asked again is the same elicitation.
func TestABridgePlaysAModernClient(t *testing.T) {
	for seed := range uint64(40) {
		turns, want := script(rand.New(rand.NewPCG(seed, 1))), script(rand.New(rand.NewPCG(seed, 1)))
		var seen []string
		server := serve(nil, func(state string, answers mcp.InputResponseMap) turn {
			now := []any{state, answers == nil}
			for _, key := range []string{"a", "b", "c"} {
				if answer, ok := answers[key]; ok {
					text, err := json.Marshal(answer)
					require.NoError(t, err)
					if e, is := answer.(*mcp.ElicitResult); is && e.Content[key] == 5.0 { // of a modern client
						if delete(answers, key); len(answers) == 0 {
							now[1] = true
						}
						continue
					}
					now = append(now, fmt.Sprintf("%s: %T %s", key, answer, text))
				}
			}
			seen = append(seen, fmt.Sprint(now...))
			return turns[len(seen)-1]
		})
		server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if meta := req.GetParams().GetMeta(); meta != nil {
					meta["written"] = true // to what goes out, never to the handler's
				}
				return next(ctx, method, req)
			}
		})
		for name, request := range doors {
			var rounds [][]string
			var results []string
			ids := map[string]string{}
			for _, version := range []string{wire.Modern, wire.Legacy} {
				seen = nil
				client := connect(t, server, &wire.Options{Version: version})
				out, err := client.Run(t.Context(), request, wire.Answers{"*": respond})
				require.NoError(t, err)
				require.Nil(t, out.Error, name)
				rounds, results = append(rounds, seen), append(results, fmt.Sprint(out.Text, len(out.Questions), out.Incomplete()))
				for _, q := range client.Asked() {
					var p struct{ URL, ElicitationID string }
					require.NoError(t, json.Unmarshal(q.Params, &p))
					if p.URL == "" || p.ElicitationID == "mine" {
						continue
					}
					require.NotEmpty(t, p.ElicitationID)
					require.Contains(t, []string{"", p.ElicitationID}, ids[p.URL])
					ids[p.URL] = p.ElicitationID
				}
			}
			require.Equal(t, rounds[0], rounds[1], "%s, seed %d", name, seed)
			require.Equal(t, results[0], results[1], name)
		}
		require.Equal(t, want, turns, "the questions are the handler's")
	}
}

func TestAQuestionIsGivenUpAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := connect(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began := time.Now()
			answers, err := sse.NewRounds(era.ClientOf(req), req.Session, req.Params, nil).Ask(ctx, asking("", nil).questions,
				map[string]time.Time{"q": began.Add(time.Second)})
			require.NoError(t, err, "the silence of a deadline is a missing answer")
			return say("%v %v", answers, time.Since(began))
		}), &wire.Options{Version: wire.Legacy})
		out, err := client.Call(t.Context(), "tool", map[string]any{}, wire.Answers{"*": wire.Silent})
		require.NoError(t, err)
		require.Equal(t, "map[] 1s", out.Text)
	})
	_, err := sse.Ask(t.Context(), nil, asking("", nil).questions, nil)
	var failed *sse.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, sse.Unreachable, failed.Reason)
}

func TestPassThroughAllocatesNothing(t *testing.T) {
	req := &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Meta: mcp.Meta{mcp.MetaKeyProtocolVersion: era.FirstModern}}}
	tool := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, nil)
	typed := sse.Bridge(func(context.Context, *mcp.CallToolRequest, int) (*mcp.CallToolResult, int, error) { return nil, 0, nil }, nil)
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = tool(ctx, req)
		_, _, _ = typed(ctx, req, 1)
	}))
}

// A form's lists are bounded before their items are judged: what reaches the client says so
// behind the form's own keywords.
func TestListsAreBounded(t *testing.T) {
	const list = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"},{"const":"y","title":"Y"}]}`
	for schema, want := range map[string]string{
		list + `}},"required":["a"]}`:                            list + `}},"required":["a"],"allOf":[{"properties":{"a":{"maxItems":2}}}]}`,
		list + `,"maxItems":1}}}`:                                list + `,"maxItems":1}},"allOf":[{"properties":{"a":{"maxItems":1}}}]}`,
		list + `}},"allOf":[{}]}`:                                list + `}},"allOf":[{}]}`,
		`{"properties":{"a":{"type":"string"}},"type":"object"}`: `{"properties":{"a":{"type":"string"}},"type":"object"}`,
	} {
		client := connect(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := sse.Ask(ctx, req.Session, mcp.InputRequestMap{"a": &mcp.ElicitParams{Message: "a?", RequestedSchema: json.RawMessage(schema)}}, nil)
			return nil, err
		}), &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": wire.Decline}})
		_, err := client.Send(t.Context(), doors["BridgeTool"])
		require.NoError(t, err)
		require.Equal(t, want, string(client.Asked()[0].Schema))
	}
}

// withToken calls the tool with a progress token.
var withToken = wire.Request{Params: json.RawMessage(`{"name":"tool","_meta":{"progressToken":"tok"}}`)}

// heard is the progress that a client was notified of in a call. It only ever increases.
func heard(t *testing.T, client *wire.Client, call wire.Request) []json.RawMessage {
	t.Helper()
	_, err := client.Exchange(t.Context(), call)
	require.NoError(t, err)
	all, last := client.Notifications("notifications/progress"), -1.0
	for _, params := range all {
		var p mcp.ProgressNotificationParams
		require.NoError(t, json.Unmarshal(params, &p))
		require.Equal(t, "tok", p.ProgressToken)
		require.Greater(t, p.Progress, last)
		last = p.Progress
	}
	return all
}

func TestProgressWhileAPersonThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := connect(t, rawServer(sse.BridgeTool(func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if req.Params.RequestState == "++" {
				return say("done")
			}
			return need(req.Params.RequestState+"+", asking("", nil).questions)
		}, nil)), &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": func(q wire.Question) any {
			time.Sleep(50 * time.Second)
			return yes(q)
		}}})
		require.Empty(t, heard(t, client, wire.Request{Name: "tool"}), "no token, no progress")
		require.Len(t, heard(t, client, withToken), 6, "every 15 s of 50 s in two rounds")
	})
}

// Every front orders the progress of a handler that counts from the start in each round.
func TestProgressOnlyEverIncreases(t *testing.T) {
	listen := func(h http.Handler, err error) string {
		require.NoError(t, err)
		web := httptest.NewServer(h)
		t.Cleanup(web.Close)
		return web.URL
	}
	counting := sse.BridgeTool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range len(req.Params.RequestState) + 2 {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: "tok", Progress: float64(i)})
		}
		if req.Params.RequestState == "++" {
			return say("done")
		}
		return need(req.Params.RequestState+"+", asking("", nil).questions)
	}, nil)
	get, opts := func(*http.Request) *mcp.Server { return rawServer(counting) }, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": yes}}
	server := get(nil)
	sse.OrderProgress(server)
	overHTTP, err := wire.DialHTTP(t.Context(), listen(mcphttp.NewHandler(get, nil)), nil, opts)
	require.NoError(t, err)
	socket, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(listen(wstransport.NewHandler(get, nil)), "http"), nil)
	require.NoError(t, err)
	overWebSocket, err := wire.Dial(t.Context(), socket, opts)
	require.NoError(t, err)
	for _, client := range []*wire.Client{connect(t, server, opts), overHTTP, overWebSocket} {
		require.Len(t, heard(t, client, withToken), 4, "each step once")
		require.NoError(t, client.Close())
	}
}
