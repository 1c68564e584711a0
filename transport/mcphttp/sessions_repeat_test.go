package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

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
