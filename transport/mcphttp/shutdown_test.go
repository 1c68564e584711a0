package mcphttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// A call that waits for its user when the drain begins gets its answer, in the
// session that is about to close, and its result; whatever is new is refused.
func TestShutdownLetsARunningCallFinish(t *testing.T) {
	server := wire.NewTripServer(sse.Bridge(wire.Trip, nil))
	h, url := front(t, server, nil)

	asked, answer := make(chan struct{}, 2), make(chan struct{})
	client := dial(t, url, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": func(q wire.Question) any {
		asked <- struct{}{}
		<-answer
		return wire.TripAnswers[q.Key](q)
	}}})
	called := must(client.Start(t.Context(), wire.Request{Name: "trip", Arguments: map[string]any{"who": "Ada"}}))(t)
	<-asked

	drained := make(chan error, 1)
	go func() { drained <- h.Shutdown(t.Context()) }()
	require.Eventually(t, func() bool {
		return send(t, http.MethodPost, url, initializeBody, nil).status == http.StatusServiceUnavailable
	}, 5*time.Second, time.Millisecond)
	for version, method := range map[string]string{"2025-11-25": "POST", "2026-07-28": "POST", "2025-06-18": "GET"} {
		res := send(t, method, url, plainListBody, func(r *http.Request) {
			r.Header.Set("Mcp-Protocol-Version", version)
		})
		require.Equal(t, http.StatusServiceUnavailable, res.status, version)
		require.NotEmpty(t, res.header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusServiceUnavailable, send(t, http.MethodPost, url, "{}", func(r *http.Request) {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "subscriptions/listen")
	}).status)
	select {
	case err := <-drained:
		require.Fail(t, "drained under a running call", "%v", err)
	default:
	}

	close(answer)
	got := must(called.Wait(t.Context()))(t)
	require.Contains(t, string(got.Result), `"structuredContent":{"text":"Ada goes to Lisbon by train"}`)
	require.NoError(t, <-drained)
	for range server.Sessions() {
		require.Fail(t, "a session outlived the shutdown")
	}
	require.NoError(t, h.Shutdown(t.Context()), "a second time there is nothing to do")
}

// While the server drains, every message by which go-sdk would start a call or open
// a session is refused, however its body disguises it; the messages that running
// calls wait for come through.
func TestDrainLetsNoCallIn(t *testing.T) {
	s := newWaiting(false)
	h, url := front(t, s.server, nil)
	within := inSession(openSession(t, url))
	running := start(t, url, callBody("1", `"x":0`), within)
	<-s.began
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
	close(s.release)
	require.Contains(t, (<-running).body, "over")
	require.NoError(t, <-drained)
}

// A call that claims in a header to be a subscription is waited for all the same:
// go-sdk reads that header on modern requests alone.
func TestShutdownWaitsForACallThatClaimsToListen(t *testing.T) {
	s := newWaiting(false)
	h, url := front(t, s.server, &mcphttp.HandlerOptions{Stateless: true})
	running := start(t, url, callBody("1", `"x":0`), func(r *http.Request) { r.Header.Set("Mcp-Method", "subscriptions/listen") })
	<-s.began
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
	close(s.release)
	<-running
}

// Neither a subscription nor a standing stream is work to wait for.
func TestShutdownEndsStreams(t *testing.T) {
	h, url := front(t, wire.NewTripServer(wire.Trip), nil)

	id := openSession(t, url)
	ended := make(chan string, 2)
	open := func(name, method, body string, header map[string]string) {
		r := must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
		clientHeaders(r)
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
	h, url := front(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{SessionTimeout: 20 * time.Millisecond})
	for range 5 {
		require.Equal(t, http.StatusOK, send(t, http.MethodPost, url, initializeBody, nil).status)
	}
	require.Eventually(t, func() bool { return mcphttp.OpenSessions(h) == 0 }, 30*time.Second, time.Millisecond)
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
		{"a modern call", false, callModern, 1, modernHeaders, 0},
		{"a modern call whose stream began", false, callModern, 1, modernHeaders, time.Millisecond},
		{"a legacy call", false, callBody("7", `"x":0`), 1, nil, 0},
		{"a legacy batch", false, callBatch(3), 3, nil, 0},
		{"a call without a session", true, callBody("7", `"x":0`), 1, nil, 0},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			s := newWaiting(true)
			h, url := front(t, s.server, &mcphttp.HandlerOptions{Stateless: c.stateless, Heartbeat: c.beat})
			session := ""
			if !c.stateless && c.edit == nil {
				session = openSession(t, url)
			}
			answered := start(t, url, c.body, inSession(session, c.edit))
			for range c.calls {
				receive(t, s.began, "the calls did not run")
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, h.Shutdown(over), context.Canceled)
			for range c.calls {
				require.Error(t, receive(t, s.ended, "a call was not cancelled"))
			}
			got := <-answered
			require.Equal(t, c.calls, strings.Count(got.body, `"id":`), got.body)
			require.Equal(t, c.calls, strings.Count(got.body, "event: message\ndata: {"), got.body)
		})
	}
}

// A result that exists when the time of a shutdown is over goes out, on the way past
// go-sdk and through it, and where there is none the error says what is known.
func TestAResultThatExistsOutlivesAShutdown(t *testing.T) {
	const unknown, notBegun = `"code":1001,"message":"the server is shutting down, and this call was cut off: what it did until then is not known","data":{"reason":"shutting_down","retryable":false,"effects":"unknown"}`, `"code":-31001`
	cells := 0
	for kind, c := range map[string]struct {
		stateless, session bool
		body               string
		edit               func(*http.Request)
	}{
		"modern":           {body: callModern, edit: modernHeaders},
		"in a session":     {session: true, body: callBody("7", `"x":0`)},
		"without sessions": {stateless: true, body: callBody("7", `"x":0`)},
	} {
		for outcome, says := range map[string]string{"a result": `"text":"finished"`, "an error": `"message":"refused"`, "its end": unknown, "nothing yet": unknown, "not begun": notBegun} {
			for _, first := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, %s, first %v", kind, outcome, first), func(t *testing.T) {
					returned, held, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
					var calls atomic.Int64
					server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						switch {
						case !first && calls.Add(1) == 1:
							return say("the first")
						case outcome == "its end":
							close(returned)
							<-ctx.Done()
							return nil, ctx.Err()
						case outcome == "nothing yet":
							close(returned)
							<-ctx.Done()
							<-over
						case outcome == "an error":
							return nil, &jsonrpc.Error{Code: 5, Message: "refused"}
						}
						return say("finished")
					})
					h, url := front(t, server, &mcphttp.HandlerOptions{Stateless: c.stateless})
					session := ""
					if c.session {
						session = openSession(t, url)
					}
					if !first {
						require.Contains(t, send(t, http.MethodPost, url, strings.Replace(c.body, `"id":7`, `"id":6`, 1), inSession(session, c.edit)).body, "the first")
					}
					// What a handler has returned is on its way through middleware when the time is over.
					server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
						return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
							if outcome == "not begun" {
								close(returned)
								<-held
							}
							result, err := next(ctx, method, req)
							if outcome == "a result" || outcome == "an error" {
								close(returned)
								<-held
							}
							return result, err
						}
					})
					answered := start(t, url, c.body, inSession(session, c.edit))
					receive(t, returned, "the call did not come so far")
					ended, cancel := context.WithCancel(t.Context())
					cancel()
					require.ErrorIs(t, h.Shutdown(ended), context.Canceled)
					var body string
					if c.session { // its POST is answered while the handler goes on
						body = receive(t, answered, "no answer").body
					}
					close(held)
					close(over)
					if !c.session {
						body = receive(t, answered, "no answer").body
						if outcome == "nothing yet" || outcome == "not begun" { // the handler has been waited for
							says = `"id":7`
						}
					}
					require.Contains(t, body, says)
					cells++
				})
			}
		}
	}
	require.Equal(t, 3*5*2, cells)
}

// careless is an error with a method that takes any other error for one of its own type.
type careless struct{}

func (careless) Error() string        { return "careless" }
func (careless) Is(target error) bool { return target.(careless) == careless{} }

// An error whose methods panic is answered as go-sdk does, and in a shutdown too.
func TestAnErrorWhoseMethodsPanicIsAnswered(t *testing.T) {
	for kind, c := range map[string]struct {
		session bool
		body    string
		edit    func(*http.Request)
	}{
		"modern": {body: callModern, edit: modernHeaders},
		"legacy": {session: true, body: callBody("7", `"x":0`)},
	} {
		for _, cut := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/cut=%t", kind, cut), func(t *testing.T) {
				began := make(chan struct{})
				server := rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					close(began)
					if cut {
						<-ctx.Done()
					}
					res := &mcp.CallToolResult{}
					res.SetError(careless{})
					return res, nil
				})
				h, url := front(t, server, nil)
				session := ""
				if c.session {
					session = openSession(t, url)
				}
				answered := start(t, url, c.body, inSession(session, c.edit))
				receive(t, began, "the call did not run")
				if cut {
					over, cancel := context.WithCancel(t.Context())
					cancel()
					require.ErrorIs(t, h.Shutdown(over), context.Canceled)
				}
				body := receive(t, answered, "no answer").body
				if cut && c.session { // its POST is answered while the handler goes on
					require.Contains(t, body, `"id":7`)
				} else {
					require.Contains(t, body, `"text":"careless"`)
				}
			})
		}
	}
}

// A refusal says that its connection ends. Were it closed without a word, a router or a
// proxy would send the next request on it, and lose that.
func TestARefusalInAShutdownSaysThatItsConnectionEnds(t *testing.T) {
	h, url := front(t, rawServer(nil), nil)
	require.NoError(t, h.Shutdown(t.Context()))
	for range 20 {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(callModern)))(t)
		clientHeaders(r)
		modernHeaders(r)
		res := must(http.DefaultClient.Do(r))(t)
		require.NoError(t, res.Body.Close())
		require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
		require.True(t, res.Close)
	}
}

// A call that the engine turns away because it shuts down is refused with the status by which
// it is sent elsewhere. A call of a session cannot go elsewhere.
func TestACallThatTheEngineTurnsAway(t *testing.T) {
	rt := must(mrtr.New(nil))(t)
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, mrtr.Coroutine(book), nil))
	_, url := front(t, server, nil)
	require.NoError(t, rt.Drain(t.Context()))
	for version, status := range map[string]int{wire.Modern: http.StatusServiceUnavailable, wire.Legacy: http.StatusOK} {
		var last lastResponse
		client := must(wire.DialHTTP(t.Context(), url, &http.Client{Transport: &last}, &wire.Options{Version: version}))(t)
		defer client.Close()
		refused := must(client.Send(t.Context(), wire.Request{Name: "tool", Arguments: struct{}{}}))(t)
		require.EqualValues(t, -31001, refused.Error.Code, version)
		require.JSONEq(t, `{"reason":"shutting_down","retryable":true}`, string(refused.Error.Data), version)
		require.Equal(t, status, last.StatusCode, version)
		sent := status == http.StatusServiceUnavailable
		require.Equal(t, sent, last.Header.Get("Retry-After") != "", version)
		require.Equal(t, sent, last.Header.Get("Mrtr-Refused") == "shutting_down", version)
	}
}

// lastResponse keeps the last response of a client.
type lastResponse struct{ http.Response }

func (l *lastResponse) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		l.Response = *res
	}
	return res, err
}

// Once a server retires, each connection ends with its response.
func TestARetiringServerKeepsNoConnection(t *testing.T) {
	h, url := front(t, rawServer(ran), nil)
	session := openSession(t, url)
	for _, retired := range []bool{false, true} {
		if retired {
			h.Retire()
		}
		for _, version := range []string{wire.Modern, wire.Legacy} {
			var last lastResponse
			client := must(wire.DialHTTP(t.Context(), url, &http.Client{Transport: &last}, &wire.Options{Version: version}))(t)
			defer client.Close()
			require.Equal(t, "ran", must(client.Send(t.Context(), wire.Request{Name: "tool", Arguments: struct{}{}}))(t).Text)
			require.Equal(t, retired, last.Close, version)
		}
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(plainListBody)))(t)
		clientHeaders(r)
		r.Header.Set("Mcp-Session-Id", session)
		res := must(http.DefaultClient.Do(r))(t)
		require.NoError(t, res.Body.Close())
		require.Equal(t, retired, res.Close)
	}
}
