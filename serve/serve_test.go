package serve_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

type none struct{}

type report struct {
	Text string `json:"text"`
}

var (
	seat   = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)
	window = wire.Answers{"*": wire.Value("window")}
)

// stand is a server that is served, with a tool that is held where it asks, one that takes
// its time, and one that panics.
type stand struct {
	url           string
	server        *mcp.Server
	entered, goOn chan struct{} // of the one that takes its time, or the one that is stuck
	quick         atomic.Int32  // calls of the one that is not
	rt            *mrtr.Runtime
	logged        *bytes.Buffer
	stop          context.CancelFunc
	ended         chan error
}

func newStand(t *testing.T, o serve.Options) *stand {
	t.Helper()
	s := &stand{entered: make(chan struct{}), goOn: make(chan struct{}), logged: &bytes.Buffer{}, ended: make(chan error, 1)}
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { rt.Close() })
	s.rt = rt
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
	s.server = server
	mrtr.AddTool(server, &mcp.Tool{Name: "held"}, mrtr.Tool(rt, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ none) (report, error) {
		chosen, err := linear.Ask(ctx, c, seat)
		return report{chosen}, err
	}), nil))
	mrtr.AddTool(server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, report, error) {
		close(s.entered)
		select {
		case <-s.goOn:
			return nil, report{"done"}, nil
		case <-ctx.Done():
			return nil, report{}, context.Cause(ctx)
		}
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "stuck"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, report, error) {
		close(s.entered)
		<-s.goOn
		return nil, report{"done"}, nil
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "quick"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, report, error) {
		s.quick.Add(1)
		return nil, report{"done"}, nil
	})
	mrtr.AddTool(server, &mcp.Tool{Name: "panics"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, report, error) {
		panic("secret")
	})
	o.Runtime, o.Logger = rt, slog.New(slog.NewTextHandler(s.logged, nil))
	listening := make(chan net.Addr, 1)
	o.Listening = func(a net.Addr) { listening <- a }
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() { s.ended <- serve.HTTP(ctx, "127.0.0.1:0", server, &o) }()
	select {
	case a := <-listening:
		s.url = "http://" + a.String()
	case err := <-s.ended:
		require.NoError(t, err)
	}
	return s
}

func (s *stand) dial(t *testing.T, opts *wire.Options) *wire.Client {
	t.Helper()
	client, err := wire.DialHTTP(t.Context(), s.url+"/mcp", nil, opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func (s *stand) status(t *testing.T, path string) int {
	t.Helper()
	res, err := http.Get(s.url + path)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

// unready waits until load balancers are told to send new clients elsewhere.
func (s *stand) unready(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return s.status(t, "/ready") == http.StatusServiceUnavailable }, 30*time.Second, time.Millisecond)
}

func (s *stand) end(t *testing.T) error {
	t.Helper()
	s.stop()
	return <-s.ended
}

// Clients of both eras are served, and a fault has one result: at once, and as a task.
func TestEveryCallHasOneResult(t *testing.T) {
	opts := serve.Options{Tasks: &tasks.Options{Policy: map[string]tasks.Policy{"panics": {AtOnce: true}}}, Handler: &mcphttp.HandlerOptions{}}
	s := newStand(t, opts)
	for _, as := range []*wire.Options{{}, {Version: wire.Legacy}, {TakesTasks: true}} {
		client := s.dial(t, as)
		out, err := client.Call(t.Context(), "held", none{}, window)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"window"}`, string(out.Structured))
		reply, err := client.Send(t.Context(), wire.Request{Name: "panics", Arguments: none{}})
		require.NoError(t, err)
		require.True(t, reply.IsError, string(reply.Result))
		require.NotContains(t, string(reply.Result), "secret")
	}
	require.Nil(t, opts.Handler.Logger, "nobody's options are changed")
	require.Equal(t, []int{http.StatusOK, http.StatusNotFound}, []int{s.status(t, "/ready"), s.status(t, "/other")})
	require.NoError(t, s.end(t))
	require.Equal(t, 3, strings.Count(s.logged.String(), "panic: secret"))
}

// A stop cuts no call off: one that runs has its result, a handler that is held gets its answer,
// and one that comes meanwhile is sent elsewhere.
func TestAStopLosesNoCall(t *testing.T) {
	s := newStand(t, serve.Options{})
	client := s.dial(t, nil)
	running := s.dial(t, nil)
	first, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	ran, err := running.Start(t.Context(), wire.Request{Name: "slow", Arguments: none{}})
	require.NoError(t, err)
	<-s.entered
	s.stop()
	s.unready(t)
	require.Eventually(t, func() bool { return s.rt.Stats().Draining }, 30*time.Second, time.Millisecond)
	refused, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	require.EqualValues(t, -31001, refused.Error.Code)
	answers, err := window.Responses(first.Asks)
	require.NoError(t, err)
	held, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}, State: first.State, Responses: answers})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"window"}`, string(held.Structured))
	close(s.goOn)
	res, err := ran.Wait(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(res.Result), "done")
	require.NoError(t, <-s.ended)
}

// A call that does not end in time is cancelled, and the error says that.
func TestTheStopHasABound(t *testing.T) {
	s := newStand(t, serve.Options{Stop: time.Millisecond})
	client := s.dial(t, nil)
	_, err := client.Start(t.Context(), wire.Request{Name: "slow", Arguments: none{}})
	require.NoError(t, err)
	<-s.entered
	require.ErrorIs(t, s.end(t), context.DeadlineExceeded)
}

// Once the time of the stop is over no call begins, although the round of a task still runs.
func TestNoCallBeginsAfterTheStop(t *testing.T) {
	s := newStand(t, serve.Options{Stop: time.Millisecond, Bare: true, Tasks: &tasks.Options{Policy: map[string]tasks.Policy{"stuck": {AtOnce: true}}}})
	_, err := s.dial(t, &wire.Options{TakesTasks: true}).Start(t.Context(), wire.Request{Name: "stuck", Arguments: none{}})
	require.NoError(t, err)
	<-s.entered
	s.stop()
	served := 0
	require.Eventually(t, func() bool {
		status, _ := challenged(t, http.DefaultClient, s.url+"/mcp", "quick")
		if status == http.StatusOK {
			served++
		}
		return status == http.StatusServiceUnavailable
	}, 5*time.Second, time.Millisecond, "the round that is stuck is waited for longer than that")
	require.EqualValues(t, served, s.quick.Load())
	close(s.goOn)
	require.ErrorIs(t, <-s.ended, context.DeadlineExceeded)
}

func TestASignalStopsTheServer(t *testing.T) {
	s := newStand(t, serve.Options{})
	process, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGTERM))
	require.NoError(t, <-s.ended)
}

// The guard stands before every endpoint, and before nothing else. An endpoint is told in the
// order of the stop: first that new clients go elsewhere, and after Unready that it is over.
func TestEndpoints(t *testing.T) {
	e := &endpoint{retired: make(chan time.Time, 1)}
	var web *http.Server
	s := newStand(t, serve.Options{
		Guard: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				web = r.Context().Value(http.ServerContextKey).(*http.Server)
				w.WriteHeader(http.StatusUnauthorized)
			})
		},
		Endpoints: map[string]serve.Endpoint{"/e": e},
		Others:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
		Unready:   20 * time.Millisecond,
	})
	got := map[string]int{}
	for _, path := range []string{"/mcp", "/e", "/ready", "/page"} {
		got[path] = s.status(t, path)
	}
	require.Equal(t, map[string]int{"/mcp": 401, "/e": 401, "/ready": 200, "/page": 418}, got)
	for path := range got { // a body that does not come holds no connection, wherever it goes
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		web.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader("{")).WithContext(context.WithValue(t.Context(), http.ServerContextKey, web)))
		require.WithinDuration(t, time.Now().Add(time.Minute), w.until, 30*time.Second, path)
	}
	require.ErrorIs(t, s.end(t), errShutdown)
	require.GreaterOrEqual(t, e.shut.Sub(<-e.retired), 20*time.Millisecond)
}

type timed struct {
	*httptest.ResponseRecorder
	until time.Time // for the body to come
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.until = at
	return nil
}

var errShutdown = errors.New("the endpoint's own")

type endpoint struct {
	retired chan time.Time
	shut    time.Time
}

func (*endpoint) ServeHTTP(http.ResponseWriter, *http.Request) {}
func (e *endpoint) Retire()                                    { e.retired <- time.Now() }
func (e *endpoint) Shutdown(context.Context) error {
	e.shut = time.Now()
	return errShutdown
}

// The collector is set while the server runs, unless the environment has set it.
func TestTheCollector(t *testing.T) {
	gogc := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := gogc()
	t.Setenv("GOGC", "")
	s := newStand(t, serve.Options{})
	require.Equal(t, uint64(400), gogc())
	require.NoError(t, s.end(t))
	require.Equal(t, before, gogc())
	t.Setenv("GOGC", "77")
	s = newStand(t, serve.Options{})
	require.Equal(t, before, gogc())
	require.NoError(t, s.end(t))
}

func TestMisuse(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
	cases := []*serve.Options{{Unready: -1}, {Stop: -1}, {Tasks: &tasks.Options{TTL: -1}}, {Handler: &mcphttp.HandlerOptions{MaxCalls: -1}}}
	for _, a := range []*serve.Auth{{}, {Verify: newLogin(t).verify}, {Verify: newLogin(t).verify, Resource: "https://a.example/mcp", Servers: []string{"login"}}} {
		cases = append(cases, &serve.Options{Auth: a})
	}
	for path, e := range map[string]serve.Endpoint{"": &endpoint{}, "/mcp": &endpoint{}, "/ready": &endpoint{}, "/": &endpoint{}, "host/ws": &endpoint{}, "/ws": nil} {
		cases = append(cases, &serve.Options{Endpoints: map[string]serve.Endpoint{path: e}})
	}
	for _, opts := range cases {
		var misuse *serve.UsageError
		require.ErrorAs(t, serve.HTTP(t.Context(), "127.0.0.1:0", server, opts), &misuse, "%+v", opts)
	}
	require.Error(t, serve.HTTP(t.Context(), "127.0.0.1:0", nil, nil), "no server")
	require.Error(t, serve.HTTP(t.Context(), "no address", server, nil))
}
