package mcphttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/trip"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mcphttp"
	"github.com/mrtr-go/sdk/sse"
)

// A call that waits for its user when the drain begins gets its answer, in the
// session that is about to close, and its result; whatever is new is refused.
func TestShutdownLetsARunningCallFinish(t *testing.T) {
	server := trip.NewServer(sse.Bridge(trip.Handler, nil))
	h, err := newFront(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	defer srv.Close()

	asked, answer := make(chan struct{}, 2), make(chan struct{})
	client := dial(t, srv.URL, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": func(q wire.Question) any {
		asked <- struct{}{}
		<-answer
		return trip.Answers[q.Key](q)
	}}})
	called, err := client.Start(t.Context(), wire.Request{Name: "trip", Arguments: map[string]any{"who": "Ada"}})
	require.NoError(t, err)
	<-asked

	drained := make(chan error, 1)
	go func() { drained <- h.Shutdown(t.Context()) }()
	require.Eventually(t, func() bool {
		return send(t, http.MethodPost, srv.URL, initializeBody, nil).status == http.StatusServiceUnavailable
	}, 5*time.Second, time.Millisecond)
	for version, method := range map[string]string{"2025-11-25": "POST", "2026-07-28": "POST", "2025-06-18": "GET"} {
		res := send(t, method, srv.URL, plainListBody, func(r *http.Request) {
			r.Header.Set("Mcp-Protocol-Version", version)
		})
		require.Equal(t, http.StatusServiceUnavailable, res.status, version)
		require.NotEmpty(t, res.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusServiceUnavailable, send(t, http.MethodPost, srv.URL, "{}", func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "subscriptions/listen")
	}).status)
	select {
	case err := <-drained:
		require.Fail(t, "drained under a running call", "%v", err)
	default:
	}

	close(answer)
	got, err := called.Wait(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(got.Result), `"structuredContent":{"text":"Ada goes to Lisbon by train"}`)
	require.NoError(t, <-drained)
	for range server.Sessions() {
		require.Fail(t, "a session outlived the shutdown")
	}
	require.NoError(t, h.Shutdown(t.Context()), "a second time there is nothing to do")
}

func TestShutdownOutOfPatienceCancels(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		began, ended := make(chan struct{}), make(chan error, 1)
		server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			close(began)
			<-ctx.Done()
			ended <- ctx.Err()
			return say("over")
		})
		h, err := newFront(func(*http.Request) *mcp.Server { return server }, nil)
		require.NoError(t, err)
		srv := httptest.NewServer(h)
		client := dial(t, srv.URL, &wire.Options{Version: version})
		_, err = client.Start(t.Context(), wire.Request{Name: "tool"})
		require.NoError(t, err)
		<-began
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
		cancel()
		select {
		case err := <-ended:
			require.Error(t, err)
		case <-time.After(30 * time.Second):
			require.Fail(t, "the call was not cancelled", version)
		}
		require.NoError(t, client.Close())
		srv.Close()
	}
}

// While the server drains, every message by which go-sdk would start a call or open
// a session is refused, however its body disguises it; the messages that running
// calls wait for come through.
func TestDrainLetsNoCallIn(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	h, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		select {
		case <-release:
		case <-time.After(30 * time.Second): // the test has failed
		}
		return say("over")
	}), nil)
	session := send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
	within := func(r *http.Request) { r.Header.Set("Mcp-Session-Id", session) }
	running := make(chan response, 1)
	go func() { running <- send(t, http.MethodPost, url, callBody("1", `"x":0`), within) }()
	<-began
	drained := make(chan error, 1)
	go func() { drained <- h.Shutdown(t.Context()) }()
	require.Eventually(t, func() bool {
		return send(t, http.MethodPost, url, initializeBody, nil).status == http.StatusServiceUnavailable
	}, 5*time.Second, time.Millisecond)

	for name, member := range hiddenMembers {
		require.Equal(t, http.StatusServiceUnavailable, send(t, http.MethodPost, url, callBody("7", member), within).status, name)
		hidden := strings.TrimSuffix(initializeBody, "}") + "," + member + "}"
		require.Equal(t, http.StatusServiceUnavailable, send(t, http.MethodPost, url, hidden, nil).status, name)
	}
	const note = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`
	require.Equal(t, http.StatusServiceUnavailable, send(t, http.MethodPost, url, note, nil).status, "of no session")
	for _, body := range []string{note, "[" + note + "]", `{"jsonrpc":"2.0","id":99,"result":{}}`} {
		require.Equal(t, http.StatusAccepted, send(t, http.MethodPost, url, body, within).status, body)
	}
	close(release)
	require.Contains(t, (<-running).body, "over")
	require.NoError(t, <-drained)
}

// A call that claims in a header to be a subscription is waited for all the same:
// go-sdk reads that header on modern requests alone.
func TestShutdownWaitsForACallThatClaimsToListen(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	h, url := front(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		began <- struct{}{}
		select {
		case <-release:
		case <-time.After(30 * time.Second): // the test has failed
		}
		return say("over")
	}), &mcphttp.HandlerOptions{Stateless: true})
	running := make(chan response, 1)
	go func() {
		running <- send(t, http.MethodPost, url, callBody("1", `"x":0`), func(r *http.Request) {
			r.Header.Set("Mcp-Method", "subscriptions/listen")
		})
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
	close(release)
	<-running
}

// Neither a subscription nor a standing stream is work to wait for.
func TestShutdownEndsStreams(t *testing.T) {
	server := trip.NewServer(trip.Handler)
	h, err := newFront(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	defer srv.Close()

	id := send(t, http.MethodPost, srv.URL, initializeBody, nil).header.Get("Mcp-Session-Id")
	ended := make(chan string, 2)
	open := func(name, method, body string, header map[string]string) {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range header {
			r.Header.Set(k, v)
		}
		started := make(chan struct{})
		go func() {
			res, err := http.DefaultClient.Do(r)
			close(started)
			if err != nil || res.StatusCode != http.StatusOK {
				ended <- name + " failed"
				return
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			if name == "listen" && !strings.Contains(string(text), `"resultType":"complete"`) {
				name = "listen without an end"
			}
			ended <- name
		}()
		<-started // go-sdk sends the headers once it holds the stream
	}
	open("stream", http.MethodGet, "", map[string]string{"Mcp-Session-Id": id, "Mcp-Protocol-Version": "2025-11-25"})
	open("listen", http.MethodPost,
		`{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"})

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.NoError(t, h.Shutdown(ctx))
	require.ElementsMatch(t, []string{"stream", "listen"}, []string{<-ended, <-ended})
}

// Sessions that come and go leave nothing behind in the handler.
func TestEndedSessionsAreForgotten(t *testing.T) {
	server := trip.NewServer(trip.Handler)
	h, err := newFront(func(*http.Request) *mcp.Server { return server }, &mcphttp.HandlerOptions{SessionTimeout: 20 * time.Millisecond})
	require.NoError(t, err)
	srv := httptest.NewServer(h)
	defer srv.Close()
	for range 5 {
		require.Equal(t, http.StatusOK, send(t, http.MethodPost, srv.URL, initializeBody, nil).status)
	}
	require.Eventually(t, func() bool { return mcphttp.OpenSessions(h) == 0 }, 30*time.Second, time.Millisecond)
	require.NoError(t, h.Shutdown(t.Context()))
}

// Calls that a shutdown cuts off are answered, in both eras, with sessions and without, and
// whether or not its stream has begun.
func TestShutdownAnswersWhatItCutsOff(t *testing.T) {
	for _, c := range []struct {
		explanation string
		stateless   bool
		body        string
		calls       int
		edit        func(*http.Request)
		beat        time.Duration
	}{
		{"a modern call", false, modernCallBody, 1, asModern, 0},
		{"a modern call whose stream began", false, modernCallBody, 1, asModern, time.Millisecond},
		{"a legacy call", false, callBody("7", `"x":0`), 1, nil, 0},
		{"a legacy batch", false, callBatch(3), 3, nil, 0},
		{"a call without a session", true, callBody("7", `"x":0`), 1, nil, 0},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			began := make(chan struct{}, 3)
			server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				began <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			})
			h, url := front(t, server, &mcphttp.HandlerOptions{Stateless: c.stateless, Heartbeat: c.beat})
			session := ""
			if !c.stateless && c.edit == nil {
				session = send(t, http.MethodPost, url, initializeBody, nil).header.Get("Mcp-Session-Id")
			}
			answered := make(chan response, 1)
			go func() {
				answered <- send(t, http.MethodPost, url, c.body, func(r *http.Request) {
					if session != "" {
						r.Header.Set("Mcp-Session-Id", session)
					}
					if c.edit != nil {
						c.edit(r)
					}
				})
			}()
			for range c.calls {
				receive(t, began, "the calls did not run")
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, h.Shutdown(over), context.Canceled)
			got := <-answered
			require.Equal(t, c.calls, strings.Count(got.body, `"id":`), got.body)
			require.Equal(t, c.calls, strings.Count(got.body, "event: message\ndata: {"), got.body)
		})
	}
}
