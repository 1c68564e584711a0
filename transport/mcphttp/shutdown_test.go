package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// kinds are the ways in which a call comes: what it is, and whether it needs a session.
var kinds = map[string]struct {
	post
	session bool
	opts    mcphttp.HandlerOptions
}{
	"modern":            {post: callOf("tool", "")},
	"modern, stock":     {post: callOf("tool", ""), opts: mcphttp.HandlerOptions{StockFront: true}},
	"in a session":      {post: legacyCall("7"), session: true},
	"without a session": {post: legacyCall("7"), opts: mcphttp.HandlerOptions{Stateless: true}},
}

// over is a context that has ended.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// A legacy call that waits for its user when the drain begins gets its answer, in the session
// that is about to close, and its result. Whatever is new is refused, however its body
// disguises it. A modern client is asked on the same URL.
func TestShutdownLetsARunningCallFinish(t *testing.T) {
	server := wire.NewTripServer(sse.Bridge(wire.Trip, nil))
	h := newHandler(t, server, mcphttp.HandlerOptions{}, mcphttp.Limits{})
	url := listen(t, h)
	modern := must(dial(t, url, nil).Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.TripAnswers))(t)
	require.Equal(t, 3, modern.Rounds)

	asked, answer := make(chan struct{}, 2), make(chan struct{})
	client := dial(t, url, &wire.Options{Version: wire.Legacy, Answers: wire.Answers{"*": func(q wire.Question) any {
		asked <- struct{}{}
		<-answer
		return wire.TripAnswers[q.Key](q)
	}}})
	called := must(client.Start(t.Context(), wire.Request{Name: "trip", Arguments: map[string]any{"who": "Ada"}}))(t)
	<-asked
	session := mcphttp.SessionOf(h)
	drained := make(chan error, 1)
	go func() { drained <- h.Shutdown(t.Context()) }()
	require.Eventually(t, func() bool { return serve(h, legacy(initializeBody)).status == http.StatusServiceUnavailable }, 30*time.Second, time.Millisecond)
	refused := []post{callOf("trip", ""), modernPost(listenMethod, "", "{}"), {clientHeaders + "GET\n", ""}, legacy(note)}
	for _, member := range []string{`"Method":""`, `"METHOD":5`, `"ID":99`, `"Id":{}`, `"Params":5`, `"result":{}`, `"Method":null,"iD":null`} {
		for _, body := range []string{legacyCall("7").body, initializeBody} {
			p := legacy(strings.TrimSuffix(body, "}") + "," + member + "}")
			refused = append(refused, p, p.in(session))
		}
	}
	for _, p := range refused {
		res := serve(h, p)
		require.Equal(t, http.StatusServiceUnavailable, res.status, p.body)
		require.Equal(t, []string{"5", "close"}, []string{res.header.Get("Retry-After"), res.header.Get("Connection")})
	}
	for _, body := range []string{note, "[" + note + "]", `{"jsonrpc":"2.0","id":99,"result":{}}`} {
		require.Equal(t, http.StatusAccepted, serve(h, legacy(body).in(session)).status, body)
	}
	require.Empty(t, drained, "drained under a running call")
	close(answer)
	got := must(called.Wait(t.Context()))(t)
	require.Contains(t, string(got.Result), `"structuredContent":{"text":"Ada goes to Lisbon by train"}`)
	require.NoError(t, <-drained)
	for range server.Sessions() {
		require.Fail(t, "a session outlived the shutdown")
	}
	require.NoError(t, h.Shutdown(t.Context()), "a second time there is nothing to do")
}

const (
	note         = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`
	listenMethod = "subscriptions/listen"
)

// Neither a subscription nor a standing stream is work to wait for. A call that claims in a
// header to be one is, because go-sdk reads that header on modern requests alone.
func TestShutdownEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, rawServer(ran), mcphttp.HandlerOptions{}, mcphttp.Limits{})
		stream := begin(t.Context(), h, post{clientHeaders + "GET\n", ""}.in(open(t, h, "")))
		listening := begin(t.Context(), h, modernPost(listenMethod, "", `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`))
		synctest.Wait()
		require.NoError(t, h.Shutdown(t.Context()))
		require.Equal(t, http.StatusOK, (<-stream).status)
		require.Contains(t, (<-listening).body, `"resultType":"complete"`)

		release := make(chan struct{})
		h = newHandler(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-release
			return say("over")
		}), mcphttp.HandlerOptions{Stateless: true}, mcphttp.Limits{})
		claims := begin(t.Context(), h, legacyCall("1").with("Mcp-Method: "+listenMethod))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.AfterFunc(2*time.Second, func() { close(release) })
		require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
		<-claims
	})
}

// careless is an error with a method that takes any other error for one of its own type.
type careless struct{}

func (careless) Error() string        { return "careless" }
func (careless) Is(target error) bool { return target.(careless) == careless{} }

// ending is a handler that ends so.
func ending(outcome string, late <-chan struct{}) mcp.ToolHandler {
	return func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		switch outcome {
		case "its end":
			<-ctx.Done()
		case "nothing yet":
			<-late
		case "an error":
			return nil, &jsonrpc.Error{Code: 5, Message: "refused"}
		case "a careless error":
			<-ctx.Done()
			result := &mcp.CallToolResult{}
			result.SetError(careless{})
			return result, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return say("finished")
	}
}

// A result that exists when the time of a shutdown is over goes out, in a stream that has
// begun and at once, and where there is none the error says what is known.
func TestAResultThatExistsOutlivesAShutdown(t *testing.T) {
	const unknown, notBegun = `"code":1001,"message":"the server is shutting down, and this call was cut off: what it did until then is not known","data":{"reason":"shutting_down","retryable":false,"effects":"unknown"}`, `"code":-31001`
	cells := 0
	for kind, c := range kinds {
		for outcome, want := range map[string]string{"a result": `"text":"finished"`, "an error": `"message":"refused"`, "a careless error": `"text":"careless"`, "its end": unknown, "nothing yet": unknown, "not begun": notBegun} {
			for _, began := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream begun %v", kind, outcome, began), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						late := make(chan struct{})
						server := rawServer(ending(outcome, late))
						h := newHandler(t, server, c.opts, mcphttp.Limits{})
						session := ""
						if c.session {
							session = open(t, h, "")
						}
						serve(h, callOf("unknown", "")) // shows the server
						// What a handler has returned is on its way through middleware when the time is over.
						server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
							return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
								if outcome == "not begun" {
									<-late
								}
								result, err := next(ctx, method, req)
								if outcome == "a result" || outcome == "an error" {
									<-late
								}
								return result, err
							}
						})
						answered := begin(t.Context(), h, c.post.in(session))
						synctest.Wait()
						if began {
							time.Sleep(time.Minute)
						}
						require.ErrorIs(t, h.Shutdown(over()), context.Canceled)
						if c.session {
							synctest.Wait() // its POST is answered while the handler goes on
						}
						close(late)
						body := (<-answered).body
						require.Equal(t, began, strings.HasPrefix(body, ": still here\n\n"))
						if !c.session && outcome == "not begun" || outcome == "nothing yet" && !c.session || outcome == "a careless error" && c.session {
							want = `"id":7` // the handler has been waited for, or not
						}
						require.Contains(t, body, want)
						require.Equal(t, 1, strings.Count(body, `"id":7`))
						cells++
					})
				})
			}
		}
	}
	require.Equal(t, 4*6*2, cells)
}

// Each call of a batch is answered that a shutdown cuts off.
func TestShutdownAnswersABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, rawServer(func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if strings.Contains(string(req.Params.Arguments), "quick") {
				return say("quick")
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}), mcphttp.HandlerOptions{}, mcphttp.Limits{})
		quick := strings.Replace(legacyCall("2").body, `"arguments":{}`, `"arguments":{"quick":1}`, 1)
		answered := begin(t.Context(), h, legacy("["+legacyCall("1").body+","+quick+","+legacyCall(`"1"`).body+"]").in(open(t, h, "")))
		synctest.Wait()
		require.ErrorIs(t, h.Shutdown(over()), context.Canceled)
		body := (<-answered).body
		require.Equal(t, []int{1, 1, 2, 3}, []int{strings.Count(body, `"text":"quick"`), strings.Count(body, `"id":2`), strings.Count(body, `"code":1001`), strings.Count(body, "data: {")}, body)
	})
}

// A call that the engine turns away because it shuts down is refused with the status by which
// it is sent elsewhere. A call of a session cannot go elsewhere, and what another server has
// said is nothing about this one. Once a server retires it serves on, and each connection ends
// with its response.
func TestAServerThatRetires(t *testing.T) {
	for kind, c := range kinds {
		refusal := callerror.ShuttingDown()
		h := newHandler(t, rawServer(func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, fmt.Errorf("turned away: %w", refusal)
		}), c.opts, mcphttp.Limits{})
		session, want := "", []string{"503", "5", "shutting_down"}
		if c.session {
			session, want = open(t, h, ""), []string{"200", "", ""}
		}
		for i := range 4 {
			if i == 3 {
				upstream := *refusal
				refusal, want = &upstream, []string{"200", "", ""}
			}
			res := serve(h, c.post.in(session))
			require.Contains(t, res.body, `"code":-31001`)
			require.Equal(t, want, []string{fmt.Sprint(res.status), res.header.Get("Retry-After"), res.header.Get("Mrtr-Refused")}, kind)
			require.Equal(t, i >= 2, res.header.Get("Connection") == "close", kind)
			if i == 1 {
				h.Retire()
			}
		}
	}
}

// A call knows why its client is gone, and one whose client was gone before it came does not
// run.
func TestACallKnowsThatItsClientHungUp(t *testing.T) {
	for kind, c := range kinds {
		synctest.Test(t, func(t *testing.T) {
			runs, ended := 0, make(chan error, 1)
			h := newHandler(t, rawServer(func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				runs++
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return say("over")
			}), c.opts, mcphttp.Limits{})
			session := ""
			if c.session {
				session = open(t, h, "")
			}
			for id := range 20 { // the first through go-sdk, which would run some that are gone
				p := post{c.headers, strings.Replace(c.body, `"id":7`, fmt.Sprint(`"id":`, id), 1)}.in(session)
				ctx, hangUp := context.WithCancel(t.Context())
				begin(ctx, h, p)
				synctest.Wait()
				hangUp()
				require.Equal(t, mcphttp.ErrHungUp, <-ended, kind)
				require.NotContains(t, serveIn(over(), h, p).body, "over")
			}
			require.Equal(t, 20, runs, kind)
		})
	}
}
