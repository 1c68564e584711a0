package ways_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// shutdown stops a server in the order that docs/operating.md gives: it reports that it
// is not ready, lets the held handlers have their time, then the requests, then the
// connections. Handlers that are still held when ctx ends are unwound.
func shutdown(ctx context.Context, rt *mrtr.Runtime, front *mcphttp.Handler, web *http.Server) error {
	front.Retire()               // load balancers send new clients elsewhere
	drained := rt.Drain(ctx)     // held handlers get their answers, then the engine closes
	ended := front.Shutdown(ctx) // running requests get their results, new ones 503
	return errors.Join(drained, ended, web.Shutdown(ctx))
}

type shutdownIn struct {
	Call string `json:"call"`
}

type shutdownOut struct {
	Said string `json:"said"`
}

var shutdownQuestion = mrtr.Choose("units", "Which units?", mrtr.Choices("metric", "imperial")...)

// shutdownStyles are the tools of the server under load.
func shutdownStyles(rt *mrtr.Runtime, completed *sync.Map) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	complete := func(c *mrtr.Call, in shutdownIn) {
		c.OnComplete(func(context.Context) { completed.Store(in.Call, true) })
	}
	reading := func(ctx context.Context, c *mrtr.Call, in shutdownIn) (shutdownOut, error) {
		complete(c, in)
		v, err := linear.Ask(ctx, c, shutdownQuestion)
		return shutdownOut{v}, err
	}
	native := func(_ context.Context, c *mrtr.Call, in shutdownIn) (*mrtr.IncompleteResult, shutdownOut, error) {
		complete(c, in)
		v, ok := mrtr.Answer(c, shutdownQuestion)
		if !ok {
			return mrtr.Need(shutdownQuestion), shutdownOut{}, nil
		}
		return nil, shutdownOut{v}, nil
	}
	mrtr.AddTool(server, &mcp.Tool{Name: "native"}, mrtr.Tool(rt, mrtr.Native(native), nil))
	mrtr.AddTool(server, &mcp.Tool{Name: "coroutine"}, mrtr.Tool(rt, linear.Coroutine(reading), nil))
	mrtr.AddTool(server, &mcp.Tool{Name: "journal"}, mrtr.Tool(rt, linear.Journal(reading), nil))
	mrtr.AddTool(server, &mcp.Tool{Name: "resumable"}, mrtr.Tool(rt, linear.Resumable(reading), nil))
	return server
}

// A server is shut down under load. Every call that a client began has an end that its
// client knows: a result, an error that says that the server is shutting down, or a
// refusal. No call that the server completed is missing at its client, and every call
// that was held when the drain began completes.
func TestNoCallIsLostSilentlyInAShutdown(t *testing.T) {
	rt := fleet.Must(mrtr.New(nil))(t)
	var completed sync.Map
	server := shutdownStyles(rt, &completed)
	front := fleet.Must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
	listener := fleet.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	web := &http.Server{Handler: front}
	go web.Serve(listener)
	url := "http://" + listener.Addr().String()

	// Held when the drain begins, and answered while it lasts.
	const held = 20
	first := make([]*wire.Reply, held)
	slow := fleet.Must(wire.DialHTTP(t.Context(), url, http.DefaultClient, nil))(t)
	defer slow.Close()
	begin := func(i int) map[string]any { return map[string]any{"call": fmt.Sprintf("held %d", i)} }
	for i := range held {
		first[i] = fleet.Must(slow.Send(t.Context(), wire.Request{Name: "coroutine", Arguments: begin(i)}))(t)
		require.NotEmpty(t, first[i].State)
	}

	var begun, results, told, refused atomic.Int64
	var lost sync.Map
	var clients sync.WaitGroup
	shut := make(chan struct{}) // when the server has gone
	for i := range 8 {
		clients.Go(func() {
			tools := []string{"native", "coroutine", "journal", "resumable"}
			client, err := wire.DialHTTP(t.Context(), url, &http.Client{Transport: &http.Transport{}}, &wire.Options{Unrecorded: true})
			if err != nil {
				lost.Store(fmt.Sprint("client ", i), err)
				return
			}
			defer client.Close()
			for n := 0; ; n++ {
				select {
				case <-shut:
					return
				default:
				}
				name := fmt.Sprintf("call %d of client %d", n, i)
				begun.Add(1)
				out, err := client.Call(t.Context(), tools[n%len(tools)], map[string]any{"call": name}, wire.Answers{"units": wire.Value("metric")})
				_, done := completed.Load(name)
				switch {
				case err == nil && out.Error == nil && !out.IsError && done:
					results.Add(1)
				case done:
					lost.Store(name, fmt.Sprint("it completed, and its client got ", err))
				case err == nil && out.Error != nil && out.Error.Code == -31001 && out.Error.Message == "This server is shutting down and has not begun this request: send it again as it is.":
					told.Add(1)
				case err != nil || out.Error != nil: // 503, or nobody listens
					refused.Add(1)
				default:
					lost.Store(name, fmt.Sprint("its client got ", out.Text))
				}
			}
		})
	}
	require.Eventually(t, func() bool { return results.Load() > 100 }, 30*time.Second, time.Millisecond)

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- shutdown(ctx, rt, front, web) }()
	require.Eventually(t, func() bool { return rt.Stats().Draining }, 30*time.Second, time.Millisecond)
	w := httptest.NewRecorder()
	front.ServeReady(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	refusedBefore := told.Load()
	require.Eventually(t, func() bool { return told.Load() > refusedBefore }, 30*time.Second, time.Millisecond, "new coroutines are told")
	for i, reply := range first {
		last, err := slow.Send(t.Context(), wire.Request{Name: "coroutine", Arguments: begin(i), State: reply.State,
			Responses: map[string]any{"units": map[string]any{"action": "accept", "content": map[string]any{"units": "metric"}}}})
		require.NoError(t, err)
		require.JSONEq(t, `{"said":"metric"}`, string(last.Structured))
	}
	require.NoError(t, <-stopped)
	close(shut)
	clients.Wait()
	lost.Range(func(call, why any) bool { t.Errorf("%v: %v", call, why); return true })
	require.Equal(t, begun.Load(), results.Load()+told.Load()+refused.Load())
	require.Positive(t, told.Load())
	require.Zero(t, rt.Stats().Held)
	t.Logf("%d calls: %d results, %d told to send again, %d refused; %d held before, all completed",
		begun.Load()+held, results.Load()+held, told.Load(), refused.Load(), held)
}
