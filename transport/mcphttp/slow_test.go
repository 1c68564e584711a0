package mcphttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// rawPost sends the head of a POST and the given part of its body.
func rawPost(t *testing.T, addr, body string, size int, header ...string) net.Conn {
	t.Helper()
	c := must(net.Dial("tcp", addr))(t)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(256<<10))
	head := []string{"POST / HTTP/1.1", "Host: localhost", "Content-Type: application/json",
		"Accept: application/json, text/event-stream", fmt.Sprint("Content-Length: ", size)}
	must(io.WriteString(c, strings.Join(append(head, header...), "\r\n")+"\r\n\r\n"+body))(t)
	return c
}

func address(url string) string { return strings.TrimPrefix(url, "http://") }

func TestASlowBodyIsRefused(t *testing.T) {
	for _, header := range []string{"X: legacy", "Mcp-Protocol-Version: 2026-07-28"} {
		_, url := front(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{BodyTimeout: 50 * time.Millisecond})
		c := rawPost(t, address(url), "{", 100, header)
		go func() { // drips do not help
			for range 50 {
				time.Sleep(10 * time.Millisecond)
				_, _ = io.WriteString(c, " ")
			}
		}()
		require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err, header)
		require.Equal(t, http.StatusRequestTimeout, res.StatusCode)
		require.True(t, res.Close)
	}
}

// Neither this handler's Shutdown nor the server's waits for a body that does not come.
func TestHalfABodyDoesNotHoldUpShutdown(t *testing.T) {
	h := newHandler(t, wire.NewTripServer(wire.Trip), nil)
	reading := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reading <- struct{}{}
		h.ServeHTTP(w, r)
	}))
	defer srv.Close()
	rawPost(t, address(srv.URL), "{", 100)
	receive(t, reading, "the request did not arrive")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, h.Shutdown(ctx))
	require.NoError(t, srv.Config.Shutdown(ctx))
}

// The answer of a client that does not read is dropped with its connection.
func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	t.Parallel() // it mostly waits
	server := rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return say(strings.Repeat("x", 12<<20))
	})
	h := newHandler(t, server, &mcphttp.HandlerOptions{WriteTimeout: 50 * time.Millisecond})
	served := make(chan struct{}, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		served <- struct{}{}
	}))
	defer srv.Close()
	c := rawPost(t, address(srv.URL), callModern, len(callModern), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: tool")
	defer c.Close() // before the server, which would wait for it
	receive(t, served, "the server waits for a client that does not read")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(30*time.Second)))
	got, err := io.Copy(io.Discard, c)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, got, int64(12<<20), "the connection is closed before the answer is whole")
	require.NoError(t, h.Shutdown(t.Context()))
}

// openStream sends a request and returns its response while that is being written.
func openStream(t *testing.T, method, url, body string, edit func(*http.Request)) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a stream on which nothing comes fails the test
	t.Cleanup(cancel)
	r := must(http.NewRequestWithContext(ctx, method, url, strings.NewReader(body)))(t)
	clientHeaders(r)
	edit(r)
	res := must(http.DefaultClient.Do(r))(t)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// Every stream on which nothing comes carries a comment, with a progress token or
// without, in both eras, with sessions and without.
func TestSilentStreamsCarryHeartbeats(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, c := range []struct {
		explanation string
		stateless   bool
		method      string
		body        string
		edit        func(*http.Request)
	}{
		{"a legacy call", false, http.MethodPost, callBody("7", `"x":0`), nil},
		{"a call without a session", true, http.MethodPost, callBody("7", `"x":0`), nil},
		{"a modern call", false, http.MethodPost, callModern, modernHeaders},
		{"a standing stream", false, http.MethodGet, "", nil},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			s := newWaiting(true)
			_, url := front(t, s.server, &mcphttp.HandlerOptions{Stateless: c.stateless, Heartbeat: 20 * time.Millisecond})
			session := ""
			if !c.stateless && c.edit == nil {
				session = openSession(t, url)
			}
			res := openStream(t, c.method, url, c.body, inSession(session, c.edit))
			require.Equal(t, http.StatusOK, res.StatusCode)
			require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
			lines := bufio.NewScanner(res.Body)
			for beats := 0; beats < 3; {
				require.True(t, lines.Scan(), "the stream ended")
				if lines.Text() == ": still here" {
					beats++
				}
			}
			close(s.release)
			if c.method == http.MethodPost {
				rest := ""
				for lines.Scan() {
					rest += lines.Text() + "\n"
				}
				require.NoError(t, lines.Err())
				require.Regexp(t, `event: message\ndata: .*"over"`, rest)
			} else {
				require.NoError(t, res.Body.Close())
			}
		})
	}
}

// Such an error has a status of its own where it comes at once, and cannot have
// one when the stream has begun.
func TestAnErrorAfterAHeartbeatIsAnEvent(t *testing.T) {
	release := make(chan struct{})
	server := rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-release
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such thing"}
	})
	_, url := front(t, server, &mcphttp.HandlerOptions{Heartbeat: 10 * time.Millisecond})
	res := openStream(t, http.MethodPost, url, callModern, modernHeaders)
	require.Equal(t, http.StatusOK, res.StatusCode)
	close(release)
	text := must(io.ReadAll(res.Body))(t)
	require.Regexp(t, `^(: still here\n\n)+event: message\ndata: \{.*"id":7.*"no such thing".*\}\n\n$`, string(text))

	_, atOnce := front(t, server, nil)
	at := send(t, http.MethodPost, atOnce, callModern, modernHeaders)
	require.Equal(t, http.StatusBadRequest, at.status)
	require.Contains(t, at.body, "no such thing")
}
