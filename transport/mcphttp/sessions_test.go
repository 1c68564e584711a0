package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// go-sdk keeps the message that opened a session, decoded, for as long as it lives.
func TestInitializeIsBounded(t *testing.T) {
	initialize := func(size int) string {
		return strings.Replace(initializeBody, `"name":"x"`, `"name":"`+strings.Repeat("x", size)+`"`, 1)
	}
	h := newHandler(t, rawServer(ran), mcphttp.HandlerOptions{}, mcphttp.Limits{Sessions: 10, Initialize: 9000})
	session := open(t, h, "")
	for _, p := range []post{
		legacy(initialize(9000)), legacy("[" + initialize(5000) + "," + initialize(5000) + "]"),
		legacy(`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":"` + strings.Repeat("x", 5000) + `"}}}`).in(session),
	} {
		require.Equal(t, http.StatusRequestEntityTooLarge, serve(h, p).status)
	}
	for range 10 {
		require.Equal(t, http.StatusOK, serve(h, legacy(initialize(8000))).status)
	}
	require.Equal(t, 2, mcphttp.OpenSessions(h), "2 KiB for each of 10 sessions are room for two of 8 KB")
}

// The subscriptions of a client are bounded, in both eras.
func TestSubscriptionsAreBounded(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	h := newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})
	session := open(t, h, "")
	subscribe := func(session, method, address string) response {
		return serve(h, legacy(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, address)).in(session))
	}
	for i := range 1000 {
		require.Contains(t, subscribe(session, "resources/subscribe", fmt.Sprintf("test://%d", i)).body, `"result"`)
	}
	res := subscribe(session, "resources/subscribe", "test://more")
	require.Equal(t, http.StatusTooManyRequests, res.status)
	require.Contains(t, res.body, `"id":1,"error":{"code":-31000,"message":"too many subscriptions`)
	require.Contains(t, subscribe(session, "resources/unsubscribe", "test://1").body, `"result"`)
	require.Contains(t, subscribe(session, "resources/subscribe", "test://more").body, `"result"`)
	require.Equal(t, http.StatusTooManyRequests, subscribe(open(t, h, ""), "resources/subscribe", strings.Repeat("x", 70_000)).status)
	res = serve(h, modernPost(listenMethod, "", `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["`+strings.Repeat("x", 70_000)+`"]},`+modernMeta+`}}`))
	require.Equal(t, http.StatusBadRequest, res.status)
	require.Contains(t, res.body, `"id":2,"error":{"code":-32602`)
}

// The end of a session cancels its calls. A handler that does not heed that keeps nobody
// waiting, and the session ends with it.
func TestDeleteDoesNotWaitForCalls(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			h := newHandler(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				select {
				case <-onlyIf(heeds, ctx.Done()):
				case <-time.After(time.Minute):
				}
				ended <- ctx.Err()
				return say("over")
			}), mcphttp.HandlerOptions{}, mcphttp.Limits{})
			session := open(t, h, "")
			called := begin(t.Context(), h, legacyCall("7").in(session))
			synctest.Wait()
			began, end := time.Now(), post{clientHeaders + "DELETE\n", ""}.in(session)
			res := serveIn(t.Context(), h, end)
			if heeds {
				require.Equal(t, http.StatusNoContent, res.status)
				require.Zero(t, time.Since(began))
			} else {
				require.Equal(t, http.StatusAccepted, res.status)
				require.Equal(t, time.Second, time.Since(began))
				require.Equal(t, 1, mcphttp.OpenSessions(h))
				before := runtime.NumGoroutine()
				for range 20 {
					require.Equal(t, http.StatusAccepted, serveIn(t.Context(), h, end).status)
				}
				synctest.Wait()
				require.LessOrEqual(t, runtime.NumGoroutine(), before+5)
			}
			require.ErrorIs(t, <-ended, context.Canceled)
			<-called
			synctest.Wait()
			require.Zero(t, mcphttp.OpenSessions(h))
			require.Equal(t, http.StatusNotFound, serve(h, end).status)
		})
	}
}

// An answer of a legacy client in which a member stands twice ends its question, and nothing
// else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	url := listen(t, newHandler(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, wire.TextForm("q?", "q"))
		asked <- err
		return say("over")
	}), mcphttp.HandlerOptions{}, mcphttp.Limits{}))
	client := dial(t, url, &wire.Options{Version: wire.Legacy})
	answers := wire.Answers{"*": wire.InTurn(wire.Raw(`{"action":"decline","action":"accept","content":{"q":"yes"}}`), wire.Raw(`{"action":"accept","content":{"q":"yes"}}`))}
	out := must(client.Call(t.Context(), "tool", map[string]any{}, answers))(t)
	require.Equal(t, "over", out.Text)
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	must(client.Call(t.Context(), "tool", map[string]any{}, answers))(t)
	require.NoError(t, <-asked)
}

// Several handlers may stand in front of one server: each call belongs to the one that its
// request came to, in a session or without one, whichever handler was used first. A server
// that pings its clients (KeepAlive) keeps those that it cannot ping.
func TestOneServerBehindSeveralHandlers(t *testing.T) {
	for _, first := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{KeepAlive: time.Second})
			server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				time.Sleep(10 * time.Second)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ran"}}}, context.Cause(ctx)
			})
			handlers := []*mcphttp.Handler{newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{}), newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})}
			for i := range 4 {
				h := handlers[(first+i)%2]
				session := open(t, h, "")
				require.Contains(t, serve(h, legacyCall("7").in(session)).body, `"ran"`)
				require.Contains(t, serve(h, callOf("tool", "")).body, `"ran"`)
				require.Contains(t, serve(h, legacy(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)).body, `"result":{}`)
				require.Contains(t, serve(h, legacy(`{"jsonrpc":"2.0","id":8,"method":"ping"}`).in(session)).body, `"result":{}`)
			}
		})
	}
}

func onlyIf[T any](heeds bool, c <-chan T) <-chan T {
	if heeds {
		return c
	}
	return nil
}

// A call of a session that arrives again gets the answer of the first, and its tool runs
// once. The tool says how often it has run, after a second, and heeds its context if told to.
//
// The words of a scenario: a letter posts the call on a connection of that name, with ' in
// another session, with + another body under its id; ! hangs up,
// and = wants the answer; the rest is what happens between.
func TestACallThatArrivesTwiceInASessionRunsOnce(t *testing.T) {
	scenarios := map[string]string{
		"in flight":                    "a b a=run1 b=run1",
		"just answered":                "a a=run1 9s b b=run1 2s c c=run2",
		"the first connection broke":   "a a! b b=run1",
		"it breaks later":              "heeds a b a! b=run1",
		"both break":                   "heeds a b a! b! c c=cutoff",
		"and the session ends":         "heeds a b a! delete b=cutoff",
		"the session ends under both":  "heeds a b delete b=cutoff",
		"a shutdown cuts off both":     "a b shutdown a=unknown b=unknown",
		"its id is used again":         "heeds a a! b+ b=run2",
		"after a late cancellation":    "heeds a a=run1 cancel b+ b=run2",
		"after late ones in a batch":   "heeds a a=run1 cancels b+ b=run2",
		"it is cancelled":              "heeds a cancel a=cutoff",
		"another body in flight":       "a b+ b=400 a=run1 c+ c=run2",
		"another session":              "a a=run1 b' b=run2",
		"two that wait when it breaks": "heeds a b c a! b! c=run1 d d=run1",
	}
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &play{t: t, answers: map[string]<-chan response{}, hangUps: map[string]context.CancelFunc{}}
				runs := 0
				p.h = newHandler(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs++
					text := fmt.Sprint("run", runs, ".")
					select {
					case <-time.After(time.Second):
					case <-onlyIf(strings.Contains(scenario, "heeds"), ctx.Done()):
						text = "cut off"
					}
					return say(text)
				}), mcphttp.HandlerOptions{}, mcphttp.Limits{})
				p.session, p.other = open(t, p.h, ""), open(t, p.h, "")
				for word := range strings.FieldsSeq(scenario) {
					p.do(word)
					synctest.Wait()
				}
				for _, hangUp := range p.hangUps {
					hangUp()
				}
			})
		})
	}
}

// play is a scenario under way, with its connections by name.
type play struct {
	t              *testing.T
	h              *mcphttp.Handler
	session, other string
	answers        map[string]<-chan response
	hangUps        map[string]context.CancelFunc
}

var means = strings.NewReplacer("cutoff", "cut off", "unknown", `"effects":"unknown"`)

func (p *play) do(word string) {
	const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	serves := func(status int, r post) {
		require.Equal(p.t, status, serveIn(p.t.Context(), p.h, r.in(p.session)).status, word)
	}
	connection, want, isAnswer := strings.Cut(word, "=")
	switch {
	case word == "heeds":
	case word == "delete":
		serves(http.StatusNoContent, post{clientHeaders + "DELETE\n", ""})
	case word == "shutdown":
		require.ErrorIs(p.t, p.h.Shutdown(over()), context.Canceled)
	case word == "cancel":
		serves(http.StatusAccepted, legacy(cancelled))
	case word == "cancels":
		serves(http.StatusAccepted, legacy("["+cancelled+","+cancelled+"]"))
	case word[0] <= '9':
		time.Sleep(must(time.ParseDuration(word))(p.t))
	case isAnswer && want == "400":
		require.Equal(p.t, http.StatusBadRequest, (<-p.answers[connection]).status)
	case isAnswer:
		if strings.HasPrefix(want, "run") {
			want += "."
		}
		require.Contains(p.t, (<-p.answers[connection]).body, means.Replace(want), word)
	case strings.HasSuffix(word, "!"):
		p.hangUps[word[:1]]()
	default:
		r := legacyCall("7")
		if strings.HasSuffix(word, "+") {
			r.body = strings.Replace(r.body, "{}", `{"x":1}`, 1)
		}
		if r = r.in(p.session); strings.HasSuffix(word, "'") {
			r.headers = strings.Replace(r.headers, p.session, p.other, 1)
		}
		var ctx context.Context
		ctx, p.hangUps[word[:1]] = context.WithCancel(p.t.Context())
		p.answers[word[:1]] = begin(ctx, p.h, r)
	}
}

// A call that arrives again gets the first answer, byte for byte.
func TestARepeatIsAnsweredInTheSameWords(t *testing.T) {
	for explanation, answer := range results {
		if answer == nil {
			continue
		}
		runs, server := 0, rawServer(ran)
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method != "tools/call" {
					return next(ctx, method, req)
				}
				runs++
				return answer()
			}
		})
		h := newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})
		session := open(t, h, "")
		for n, id := range []string{`7`, `-1`, `"a"`, `"<&>"`, `"\u003c\u2028\""`, `"é"`} {
			_, first, _ := strings.Cut(serve(h, legacyCall(id).in(session)).body, "data: ")
			_, again, _ := strings.Cut(serve(h, legacyCall(id).in(session)).body, "data: ")
			require.Equal(t, first, again, "%s %s", explanation, id)
			require.Equal(t, n+1, runs, "%s %s", explanation, id)
		}
	}
}

// A session may have several users, and a call is its user's.
func TestARepeatIsOfOneUser(t *testing.T) {
	h := named(newHandler(t, rawServer(func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		who := "nobody"
		if info := req.Extra.TokenInfo; info != nil {
			who = info.UserID
		}
		return say("the account of " + who)
	}), mcphttp.HandlerOptions{}, mcphttp.Limits{}))
	session := open(t, h, "")
	for _, who := range []string{"ann", "bob"} {
		require.Contains(t, serve(h, legacyCall("7").in(session).as(who)).body, "the account of "+who)
	}
	require.Contains(t, serve(h, legacyCall("7").in(session)).body, "the account of nobody")
}

// A client that is told to log in sends the same call again.
func TestARefusalIsNotRepeated(t *testing.T) {
	server := rawServer(ran)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" && req.GetExtra().Header.Get("X-Scope") == "" {
				return nil, &mcphttp.StatusError{Err: errors.New("insufficient_scope"), Status: http.StatusForbidden}
			}
			return next(ctx, method, req)
		}
	})
	h := newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})
	session := open(t, h, "")
	require.Equal(t, http.StatusForbidden, serve(h, legacyCall("7").in(session)).status)
	again := serve(h, legacyCall("7").in(session).with("X-Scope: write"))
	require.Equal(t, http.StatusOK, again.status)
	require.Contains(t, again.body, `"result"`)
}
