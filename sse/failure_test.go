package sse_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// asksForever wants an answer in every round.
func asksForever(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return need("s", mcp.InputRequestMap{"q": wire.TextForm("q?", "q")})
}

var yes = wire.Value("yes")

// Each failure is one error result with a text, for tools, and its typed error
// is there for the middleware.
func TestFailuresAreErrorResults(t *testing.T) {
	once := func(questions mcp.InputRequestMap) raw {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return need("s", questions) }
	}
	cases := []struct {
		explanation string
		handler     raw
		opts        *sse.BridgeOptions
		caps        wire.Capabilities
		version     string
		answer      wire.Answer
		reason      sse.Reason
		key         string
		text        string
		asked       int
		takes       time.Duration
	}{
		{explanation: "nobody answers", handler: asksForever, caps: wire.FormOnly, answer: wire.Silent,
			reason: sse.TimedOut, key: "q", text: `question "q": not answered within 10m0s`, asked: 1, takes: 10 * time.Minute},
		{explanation: "nobody answers, with less patience", handler: asksForever, caps: wire.FormOnly, answer: wire.Silent,
			opts:   &sse.BridgeOptions{AnswerTimeout: time.Second},
			reason: sse.TimedOut, key: "q", text: `question "q": not answered within 1s`, asked: 1, takes: time.Second},
		{explanation: "an endless handler", handler: asksForever, caps: wire.FormOnly, answer: yes,
			reason: sse.Endless, text: "the handler asked in more than 9 rounds", asked: 9},
		{explanation: "an endless handler, bound tighter", handler: asksForever, caps: wire.FormOnly, answer: yes,
			opts:   &sse.BridgeOptions{MaxRounds: 2},
			reason: sse.Endless, text: "the handler asked in more than 2 rounds", asked: 2},
		{explanation: "a handler that only ever carries state", handler: once(mcp.InputRequestMap{}), caps: wire.FormOnly,
			reason: sse.Endless, text: "the handler asked to be called again without a question more than 2 times"},
		{explanation: "such a handler, bound looser", handler: once(mcp.InputRequestMap{}), caps: wire.FormOnly,
			opts:   &sse.BridgeOptions{MaxStateRounds: 5},
			reason: sse.Endless, text: "the handler asked to be called again without a question more than 5 times"},
		{explanation: "a client that declares nothing", handler: asksForever, caps: wire.Nothing,
			reason: sse.Undeclared, key: "q", text: `question "q": this client does not support form elicitation`},
		{explanation: "a form to a client that only takes urls", handler: asksForever,
			caps:   wire.URLOnly,
			reason: sse.Undeclared, key: "q", text: `question "q": this client does not support form elicitation`},
		{explanation: "a url to a client that only takes forms", caps: wire.FormOnly,
			handler: once(mcp.InputRequestMap{"u": &mcp.ElicitParams{Message: "u", URL: "https://u.example"}}),
			reason:  sse.Undeclared, key: "u", text: `question "u": this client does not support url elicitation`},
		{explanation: "sampling that was not declared", caps: wire.FormOnly,
			handler: once(mcp.InputRequestMap{"s": &mcp.CreateMessageParams{}}),
			reason:  sse.Undeclared, key: "s", text: `question "s": this client does not support sampling`},
		{explanation: "sampling, but not with tools", caps: `{"sampling":{}}`,
			handler: once(mcp.InputRequestMap{"s": &mcp.CreateMessageWithToolsParams{Tools: []*mcp.Tool{{Name: "t"}}}}),
			reason:  sse.Undeclared, key: "s", text: `question "s": this client does not support sampling with tools`},
		{explanation: "roots that were not declared", caps: wire.FormOnly,
			handler: once(mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}),
			reason:  sse.Undeclared, key: "r", text: `question "r": this client does not support roots`},
		{explanation: "one of two cannot be asked: nobody is bothered with the other", caps: wire.FormOnly, answer: yes,
			handler: once(mcp.InputRequestMap{"q": wire.TextForm("q?", "q"), "r": &mcp.ListRootsParams{}}),
			reason:  sse.Undeclared, key: "r", text: `question "r": this client does not support roots`},
		{explanation: "the second round needs what the client lacks", caps: wire.FormOnly, answer: yes,
			handler: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if len(req.Params.InputResponses) > 0 {
					return need("s", mcp.InputRequestMap{"r": &mcp.ListRootsParams{}})
				}
				return need("s", mcp.InputRequestMap{"q": wire.TextForm("q?", "q")})
			},
			reason: sse.Undeclared, key: "r", text: `question "r": this client does not support roots`, asked: 1},
		{explanation: "asked for 2026-07-28 and was negotiated down", handler: asksForever, caps: wire.FormOnly, version: "2026-07-28",
			reason: sse.Unreachable, key: "q", text: `question "q": this client cannot be asked: its requests come without a stream that could carry the question`},
		{explanation: "the client answers with an error", handler: asksForever, caps: wire.FormOnly,
			answer: wire.Fail(-32603, "no screen"),
			reason: sse.Failed, key: "q", text: `question "q": got no answer: calling "elicitation/create": no screen`, asked: 1},
		{explanation: "a question that is none", handler: once(mcp.InputRequestMap{"n": nil}), caps: wire.FormOnly,
			reason: sse.Malformed, key: "n", text: `question "n": the handler asked with a <nil> that cannot be sent`},
		{explanation: "a question that is nil underneath", handler: once(mcp.InputRequestMap{"n": (*mcp.ElicitParams)(nil)}), caps: wire.FormOnly,
			reason: sse.Malformed, key: "n", text: `question "n": the handler asked with a *mcp.ElicitParams that cannot be sent`},
		{explanation: "content and questions in one result", caps: wire.FormOnly,
			handler: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{
					Content:       []mcp.Content{&mcp.TextContent{Text: "half"}},
					InputRequests: mcp.InputRequestMap{"q": wire.TextForm("q?", "q")},
				}, nil
			},
			reason: sse.Malformed, text: "the handler returned content and questions in one result"},
	}
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				typed := func(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
					res, err := c.handler(ctx, req)
					return res, nil, err
				}
				server := rawServer(sse.BridgeTool(c.handler, c.opts))
				mcp.AddTool(server, &mcp.Tool{Name: "typed"}, sse.Bridge(typed, c.opts))
				recorded := record(server)
				for _, tool := range []string{"tool", "typed"} {
					client := connect(t, server, &wire.Options{Version: cmp.Or(c.version, wire.Legacy), Handshake: true, Capabilities: c.caps})
					began := time.Now()
					out := call(t, client, tool, c.answer)
					require.Equal(t, c.takes, time.Since(began))
					require.True(t, out.IsError)
					require.Equal(t, c.text, out.Text)
					require.NotContains(t, string(out.Result), "inputRequests")
					require.Nil(t, out.Structured)
					require.Len(t, client.Asked(), c.asked)

					var failed *sse.Error
					require.ErrorAs(t, *recorded, &failed)
					require.Equal(t, c.reason, failed.Reason)
					require.Equal(t, c.key, failed.Key)
					require.Equal(t, "legacy_"+string(c.reason), failed.ToolErrorType())
					require.Equal(t, c.reason == sse.TimedOut, failed.Timeout())
					require.Equal(t, c.reason != sse.Endless && c.reason != sse.Malformed, failed.ToolErrorExpected())
					require.Equal(t, failed.ToolErrorExpected(), len(failed.ToolErrorHints()) > 0)
				}
			})
		})
	}
}

// Prompts and resources have no error result. They end with a JSON-RPC error with
// a code of its own, never the one that the client used for the question.
func TestFailuresOfPromptsAndResources(t *testing.T) {
	ask := mcp.InputRequestMap{"q": wire.TextForm("q?", "q")}
	server := mcp.NewServer(&mcp.Implementation{Name: "pr", Version: "1"}, nil)
	server.AddPrompt(&mcp.Prompt{Name: "p"}, sse.BridgePrompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{InputRequests: ask}, nil
	}, nil))
	server.AddResource(&mcp.Resource{Name: "r", URI: "r://x"}, sse.BridgeResource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{InputRequests: ask}, nil
	}, nil))
	recorded := record(server)
	for reason, c := range map[sse.Reason]struct {
		answer wire.Answer
		code   int64
	}{sse.Failed: {wire.Fail(0, "no"), callerror.CodeStopped}, sse.Endless: {yes, jsonrpc.CodeInternalError}} {
		client := connect(t, server, &wire.Options{Version: wire.Legacy, Capabilities: wire.FormOnly, Answers: wire.Answers{"q": c.answer}})
		for method, name := range map[string]string{"prompts/get": "p", "resources/read": "r://x"} {
			reply, err := client.Send(t.Context(), wire.Request{Method: method, Name: name})
			require.NoError(t, err)
			require.NotNil(t, reply.Error, reason)
			require.Equal(t, c.code, reply.Error.Code, reason)
			var failed *sse.Error
			require.ErrorAs(t, *recorded, &failed)
			require.Equal(t, reason, failed.Reason)
		}
	}
}

func TestFirstFailureCancelsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return need("", mcp.InputRequestMap{"bad": wire.TextForm("bad?", "bad"), "slow": wire.TextForm("slow?", "slow")})
		}
		began := time.Now()
		out, client := callRaw(t, h, nil, wire.FormOnly, func(q wire.Question) any {
			if q.Key == "slow" {
				return wire.Silent(q)
			}
			time.Sleep(time.Second)
			return wire.Fail(-1, "no")(q)
		})
		require.Equal(t, time.Second, time.Since(began))
		require.True(t, out.IsError)
		require.Contains(t, out.Text, `question "bad"`)
		synctest.Wait()
		require.Len(t, client.Asked(), 2)
		require.Len(t, client.Notifications("notifications/cancelled"), 1, "the person is told that the other question is moot")
	})
}

func TestCancelledCallReachesEveryQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var outcome error
		bridged := sse.BridgeTool(asksForever, nil)
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := bridged(ctx, req)
			outcome = errors.Join(err, res.GetError())
			return res, err
		})
		client := connect(t, server, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": wire.Silent}})
		p, err := client.Start(t.Context(), wire.Request{Name: "tool", Arguments: map[string]any{}})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, client.Asked(), 1)
		require.NoError(t, outcome)
		params, err := json.Marshal(map[string]any{"requestId": p.ID.Raw()})
		require.NoError(t, err)
		require.NoError(t, client.Write(t.Context(), &jsonrpc.Request{Method: "notifications/cancelled", Params: params}))
		synctest.Wait()
		var failed *sse.Error
		require.ErrorAs(t, outcome, &failed)
		require.Equal(t, sse.Interrupted, failed.Reason)
		require.ErrorIs(t, failed, context.Canceled)
		require.Len(t, client.Notifications("notifications/cancelled"), 1)
	})
}

func TestProgressWhileAPersonThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.RequestState) == 2 {
				time.Sleep(time.Hour) // a handler at work reports for itself
				return say("done")
			}
			return need(req.Params.RequestState+"+", mcp.InputRequestMap{"q": wire.TextForm("q?", "q")})
		}
		slow := func(q wire.Question) any {
			time.Sleep(50 * time.Second)
			return yes(q)
		}
		client := connect(t, rawServer(sse.BridgeTool(h, nil)), &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"q": slow}})
		_, err := client.Exchange(t.Context(), wire.Request{Params: map[string]any{"name": "tool", "_meta": map[string]any{"progressToken": "tok"}}})
		require.NoError(t, err)
		heard := client.Notifications("notifications/progress")
		require.Len(t, heard, 6, "every 15 s of 50 s, in two rounds")
		last := 0.0
		for _, params := range heard {
			var p mcp.ProgressNotificationParams
			require.NoError(t, json.Unmarshal(params, &p))
			require.Equal(t, "tok", p.ProgressToken)
			require.Greater(t, p.Progress, last)
			last = p.Progress
		}
		require.Less(t, last, 1.0)

		_, err = client.Exchange(t.Context(), wire.Request{Name: "tool"})
		require.NoError(t, err)
		require.Len(t, client.Notifications("notifications/progress"), 6, "no token, no progress")
	})
}

type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }

// A panic while a question is put surfaces where the handler runs, so that what
// guards the handler guards this too.
func TestPanicOfAQuestionIsTheHandlers(t *testing.T) {
	for _, q := range []*mcp.ElicitParams{
		{Message: "q?", RequestedSchema: explosive{}},
		{Message: "q?", Meta: mcp.Meta{"explodes when it is sent": explosive{}}},
	} {
		bridged := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return need("", mcp.InputRequestMap{"q": q})
		}, nil)
		server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
			defer func() { res, err = say("recovered %v", recover()) }()
			return bridged(ctx, req)
		})
		require.Equal(t, "recovered boom", call(t, connect(t, server, legacy), "tool", yes).Text)
	}
}

func TestNegativeOptionsAreMisuse(t *testing.T) {
	for _, o := range []sse.BridgeOptions{{MaxRounds: -1}, {MaxStateRounds: -1}, {AnswerTimeout: -1}, {ProgressInterval: -1}} {
		var usage *sse.UsageError
		func() {
			defer func() {
				err, ok := recover().(error)
				require.True(t, ok, fmt.Sprint(o))
				require.ErrorAs(t, err, &usage)
			}()
			sse.BridgeTool(asksForever, &o)
		}()
		require.Panics(t, func() { sse.NewRounds(era.Client{}, nil, &mcp.CallToolParamsRaw{}, &o) })
		_, err := sse.Ask(t.Context(), nil, nil, &o)
		require.ErrorAs(t, err, &usage, "a running server is not stopped")
	}
}
