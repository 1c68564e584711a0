package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mcphttp"
)

// modernCall is a call of the tool "tool", whose id and further params are given
// as JSON.
func modernCall(id, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"tool",` + params +
		`"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
}

func modernHeaders(r *http.Request) {
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", "tools/call")
	r.Header.Set("Mcp-Name", "tool")
}

// The faults of go-sdk v1.8.0 in one modern POST, see docs/go-sdk.md, are mended by
// a Handler.
func TestFaultsMendedInFrontOfGoSDK(t *testing.T) {
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
		{"an answer of no known kind", modernCall("1", `"inputResponses":{"a":{"what":1}},`), nil, 400, `"code":-32602`, 0},
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

// The mends change the copy that go-sdk reads, and not the request of a handler in front.
func TestMendsLeaveTheRequestOfTheCallerAlone(t *testing.T) {
	h, err := newFront(func(*http.Request) *mcp.Server {
		return rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return say("ran") })
	}, nil)
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(modernCall("1", "")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "*/*")
	modernHeaders(r)
	r.Header.Set("Mcp-Name", "=?base64?dG9vbA==?=")
	r.Header.Set("Last-Event-ID", "x_1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "=?base64?dG9vbA==?=", r.Header.Get("Mcp-Name"))
	require.Equal(t, "x_1", r.Header.Get("Last-Event-ID"))
}

// A client can call a tool whose name no header carries as it is.
func TestNamesBeyondASCII(t *testing.T) {
	const name = "wetter-für-übermorgen"
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say("ran")
	})
	_, url := front(t, server, nil)
	out, err := dial(t, url, nil).Call(t.Context(), name, map[string]any{}, nil)
	require.NoError(t, err)
	require.Equal(t, "ran", out.Text, "%v", out.Error)
}

// A legacy request with two sessions is refused: a proxy may have looked at the
// other.
func TestTwoSessionsInOneRequest(t *testing.T) {
	_, url := front(t, rawServer(nil), nil)
	session := send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		res := send(t, method, url, plainListBody, func(r *http.Request) {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Add("Mcp-Session-Id", "other")
		})
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
	session := send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
	for _, id := range []string{"9007199254740993", "1.5", "-18446744073709551617"} {
		for _, body := range []string{callBody(id, `"x":0`), "[" + callBody("1", `"x":0`) + "," + callBody(id, `"x":0`) + "]"} {
			res := send(t, http.MethodPost, url, body, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", session) })
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
			began, release := make(chan struct{}, 1), make(chan struct{})
			ended := make(chan error, 1)
			server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				began <- struct{}{}
				if heeds {
					<-ctx.Done()
				} else {
					<-release
				}
				ended <- ctx.Err()
				return say("over")
			})
			_, url := front(t, server, nil)
			session := send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
			inSession := func(r *http.Request) { r.Header.Set("Mcp-Session-Id", session) }
			called := make(chan response, 1)
			go func() {
				called <- send(t, http.MethodPost, url, callBody("7", `"x":0`), inSession)
			}()
			receive(t, began, "the call did not run")

			start := time.Now()
			status := send(t, http.MethodDelete, url, "", inSession).status
			require.Less(t, time.Since(start), 30*time.Second)
			if heeds {
				require.Equal(t, http.StatusNoContent, status)
			} else {
				require.Equal(t, http.StatusAccepted, status)
				close(release)
			}
			require.ErrorIs(t, <-ended, context.Canceled)
			<-called
			require.Eventually(t, func() bool {
				return send(t, http.MethodPost, url, plainListBody, inSession).status == http.StatusNotFound
			}, 5*time.Second, 10*time.Millisecond)
		})
	}
}

// Nobody ends the calls of another user's session.
func TestDeleteOfAnotherUsersSession(t *testing.T) {
	began, release := make(chan struct{}, 1), make(chan struct{})
	ended := make(chan error, 1)
	server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		<-release
		ended <- ctx.Err()
		return say("over")
	})
	h, err := newFront(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	web := httptest.NewServer(auth.RequireBearerToken(verify, nil)(h))
	defer web.Close()
	as := func(user, session string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+user)
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
		}
	}
	session := send(t, http.MethodPost, web.URL, initializeBody, as("ada", "")).header.Get("Mcp-Session-Id")
	called := make(chan response, 1)
	go func() { called <- send(t, http.MethodPost, web.URL, callBody("7", `"x":0`), as("ada", session)) }()
	receive(t, began, "the call did not run")
	require.Equal(t, http.StatusForbidden, send(t, http.MethodDelete, web.URL, "", as("eve", session)).status)
	close(release)
	require.NoError(t, <-ended)
	require.Contains(t, (<-called).body, `"text":"over"`)
	require.NoError(t, h.Shutdown(t.Context()))
}
