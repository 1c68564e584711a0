package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// modernCall is a call of the tool "tool", whose id and further params are given
// as JSON.
func modernCall(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"tool",` + params +
		`"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

// callModern is such a call with the id 7.
var callModern = modernCall("7", "")

// The faults of go-sdk v1.8.0 in one modern POST, see docs/go-sdk.md, are fixed by
// a Handler.
func TestFaultsFixedInFrontOfGoSDK(t *testing.T) {
	for _, tc := range []struct {
		explanation string
		body        string
		header      func(http.Header)
		status      int
		says        string // part of the response
		runs        int64
	}{
		{"the plain call", modernCall("1", ""), nil, 200, `"text":"ran"`, 1},
		{"a name in base64 is decoded", modernCall("1", ""), func(h http.Header) { h.Set("Mcp-Name", "=?base64?dG9vbA==?=") }, 200, `"text":"ran"`, 1},
		{"another name in base64", modernCall("1", ""), func(h http.Header) { h.Set("Mcp-Name", "=?base64?dG9vbHM=?=") }, 400, `"code":-32020`, 0},
		{"a name in what is no base64", modernCall("1", ""), func(h http.Header) { h.Set("Mcp-Name", "=?base64?*?=") }, 400, `"code":-32020`, 0},
		{"Last-Event-ID is ignored", modernCall("1", ""), func(h http.Header) { h.Set("Last-Event-ID", "x_1") }, 200, `"text":"ran"`, 1},
		{"an answer of no known kind is ignored", modernCall("1", `"inputResponses":{"a":{"what":1}},`), nil, 200, `"text":"ran"`, 1},
		{"a state that is a number", modernCall("1", `"requestState":5,`), nil, 400, `"code":-32602`, 0},
		{"params that do not decode, and a wrong method", modernCall("1", `"requestState":5,`), func(h http.Header) { h.Set("Mcp-Method", "ping") }, 400, `"code":-32020`, 0},
		{"two versions", modernCall("1", ""), func(h http.Header) { h.Add("Mcp-Protocol-Version", "2025-11-25") }, 400, `"code":-32020`, 0},
		{"two versions, the modern one last", modernCall("1", ""), func(h http.Header) {
			h["Mcp-Protocol-Version"] = []string{"2025-11-25", "2026-07-28"}
		}, 400, `"code":-32020`, 0},
		{"two methods", modernCall("1", ""), func(h http.Header) { h.Add("Mcp-Method", "tools/list") }, 400, `"code":-32020`, 0},
		{"two names", modernCall("1", ""), func(h http.Header) { h.Add("Mcp-Name", "other") }, 400, `"code":-32020`, 0},
		{"two values of an argument's header", modernCall("1", ""), func(h http.Header) { h.Add("Mcp-Param-X", "1"); h.Add("Mcp-Param-X", "2") }, 400, `"code":-32020`, 0},
		{"one value twice", modernCall("1", ""), func(h http.Header) { h.Add("Mcp-Name", "tool") }, 200, `"text":"ran"`, 1},
		{"an id beyond 2^53", modernCall("9007199254740993", ""), nil, 400, `"id":9007199254740993,"error":{"code":-32600`, 0},
		{"an id beyond 2^64", modernCall("18446744073709551617", ""), nil, 400, `"id":18446744073709551617,"error":{"code":-32600`, 0},
		{"an id with a fraction", modernCall("1.5", ""), nil, 400, `"id":1.5,"error":{"code":-32600`, 0},
		{"an id beyond all floats", modernCall("1e999", ""), nil, 400, `"id":1e999,"error":{"code":-32600`, 0},
		{"an id that is a power of two", modernCall("1152921504606846976", ""), nil, 200, `"id":1152921504606846976`, 1},
		{"the largest exact id", modernCall("-9007199254740991", ""), nil, 200, `"id":-9007199254740991`, 1},
		{"a text that looks like a number", modernCall(`"9007199254740993"`, ""), nil, 200, `"id":"9007199254740993"`, 1},
	} {
		for _, stateless := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stateless=%v", tc.explanation, stateless), func(t *testing.T) {
				var runs atomic.Int64
				_, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs.Add(1)
					return say("ran")
				}), &mcphttp.HandlerOptions{Stateless: stateless})
				res := send(t, http.MethodPost, url, tc.body, func(r *http.Request) {
					modernHeaders(r)
					if tc.header != nil {
						tc.header(r.Header)
					}
				})
				require.Equal(t, tc.status, res.status, res.body)
				require.Contains(t, res.body, tc.says)
				require.Equal(t, tc.runs, runs.Load())
				if tc.status == http.StatusBadRequest {
					require.Equal(t, "application/json", res.header.Get("Content-Type"))
					require.True(t, json.Valid([]byte(res.body)), res.body)
				}
			})
		}
	}
}

// The fixes change the copy that go-sdk reads, and not the request of a handler in front.
func TestFixesLeaveTheRequestOfTheCallerAlone(t *testing.T) {
	var r *http.Request
	w := direct(t.Context(), newHandler(t, rawServer(ran), nil), callModern, func(request *http.Request) {
		r = request
		modernHeaders(r)
		r.Header.Set("Mcp-Name", "=?base64?dG9vbA==?=")
		r.Header.Set("Last-Event-ID", "x_1")
	})
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "=?base64?dG9vbA==?=", r.Header.Get("Mcp-Name"))
	require.Equal(t, "x_1", r.Header.Get("Last-Event-ID"))
}

// A legacy request with two sessions is refused: a proxy may have looked at the
// other.
func TestTwoSessionsInOneRequest(t *testing.T) {
	_, url := front(t, rawServer(nil), nil)
	session := openSession(t, url)
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		res := send(t, method, url, plainListBody, inSession(session, func(r *http.Request) { r.Header.Add("Mcp-Session-Id", "other") }))
		require.Equal(t, http.StatusBadRequest, res.status, method)
		require.Contains(t, res.body, "two values of Mcp-Session-Id")
	}
}

// An id that would be altered is refused in a session too, before the call has an
// effect.
func TestAlteredIDsInASession(t *testing.T) {
	ran := make(chan struct{}, 10)
	_, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ran <- struct{}{}
		return say("ran")
	}), nil)
	session := openSession(t, url)
	for _, id := range []string{"9007199254740993", "1.5", "-18446744073709551617"} {
		for _, body := range []string{callBody(id, `"x":0`), "[" + callBody("1", `"x":0`) + "," + callBody(id, `"x":0`) + "]"} {
			res := send(t, http.MethodPost, url, body, inSession(session))
			require.Equal(t, http.StatusBadRequest, res.status)
			require.Contains(t, res.body, `"id":`+id+`,"error":{"code":-32600`)
		}
	}
	require.Empty(t, ran)
}

// The end of a session cancels its calls. A handler that does not heed that keeps
// nobody waiting.
func TestDeleteDoesNotWaitForCalls(t *testing.T) {
	t.Parallel() // the server gives the call a second
	for _, heeds := range []bool{true, false} {
		t.Run(fmt.Sprintf("heeds=%v", heeds), func(t *testing.T) {
			t.Parallel()
			s := newWaiting(heeds)
			_, url := front(t, s.server, nil)
			within := inSession(openSession(t, url))
			called := start(t, url, callBody("7", `"x":0`), within)
			receive(t, s.began, "the call did not run")

			start := time.Now()
			status := send(t, http.MethodDelete, url, "", within).status
			require.Less(t, time.Since(start), 30*time.Second)
			if heeds {
				require.Equal(t, http.StatusNoContent, status)
			} else {
				require.Equal(t, http.StatusAccepted, status)
				close(s.release)
			}
			require.ErrorIs(t, <-s.ended, context.Canceled)
			<-called
			require.Eventually(t, func() bool {
				return send(t, http.MethodPost, url, plainListBody, within).status == http.StatusNotFound
			}, 5*time.Second, 10*time.Millisecond)
		})
	}
}

// Nobody ends the calls of another user's session.
func TestDeleteOfAnotherUsersSession(t *testing.T) {
	s := newWaiting(false)
	h := newHandler(t, s.server, nil)
	web := httptest.NewServer(newOpener(t, h).h)
	defer web.Close()
	as := func(user, session string) func(*http.Request) {
		return inSession(session, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+user) })
	}
	session := send(t, http.MethodPost, web.URL, initializeBody, as("ada", "")).header.Get("Mcp-Session-Id")
	called := start(t, web.URL, callBody("7", `"x":0`), as("ada", session))
	receive(t, s.began, "the call did not run")
	require.Equal(t, http.StatusForbidden, send(t, http.MethodDelete, web.URL, "", as("eve", session)).status)
	close(s.release)
	require.NoError(t, <-s.ended)
	require.Contains(t, (<-called).body, `"text":"over"`)
}

// A call whose answers can be read in two ways does not run, and is told the member.
func TestAnswersThatStandTwiceAreRefused(t *testing.T) {
	for _, tc := range []struct {
		explanation, extra string
		status             int
		says               string
		runs               int
	}{
		{"one answer", `"inputResponses":{"a":{"action":"accept","content":{"x":1}}},`, 200, `"text":"ran"`, 1},
		{"a property twice", `"inputResponses":{"a":{"action":"accept","content":{"sum":10,"sum":1000}}},`, 400, `two members \"sum\"`, 0},
		{"an answer twice", `"inputResponses":{"a":{"action":"decline"},"a":{"action":"accept"}},`, 400, `two members \"a\"`, 0},
		{"an action twice, escaped", `"inputResponses":{"a":{"action":"decline","\u0061ction":"accept"}},`, 400, `two members \"action\"`, 0},
		{"the answers twice", `"inputResponses":{},"inputResponses":{"a":{"action":"accept"}},`, 400, `two members \"inputResponses\"`, 0},
	} {
		for _, headed := range []bool{true, false} { // by its header or by its _meta a modern request
			t.Run(tc.explanation, func(t *testing.T) {
				runs := 0
				_, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					runs++
					return say("ran")
				}), nil)
				res := send(t, http.MethodPost, url, modernCall("7", tc.extra), func(r *http.Request) {
					if headed {
						modernHeaders(r)
					}
				})
				if !headed && tc.runs > 0 {
					return // go-sdk wants the header
				}
				require.Equal(t, tc.status, res.status, res.body)
				require.Contains(t, res.body, tc.says)
				require.Equal(t, tc.runs, runs)
				if tc.runs == 0 {
					require.Contains(t, res.body, `"id":7,"error":{"code":-32602,`)
					require.NotContains(t, res.body, "1000")
				}
			})
		}
	}
}

// Text after the first value of a body hides nothing in it.
func TestAnAnswerThatStandsTwiceCannotHide(t *testing.T) {
	_, url := front(t, rawServer(ran), nil)
	body := modernCall("7", `"inputResponses":{"a":{"action":"decline","action":"accept"}},`)
	for _, hidden := range []string{body + "}", " " + body + " x", body + "\x00", "{\"x\":tru," + body[1:], body[:len(body)-1] + ",}"} {
		res := send(t, http.MethodPost, url, hidden, modernHeaders)
		require.Equal(t, http.StatusBadRequest, res.status)
		require.NotContains(t, res.body, "ran")
	}
}

// The answer of a legacy client that stands twice ends its question, and nothing else.
func TestAnAnswerOverTheSessionThatStandsTwiceEndsItsQuestion(t *testing.T) {
	asked := make(chan error, 2)
	_, url := front(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.Elicit(ctx, wire.TextForm("q?", "q"))
		asked <- err
		return say("over")
	}), nil)
	client := dial(t, url, &wire.Options{Version: wire.Legacy})
	answers := wire.Answers{"*": wire.InTurn(wire.Raw(`{"action":"decline","action":"accept","content":{"q":"yes"}}`), wire.Raw(`{"action":"accept","content":{"q":"yes"}}`))}
	out := must(client.Call(t.Context(), "tool", map[string]any{}, answers))(t)
	require.Equal(t, "over", out.Text)
	require.ErrorContains(t, <-asked, `an answer has two members "action"`)
	must(client.Call(t.Context(), "tool", map[string]any{}, answers))(t)
	require.NoError(t, <-asked)
}

// A batch of one message is a batch, which no revision but one has.
func TestABatchOfOneIsABatch(t *testing.T) {
	for _, stock := range []bool{false, true} {
		_, url := front(t, rawServer(ran), &mcphttp.HandlerOptions{StockFront: stock})
		res := send(t, http.MethodPost, url, "["+modernCall("7", "")+"]", modernHeaders)
		require.Equal(t, http.StatusBadRequest, res.status)
		require.NotContains(t, res.body, "ran")
	}
}
