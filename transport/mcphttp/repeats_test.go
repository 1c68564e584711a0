package mcphttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// counted is a server whose tool says how often it has run, after a second. It heeds its
// context only if told to.
type counted struct {
	runs  atomic.Int64
	heeds bool
	long  bool // says much
	quick bool // takes no time
}

func (s *counted) serve(t *testing.T) (h *mcphttp.Handler, post func(ctx context.Context, body string) <-chan *httptest.ResponseRecorder) {
	h = newHandler(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := s.runs.Add(1)
		if s.quick {
			return say("done")
		}
		select {
		case <-time.After(time.Second):
		case <-onlyIf(s.heeds, ctx.Done()):
			return say("cut off")
		}
		if s.long {
			return say(strings.Repeat("x", 70<<10))
		}
		return say("run " + string(rune('0'+n)))
	}), nil)
	session := newOpener(t, h).open("")
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	return h, func(ctx context.Context, body string) <-chan *httptest.ResponseRecorder {
		answered := make(chan *httptest.ResponseRecorder, 1)
		go func() { answered <- direct(ctx, h, body, inSession(session)) }()
		return answered
	}
}

func onlyIf[T any](heeds bool, c <-chan T) <-chan T {
	if heeds {
		return c
	}
	return nil
}

// eventOf is the message of a stream that has one.
func eventOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	_, data, found := strings.Cut(w.Body.String(), "data: ")
	require.True(t, found, w.Body)
	return strings.TrimSpace(data)
}

// A call of a session that arrives again gets the answer of the first, and its tool runs
// once.
func TestACallThatArrivesTwiceInASessionRunsOnce(t *testing.T) {
	call := callBody("7", `"x":0`)
	one := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"run 1"}]}}`
	two := strings.Replace(one, "run 1", "run 2", 1)
	inBubble := func(name string, s *counted, f func(t *testing.T, h *mcphttp.Handler, post func(context.Context, string) <-chan *httptest.ResponseRecorder)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, post := s.serve(t)
				f(t, h, post)
			})
		})
	}
	type posting = func(context.Context, string) <-chan *httptest.ResponseRecorder

	inBubble("in flight", &counted{}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		first := post(t.Context(), call)
		synctest.Wait()
		second := post(t.Context(), call)
		require.Equal(t, one, eventOf(t, <-first))
		require.Equal(t, one, eventOf(t, <-second))
	})
	inBubble("just answered", &counted{}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		require.Equal(t, one, eventOf(t, <-post(t.Context(), call)))
		time.Sleep(9 * time.Second)
		require.Equal(t, one, eventOf(t, <-post(t.Context(), call)))
		time.Sleep(2 * time.Second)
		require.Equal(t, two, eventOf(t, <-post(t.Context(), call)), "the time of the answer is over")
	})
	inBubble("the first connection broke", &counted{}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		ctx, hangUp := context.WithCancel(t.Context())
		first := post(ctx, call)
		synctest.Wait()
		hangUp()
		<-first
		require.Equal(t, one, eventOf(t, <-post(t.Context(), call)))
	})
	inBubble("the first connection breaks later", &counted{heeds: true}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		ctx, hangUp := context.WithCancel(t.Context())
		first := post(ctx, call)
		synctest.Wait()
		second := post(t.Context(), call)
		synctest.Wait()
		hangUp()
		<-first
		require.Equal(t, one, eventOf(t, <-second), "somebody waited, so it was not cancelled")
	})
	inBubble("both connections break", &counted{heeds: true}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		ctx, hangUp := context.WithCancel(t.Context())
		first := post(ctx, call)
		synctest.Wait()
		second := post(ctx, call)
		synctest.Wait()
		hangUp()
		<-first
		<-second
		require.Contains(t, eventOf(t, <-post(t.Context(), call)), "cut off")
	})
	inBubble("the first connection broke, and the session ends", &counted{heeds: true}, func(t *testing.T, h *mcphttp.Handler, post posting) {
		ctx, hangUp := context.WithCancel(t.Context())
		first := post(ctx, call)
		synctest.Wait()
		second := post(t.Context(), call)
		synctest.Wait()
		hangUp()
		<-first
		at := time.Now()
		ended := direct(t.Context(), h, "", inSession(mcphttp.SessionOf(h), func(r *http.Request) { r.Method = http.MethodDelete }))
		require.Equal(t, http.StatusNoContent, ended.Code)
		require.Contains(t, eventOf(t, <-second), "cut off")
		require.Zero(t, time.Since(at), "the call was cancelled")
	})
	inBubble("the session ends while both wait", &counted{heeds: true}, func(t *testing.T, h *mcphttp.Handler, post posting) {
		first, second := post(t.Context(), call), post(t.Context(), call)
		synctest.Wait()
		direct(t.Context(), h, "", inSession(mcphttp.SessionOf(h), func(r *http.Request) { r.Method = http.MethodDelete }))
		require.Contains(t, (<-first).Body.String()+(<-second).Body.String(), "cut off")
	})
	inBubble("a shutdown cuts off both", &counted{}, func(t *testing.T, h *mcphttp.Handler, post posting) {
		first := post(t.Context(), call)
		synctest.Wait()
		second := post(t.Context(), call)
		synctest.Wait()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, h.Shutdown(over), context.Canceled)
		for _, answered := range []<-chan *httptest.ResponseRecorder{first, second} {
			require.Contains(t, eventOf(t, <-answered), `"effects":"unknown"`, "the handler runs")
		}
	})
	inBubble("its id is used again as its client hangs up", &counted{heeds: true}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		for range 200 {
			ctx, hangUp := context.WithCancel(t.Context())
			first := post(ctx, call)
			synctest.Wait()
			hangUp()
			<-first
			synctest.Wait() // the handler has returned
			require.Contains(t, eventOf(t, <-post(t.Context(), callBody("7", `"x":1`))), "run ")
		}
	})
	inBubble("its id is used again after a late cancellation", &counted{heeds: true}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		late := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
		for n := range 200 {
			require.Contains(t, eventOf(t, <-post(t.Context(), callBody("7", `"x":`+strconv.Itoa(n)))), "run ")
			for _, body := range []string{late, "[" + late + "]", "[" + late + "," + late + "]"} {
				require.Equal(t, http.StatusAccepted, (<-post(t.Context(), body)).Code)
			}
		}
	})
	inBubble("it is cancelled", &counted{heeds: true}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		first := post(t.Context(), call)
		synctest.Wait()
		require.Equal(t, http.StatusAccepted, (<-post(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)).Code)
		require.Contains(t, eventOf(t, <-first), "cut off")
	})
	inBubble("another body in flight", &counted{}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		first := post(t.Context(), call)
		synctest.Wait()
		other := <-post(t.Context(), callBody("7", `"x":1`))
		require.Equal(t, http.StatusBadRequest, other.Code, other.Body)
		require.Equal(t, one, eventOf(t, <-first))
		require.Equal(t, two, eventOf(t, <-post(t.Context(), callBody("7", `"x":1`))), "the id is free again")
	})
	inBubble("an answer too long to keep", &counted{long: true}, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		require.Contains(t, eventOf(t, <-post(t.Context(), call)), "xxx")
		require.Equal(t, `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"This call was answered before, and its answer was not kept: do not call the tool again without checking."}}`,
			eventOf(t, <-post(t.Context(), call)))
	})
	inBubble("another session", &counted{}, func(t *testing.T, h *mcphttp.Handler, post posting) {
		require.Equal(t, one, eventOf(t, <-post(t.Context(), call)))
		other := newOpener(t, h).open("")
		require.Equal(t, two, eventOf(t, direct(t.Context(), h, call, inSession(other))))
	})
	many := &counted{quick: true}
	inBubble("many answers", many, func(t *testing.T, _ *mcphttp.Handler, post posting) {
		for id := range 17 {
			eventOf(t, <-post(t.Context(), callBody(strconv.Itoa(id), `"x":0`)))
		}
		eventOf(t, <-post(t.Context(), callBody("16", `"x":0`)))
		require.EqualValues(t, 17, many.runs.Load())
		eventOf(t, <-post(t.Context(), callBody("0", `"x":0`)))
		require.EqualValues(t, 18, many.runs.Load(), "the oldest answer made room")
	})
}

// A call that arrives again gets the first answer, byte for byte.
func TestARepeatIsAnsweredInTheSameWords(t *testing.T) {
	notFound := &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no such <city>", Data: json.RawMessage(`{"a": 1}`)}
	outcomes := map[string]mcp.ToolHandler{
		"nothing":                       func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, nil }, // go-sdk sends null
		"a result":                      func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("<&>\u2028") },
		"an error with a method's code": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return nil, notFound },
		"another that wraps it": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, fmt.Errorf("failed: %w", notFound)
		},
		"an error that is none of JSON-RPC's": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("<no>")
		},
	}
	for explanation, outcome := range outcomes {
		t.Run(explanation, func(t *testing.T) {
			runs := 0
			server := mcp.NewServer(&mcp.Implementation{Name: "raw", Version: "1"}, nil)
			server.AddTool(&mcp.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				runs++
				return outcome(ctx, req)
			})
			h := newHandler(t, server, nil)
			session := newOpener(t, h).open("")
			for n, id := range []string{`7`, `-1`, `"a"`, `"<&>"`, `"\u003c\u2028\""`, `"é"`} {
				call := callBody(id, `"x":0`)
				first := eventOf(t, direct(t.Context(), h, call, inSession(session)))
				require.Equal(t, first, eventOf(t, direct(t.Context(), h, call, inSession(session))), id)
				require.Equal(t, n+1, runs, id)
			}
		})
	}
}
