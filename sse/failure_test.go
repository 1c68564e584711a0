package sse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rpcerror"
	"github.com/mrtr-go/sdk/sse"
)

// asksForever wants an answer in every round.
func asksForever(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return need("s", mcp.InputRequestMap{"q": form("q?", "q")})
}

func silent(question) reply { return reply{} }

func yes(q question) reply {
	return accept(map[string]any{strings.TrimSuffix(q.message(), "?"): "yes"})
}

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
		caps        any
		version     string
		answer      func(question) reply
		reason      sse.Reason
		key         string
		text        string
		asked       int
		takes       time.Duration
	}{
		{
			explanation: "nobody answers", handler: asksForever, caps: formCaps, answer: silent,
			reason: sse.TimedOut, key: "q", text: `question "q": not answered within 10m0s`, asked: 1, takes: 10 * time.Minute,
		}, {
			explanation: "nobody answers, with less patience", handler: asksForever, caps: formCaps, answer: silent,
			opts:   &sse.BridgeOptions{LegTimeout: time.Second},
			reason: sse.TimedOut, key: "q", text: `question "q": not answered within 1s`, asked: 1, takes: time.Second,
		}, {
			explanation: "an endless handler", handler: asksForever, caps: formCaps, answer: yes,
			reason: sse.Endless, text: "the handler asked in more than 9 rounds", asked: 9,
		}, {
			explanation: "an endless handler, bound tighter", handler: asksForever, caps: formCaps, answer: yes,
			opts:   &sse.BridgeOptions{MaxRounds: 2},
			reason: sse.Endless, text: "the handler asked in more than 2 rounds", asked: 2,
		}, {
			explanation: "a handler that only ever carries state", handler: once(mcp.InputRequestMap{}), caps: formCaps,
			reason: sse.Endless, text: "the handler asked to be called again without a question more than 2 times",
		}, {
			explanation: "a client that declares nothing", handler: asksForever, caps: map[string]any{},
			reason: sse.Undeclared, key: "q", text: `question "q": this client does not support form elicitation`,
		}, {
			explanation: "a form to a client that only takes urls", handler: asksForever,
			caps:   map[string]any{"elicitation": map[string]any{"url": map[string]any{}}},
			reason: sse.Undeclared, key: "q", text: `question "q": this client does not support form elicitation`,
		}, {
			explanation: "a url to a client that only takes forms", caps: formCaps,
			handler: once(mcp.InputRequestMap{"u": &mcp.ElicitParams{Message: "u", URL: "https://u.example"}}),
			reason:  sse.Undeclared, key: "u", text: `question "u": this client does not support url elicitation`,
		}, {
			explanation: "sampling that was not declared", caps: formCaps,
			handler: once(mcp.InputRequestMap{"s": &mcp.CreateMessageParams{}}),
			reason:  sse.Undeclared, key: "s", text: `question "s": this client does not support sampling`,
		}, {
			explanation: "sampling, but not with tools", caps: map[string]any{"sampling": map[string]any{}},
			handler: once(mcp.InputRequestMap{"s": &mcp.CreateMessageWithToolsParams{Tools: []*mcp.Tool{{Name: "t"}}}}),
			reason:  sse.Undeclared, key: "s", text: `question "s": this client does not support sampling with tools`,
		}, {
			explanation: "roots that were not declared", caps: formCaps,
			handler: once(mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}),
			reason:  sse.Undeclared, key: "r", text: `question "r": this client does not support roots`,
		}, {
			explanation: "one of two cannot be asked: nobody is bothered with the other", caps: formCaps, answer: yes,
			handler: once(mcp.InputRequestMap{"q": form("q?", "q"), "r": &mcp.ListRootsParams{}}),
			reason:  sse.Undeclared, key: "r", text: `question "r": this client does not support roots`,
		}, {
			explanation: "the second round needs what the client lacks", caps: formCaps, answer: yes,
			handler: func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if len(req.Params.InputResponses) > 0 {
					return need("s", mcp.InputRequestMap{"r": &mcp.ListRootsParams{}})
				}
				return need("s", mcp.InputRequestMap{"q": form("q?", "q")})
			},
			reason: sse.Undeclared, key: "r", text: `question "r": this client does not support roots`, asked: 1,
		}, {
			explanation: "asked for 2026-07-28 and was negotiated down", handler: asksForever, caps: formCaps, version: "2026-07-28",
			reason: sse.Unreachable, key: "q", text: `question "q": this client cannot be asked: its requests come without a stream that could carry the question`,
		}, {
			explanation: "the client answers with an error", handler: asksForever, caps: formCaps,
			answer: func(question) reply { return reply{err: &jsonrpc.Error{Code: -32603, Message: "no screen"}} },
			reason: sse.Failed, key: "q", text: `question "q": got no answer: calling "elicitation/create": no screen`, asked: 1,
		}, {
			explanation: "a question that is none", handler: once(mcp.InputRequestMap{"n": nil}), caps: formCaps,
			reason: sse.Malformed, key: "n", text: `question "n": the handler asked with a <nil> that cannot be sent`,
		}, {
			explanation: "a question that is nil underneath", handler: once(mcp.InputRequestMap{"n": (*mcp.ElicitParams)(nil)}), caps: formCaps,
			reason: sse.Malformed, key: "n", text: `question "n": the handler asked with a *mcp.ElicitParams that cannot be sent`,
		}, {
			explanation: "content and questions in one result", caps: formCaps,
			handler: func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{
					Content:       []mcp.Content{&mcp.TextContent{Text: "half"}},
					InputRequests: mcp.InputRequestMap{"q": form("q?", "q")},
				}, nil
			},
			reason: sse.Malformed, text: "the handler returned content and questions in one result",
		},
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
				var recorded error
				server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
						res, err := next(ctx, method, req)
						if tool, ok := res.(*mcp.CallToolResult); ok && err == nil {
							recorded = tool.GetError()
						}
						return res, err
					}
				})
				for _, tool := range []string{"tool", "typed"} {
					version := c.version
					if version == "" {
						version = "2025-11-25"
					}
					client, err := dial(t.Context(), server, "2026-07-28", nil, c.answer)
					require.NoError(t, err)
					require.NoError(t, client.initialize(t.Context(), version, c.caps))
					recorded = nil
					began := time.Now()
					res, err := client.callTool(t.Context(), tool, map[string]any{}, nil)
					require.NoError(t, err)
					require.Equal(t, c.takes, time.Since(began))
					require.Equal(t, true, res["isError"])
					require.Equal(t, c.text, text(res))
					require.NotContains(t, res, "inputRequests")
					require.NotContains(t, res, "structuredContent")
					require.Len(t, client.questions(), c.asked)

					var failed *sse.Error
					require.ErrorAs(t, recorded, &failed)
					require.Equal(t, c.reason, failed.Reason)
					require.Equal(t, c.key, failed.Key)
					require.Equal(t, "legacy_"+string(c.reason), failed.ToolErrorType())
					require.Equal(t, c.reason == sse.TimedOut, failed.Timeout())
					require.Equal(t, c.reason != sse.Endless && c.reason != sse.Malformed, failed.ToolErrorExpected())
					require.Equal(t, failed.ToolErrorExpected(), len(failed.ToolErrorHints()) > 0)
					client.hangUp()
				}
			})
		})
	}
}

// Prompts and resources have no error result; what they get is a JSON-RPC error
// with a code of its own, never the one that the client used for the question.
func TestFailuresOfPromptsAndResources(t *testing.T) {
	cases := []struct {
		explanation string
		caps        map[string]any
		code        int64
		reason      sse.Reason
	}{
		{"nobody to ask", map[string]any{}, rpcerror.CodeStopped, sse.Undeclared},
		{"the client fails with a code of its own", formCaps, rpcerror.CodeStopped, sse.Failed},
	}
	for _, c := range cases {
		server := mcp.NewServer(&mcp.Implementation{Name: "pr", Version: "1"}, nil)
		server.AddPrompt(&mcp.Prompt{Name: "p"}, sse.BridgePrompt(func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"q": form("q?", "q")}}, nil
		}, nil))
		server.AddResource(&mcp.Resource{Name: "r", URI: "r://x"}, sse.BridgeResource(func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{"q": form("q?", "q")}}, nil
		}, nil))
		var recorded error
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				res, err := next(ctx, method, req)
				recorded = err
				return res, err
			}
		})
		client, err := dial(t.Context(), server, "2025-11-25", c.caps, func(question) reply {
			return reply{err: &jsonrpc.Error{Code: 0, Message: "no"}}
		})
		require.NoError(t, err)
		for method, params := range map[string]map[string]any{"prompts/get": {"name": "p"}, "resources/read": {"uri": "r://x"}} {
			_, err := client.call(t.Context(), method, params, nil)
			var wire *jsonrpc.Error
			require.ErrorAs(t, err, &wire, c.explanation)
			require.Equal(t, c.code, wire.Code, c.explanation)
			require.Contains(t, wire.Message, `question "q": `)
			var failed *sse.Error
			require.ErrorAs(t, recorded, &failed)
			require.Equal(t, c.reason, failed.Reason)
		}
	}
}

func TestFirstFailureCancelsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return need("", mcp.InputRequestMap{"bad": form("bad?", "bad"), "slow": form("slow?", "slow")})
		}
		began := time.Now()
		res, client := callRaw(t, h, nil, formCaps, func(q question) reply {
			if q.message() == "slow?" {
				return reply{}
			}
			time.Sleep(time.Second)
			return reply{err: &jsonrpc.Error{Code: -1, Message: "no"}}
		})
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, true, res["isError"])
		require.Contains(t, text(res), `question "bad"`)
		synctest.Wait()
		require.Len(t, client.questions(), 2)
		require.Len(t, client.heard("notifications/cancelled"), 1, "the person is told that the other question is moot")
		client.hangUp()
	})
}

// started makes a call of a bridged tool that records how it ended, and waits
// until its question is on the way.
func started(t *testing.T) (client *rawClient, id jsonrpc.ID, outcome *error, handlerCtx *context.Context) {
	outcome, handlerCtx = new(error), new(context.Context)
	bridged := sse.BridgeTool(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		*handlerCtx = ctx
		return asksForever(ctx, req)
	}, nil)
	server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := bridged(ctx, req)
		*outcome = errors.Join(err, res.GetError())
		return res, err
	})
	client, err := dial(t.Context(), server, "2025-11-25", formCaps, silent)
	require.NoError(t, err)
	id, _, err = client.start(t.Context(), "tools/call", map[string]any{"name": "tool", "arguments": map[string]any{}})
	require.NoError(t, err)
	synctest.Wait()
	require.Len(t, client.questions(), 1)
	require.NoError(t, *outcome)
	return client, id, outcome, handlerCtx
}

func TestCancelledCallReachesEveryLeg(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, id, outcome, handlerCtx := started(t)
		require.NoError(t, client.cancel(t.Context(), id))
		synctest.Wait()
		var failed *sse.Error
		require.ErrorAs(t, *outcome, &failed)
		require.Equal(t, sse.Interrupted, failed.Reason)
		require.ErrorIs(t, failed, context.Canceled)
		require.Error(t, (*handlerCtx).Err())
		require.Len(t, client.heard("notifications/cancelled"), 1)
		client.hangUp()
	})
}

func TestClientVanishesWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, outcome, handlerCtx := started(t)
		began := time.Now()
		client.hangUp()
		synctest.Wait()
		var failed *sse.Error
		require.ErrorAs(t, *outcome, &failed)
		require.Contains(t, []sse.Reason{sse.Interrupted, sse.Failed}, failed.Reason)
		require.Error(t, (*handlerCtx).Err())
		require.Zero(t, time.Since(began))
	})
}

func TestDeadlineOfTheCallEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bridged := sse.BridgeTool(asksForever, nil)
		hasty := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return bridged(ctx, req)
		}
		client, err := dial(t.Context(), rawServer(hasty), "2025-11-25", formCaps, silent)
		require.NoError(t, err)
		began := time.Now()
		res, err := client.callTool(t.Context(), "tool", map[string]any{}, nil)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, "the call was interrupted: context deadline exceeded", text(res))
		client.hangUp()
	})
}

func TestProgressWhileAPersonThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(req.Params.RequestState) == 2 {
				time.Sleep(time.Hour) // a handler at work reports for itself
				return say("done")
			}
			return need(req.Params.RequestState+"+", mcp.InputRequestMap{"q": form("q?", "q")})
		}
		slow := func(q question) reply {
			time.Sleep(50 * time.Second)
			return yes(q)
		}
		server := rawServer(sse.BridgeTool(h, nil))
		client, err := dial(t.Context(), server, "2025-11-25", formCaps, slow)
		require.NoError(t, err)
		_, err = client.callTool(t.Context(), "tool", map[string]any{}, map[string]any{"progressToken": "tok"})
		require.NoError(t, err)
		heard := client.heard("notifications/progress")
		require.Len(t, heard, 6, "every 15 s of 50 s, in two rounds")
		last := 0.0
		for _, n := range heard {
			require.Equal(t, "tok", n.Params["progressToken"])
			require.Greater(t, n.Params["progress"], last)
			last = n.Params["progress"].(float64)
		}
		require.Less(t, last, 1.0)

		_, err = client.callTool(t.Context(), "tool", map[string]any{}, nil)
		require.NoError(t, err)
		require.Len(t, client.heard("notifications/progress"), 6, "no token, no progress")
		client.hangUp()
	})
}

type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { panic("boom") }

// A panic while a question is put surfaces where the handler runs, so that what
// guards the handler guards this too.
func TestPanicOfAQuestionIsTheHandlers(t *testing.T) {
	bridged := sse.BridgeTool(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return need("", mcp.InputRequestMap{"q": &mcp.ElicitParams{Message: "q?", RequestedSchema: explosive{}}})
	}, nil)
	server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		defer func() { res, err = say("recovered %v", recover()) }()
		return bridged(ctx, req)
	})
	client, err := dial(t.Context(), server, "2025-11-25", formCaps, yes)
	require.NoError(t, err)
	res, err := client.callTool(t.Context(), "tool", map[string]any{}, nil)
	require.NoError(t, err)
	require.Equal(t, "recovered boom", text(res))
}

func TestNegativeOptionsPanic(t *testing.T) {
	for _, o := range []sse.BridgeOptions{{MaxRounds: -1}, {MaxStateRounds: -1}, {LegTimeout: -1}, {ProgressInterval: -1}} {
		require.Panics(t, func() { sse.BridgeTool(asksForever, &o) }, fmt.Sprint(o))
	}
}

// The words by which the bridge knows an invalid answer from a failure.
func TestSDKStillSaysSchemaMismatch(t *testing.T) {
	server := rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, form("q?", "q"))
		return say("%v", err)
	})
	client, err := dial(t.Context(), server, "2025-11-25", formCaps, func(question) reply {
		return accept(map[string]any{"q": json.Number("5")})
	})
	require.NoError(t, err)
	res, err := client.callTool(t.Context(), "tool", map[string]any{}, nil)
	require.NoError(t, err)
	require.Regexp(t, "^elicitation result content does not match requested schema", text(res))
}
