package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/serve"
	"github.com/mrtr-go/sdk/tasks"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
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
	entered, goOn chan struct{} // of the one that takes its time
	rt            *mrtr.Runtime
	logged        *bytes.Buffer
	stop          context.CancelFunc
	ended         chan error
}

func newStand(t *testing.T, opts *serve.Options) *stand {
	t.Helper()
	s := &stand{entered: make(chan struct{}), goOn: make(chan struct{}), logged: &bytes.Buffer{}, ended: make(chan error, 1)}
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { rt.Close() })
	s.rt = rt
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
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
	mrtr.AddTool(server, &mcp.Tool{Name: "panics"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, report, error) {
		panic("secret")
	})
	o := serve.Options{Runtime: rt}
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(s.logged, nil))
	}
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

func (s *stand) dial(t *testing.T, version string) *wire.Client {
	t.Helper()
	client, err := wire.DialHTTP(t.Context(), s.url+"/mcp", &http.Client{Transport: &http.Transport{}}, &wire.Options{Version: version})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func (s *stand) status(t *testing.T, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, res.Body)
	require.NoError(t, res.Body.Close())
	return res.StatusCode
}

func (s *stand) end(t *testing.T) error {
	t.Helper()
	s.stop()
	return <-s.ended
}

func TestBothErasAreServed(t *testing.T) {
	s := newStand(t, nil)
	for _, version := range []string{wire.Modern, wire.Legacy} {
		out, err := s.dial(t, version).Call(t.Context(), "held", none{}, window)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"window"}`, string(out.Structured), version)
	}
	require.Equal(t, http.StatusOK, s.status(t, "/ready"))
	require.Equal(t, http.StatusNotFound, s.status(t, "/other"))
	require.NoError(t, s.end(t))
}

func TestEveryCallHasOneResult(t *testing.T) {
	s := newStand(t, nil)
	out, err := s.dial(t, wire.Modern).Call(t.Context(), "panics", none{}, nil)
	require.NoError(t, err)
	require.True(t, out.IsError)
	require.NotContains(t, string(out.Result), "secret")
	require.NoError(t, s.end(t))
	require.Contains(t, s.logged.String(), "secret")
}

// A tool with a policy is a task, around a boundary: its fault has one well-formed result.
func TestTasksAreServed(t *testing.T) {
	s := newStand(t, &serve.Options{Tasks: &tasks.Options{Policy: map[string]tasks.Policy{"panics": {AtOnce: true}}}})
	client, err := wire.DialHTTP(t.Context(), s.url+"/mcp", &http.Client{Transport: &http.Transport{}}, &wire.Options{
		Capabilities: wire.Capabilities(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`),
	})
	require.NoError(t, err)
	defer client.Close()
	send := func(method string, params map[string]any) (got struct {
		ResultType, TaskID, Status string

		Result struct{ IsError bool }
	}) {
		params["_meta"] = client.Meta()
		reply, err := client.Exchange(t.Context(), wire.Request{Method: method, Params: params})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(reply.Result, &got), "%s", reply.Result)
		return got
	}
	task := send("tools/call", map[string]any{"name": "panics", "arguments": none{}})
	require.Equal(t, "task", task.ResultType)
	require.Eventually(t, func() bool { return send("tasks/get", map[string]any{"taskId": task.TaskID}).Status == "completed" }, 30*time.Second, time.Millisecond)
	require.True(t, send("tasks/get", map[string]any{"taskId": task.TaskID}).Result.IsError)
	require.NoError(t, s.end(t))
	require.Contains(t, s.logged.String(), "secret")
}

// A call that runs has its result, and a load balancer is told before that.
func TestACallThatRunsEnds(t *testing.T) {
	s := newStand(t, nil)
	client := s.dial(t, wire.Modern)
	result := make(chan string, 1)
	go func() {
		out, err := client.Call(t.Context(), "slow", none{}, nil)
		if err != nil {
			result <- err.Error()
			return
		}
		result <- string(out.Structured)
	}()
	<-s.entered
	s.stop()
	require.Eventually(t, func() bool { return s.status(t, "/ready") == http.StatusServiceUnavailable }, 30*time.Second, time.Millisecond)
	close(s.goOn)
	require.JSONEq(t, `{"text":"done"}`, <-result)
	require.NoError(t, <-s.ended)
}

// A handler that is held when the server stops gets its answer: its runtime is drained first.
func TestAHeldHandlerGetsItsAnswer(t *testing.T) {
	s := newStand(t, nil)
	client := s.dial(t, wire.Modern)
	first, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	require.NotEmpty(t, first.State)
	s.stop()
	require.Eventually(t, func() bool { return s.status(t, "/ready") == http.StatusServiceUnavailable }, 30*time.Second, time.Millisecond)
	last, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}, State: first.State,
		Responses: map[string]any{"seat": map[string]any{"action": "accept", "content": map[string]any{"seat": "window"}}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"window"}`, string(last.Structured))
	require.NoError(t, <-s.ended)
}

// lastResponse keeps the last response of a client.
type lastResponse struct{ http.Response }

func (l *lastResponse) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := (&http.Transport{}).RoundTrip(r)
	if err == nil {
		l.Response = *res
	}
	return res, err
}

// While a server waits for what it holds, a call that would be held is refused so that load
// balancers send it elsewhere, and every connection ends with its response.
func TestWhatComesDuringTheStopGoesElsewhere(t *testing.T) {
	s := newStand(t, nil)
	var last lastResponse
	client, err := wire.DialHTTP(t.Context(), s.url+"/mcp", &http.Client{Transport: &last}, nil)
	require.NoError(t, err)
	defer client.Close()
	first, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	require.False(t, last.Close)
	s.stop()
	require.Eventually(t, func() bool { return s.rt.Stats().Draining }, 30*time.Second, time.Millisecond)
	refused, err := client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}})
	require.NoError(t, err)
	require.EqualValues(t, -31001, refused.Error.Code)
	require.Equal(t, http.StatusServiceUnavailable, last.StatusCode)
	require.NotEmpty(t, last.Header.Get("Retry-After"))
	require.True(t, last.Close)
	_, err = client.Send(t.Context(), wire.Request{Name: "held", Arguments: none{}, State: first.State,
		Responses: map[string]any{"seat": map[string]any{"action": "accept", "content": map[string]any{"seat": "window"}}}})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, last.StatusCode)
	require.NoError(t, <-s.ended)
}

// A call that does not end in time is cancelled, and the error says that.
func TestTheStopHasABound(t *testing.T) {
	s := newStand(t, &serve.Options{Stop: time.Millisecond})
	client := s.dial(t, wire.Modern)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = client.Call(t.Context(), "slow", none{}, nil)
	}()
	<-s.entered
	require.ErrorIs(t, s.end(t), context.DeadlineExceeded)
	<-ended
}

func TestASignalStopsTheServer(t *testing.T) {
	s := newStand(t, nil)
	process, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, process.Signal(syscall.SIGTERM))
	require.NoError(t, <-s.ended)
}

// The guard stands before every endpoint, and before nothing else.
func TestTheGuard(t *testing.T) {
	ws := wsAt(t)
	s := newStand(t, &serve.Options{
		Guard: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		},
		Endpoints: map[string]serve.Endpoint{"/ws": ws},
		Others:    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }),
	})
	got := map[string]int{}
	for _, path := range []string{"/mcp", "/ws", "/ready", "/page"} {
		got[path] = s.status(t, path)
	}
	require.Equal(t, map[string]int{"/mcp": 401, "/ws": 401, "/ready": 200, "/page": 418}, got)
	require.NoError(t, s.end(t))
}

func wsAt(t *testing.T) *wstransport.Handler {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
	ws, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	return ws
}

// An endpoint is told in the order of the stop: first that new clients go elsewhere, and
// after Unready that it is over.
func TestEndpointsAreStopped(t *testing.T) {
	e := &endpoint{retired: make(chan time.Time, 1)}
	s := newStand(t, &serve.Options{Endpoints: map[string]serve.Endpoint{"/e": e, "/ws": wsAt(t)}, Unready: 20 * time.Millisecond})
	dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
	ws, _, err := dialer.DialContext(t.Context(), "ws"+s.url[len("http"):]+"/ws", nil)
	require.NoError(t, err)
	defer ws.Close()
	require.Equal(t, http.StatusNoContent, s.status(t, "/e"))
	require.ErrorIs(t, s.end(t), errShutdown)
	require.GreaterOrEqual(t, e.shut.Sub(<-e.retired), 20*time.Millisecond)
	_, _, err = ws.ReadMessage()
	require.Error(t, err, "the connection has ended")
}

var errShutdown = errors.New("the endpoint's own")

type endpoint struct {
	retired chan time.Time
	shut    time.Time
}

func (*endpoint) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}
func (e *endpoint) Retire() { e.retired <- time.Now() }
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
	s := newStand(t, nil)
	require.Equal(t, uint64(400), gogc())
	require.NoError(t, s.end(t))
	require.Equal(t, before, gogc())
	t.Setenv("GOGC", "77")
	s = newStand(t, nil)
	require.Equal(t, before, gogc())
	require.NoError(t, s.end(t))
}

func TestMisuse(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "airline", Version: "1"}, nil)
	for explanation, opts := range map[string]*serve.Options{
		"a negative pause":         {Unready: -1},
		"a negative bound":         {Stop: -1},
		"an endpoint at /mcp":      {Endpoints: map[string]serve.Endpoint{"/mcp": &endpoint{}}},
		"an endpoint at /":         {Endpoints: map[string]serve.Endpoint{"/": &endpoint{}}},
		"an endpoint of a host":    {Endpoints: map[string]serve.Endpoint{"host/ws": &endpoint{}}},
		"no endpoint":              {Endpoints: map[string]serve.Endpoint{"/ws": nil}},
		"an option of tasks":       {Tasks: &tasks.Options{TTL: -1}},
		"an option of the handler": {Handler: &mcphttp.HandlerOptions{MaxCalls: -1}},
	} {
		var misuse *serve.UsageError
		require.ErrorAs(t, serve.HTTP(t.Context(), "127.0.0.1:0", server, opts), &misuse, explanation)
	}
	require.Error(t, serve.HTTP(t.Context(), "127.0.0.1:0", nil, nil), "no server")
	require.Error(t, serve.HTTP(t.Context(), "no address", server, nil))
}

// A logger of its own is kept, and nobody's options are changed.
func TestOptionsAreNotChanged(t *testing.T) {
	var calls atomic.Int32
	var once sync.Once
	opts := &serve.Options{Handler: &mcphttp.HandlerOptions{}, Guard: func(h http.Handler) http.Handler {
		once.Do(func() { calls.Add(1) })
		return h
	}}
	s := newStand(t, opts)
	require.NoError(t, s.end(t))
	require.Equal(t, int32(1), calls.Load())
	require.Nil(t, opts.Handler.Logger)
	require.Nil(t, opts.Boundary)
}
