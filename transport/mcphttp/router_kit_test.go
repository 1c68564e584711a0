package mcphttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// nobody listens at this address. A port that was closed a moment ago would not do: another
// test may have opened it again.
const nobody = "http://127.0.0.1:1"

// fleet is a router in front of instances with the same keys.
type fleet struct {
	*httptest.Server // of the router
	instances        map[string]*httptest.Server
	fronts           map[string]*mcphttp.Handler
	runtimes         map[string]*mrtr.Runtime

	transport *http.Transport // of the router

	mu      sync.Mutex
	served  []string        // the instances that got a tools/call, in order
	notNew  map[string]bool // not ready
	reached map[string]bool // every host that the router sent a request to
}

type booking struct {
	Booked string `json:"booked"`
}

var seat = mrtr.Choose("seat", "Which seat?", mrtr.Choices("window", "aisle")...)

func book(ctx context.Context, c *mrtr.Call, _ struct{}) (booking, error) {
	chosen, err := mrtr.Ask(ctx, c, seat)
	return booking{chosen}, err
}

// newFleet starts instances of these names. With named their states and sessions have the
// names of their instances.
func newFleet(t *testing.T, named bool, names ...string) *fleet {
	f := &fleet{instances: map[string]*httptest.Server{}, fronts: map[string]*mcphttp.Handler{}, runtimes: map[string]*mrtr.Runtime{},
		notNew: map[string]bool{}, reached: map[string]bool{}}
	keys := []statecodec.Key{statecodec.GenerateKey()}
	addresses := map[string]*url.URL{}
	for _, name := range names {
		state, serving := &statecodec.Options{Keys: keys}, &mcp.ServerOptions{}
		if named {
			state.Instance, serving.GetSessionID = name, mcphttp.SessionIDs(name)
		}
		rt := must(mrtr.New(&mrtr.Options{State: state}))(t)
		server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, serving)
		mrtr.AddTool(server, &mcp.Tool{Name: "coroutine"}, mrtr.Tool(rt, mrtr.Coroutine(book), nil))
		mrtr.AddTool(server, &mcp.Tool{Name: "resumable"}, mrtr.Tool(rt, mrtr.Resumable(book), nil))
		mrtr.AddTool(server, &mcp.Tool{Name: "where"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, booking, error) {
			return nil, booking{name}, nil
		})
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/call" {
					f.mu.Lock()
					f.served = append(f.served, name)
					f.mu.Unlock()
				}
				return next(ctx, method, req)
			}
		})
		front := must(mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
		web := httptest.NewServer(front)
		f.instances[name], f.fronts[name], f.runtimes[name] = web, front, rt
		addresses[name] = must(url.Parse(web.URL))(t)
		t.Cleanup(func() { f.stop(t, name) })
	}
	f.transport = http.DefaultTransport.(*http.Transport).Clone()
	router, err := mcphttp.NewRouter(addresses, &mcphttp.RouterOptions{
		Transport: noted{f},
		Every:     time.Hour,
		Ready: func(instance string) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !f.notNew[instance]
		},
	})
	require.NoError(t, err)
	t.Cleanup(router.Close)
	f.Server = httptest.NewServer(router)
	t.Cleanup(f.Server.Close)
	return f
}

// stop ends an instance, so that nobody listens at its address any more, and the router
// has no connection left that looks as if it were open.
func (f *fleet) stop(t *testing.T, name string) {
	_ = f.fronts[name].Shutdown(context.Background())
	f.instances[name].CloseClientConnections()
	f.instances[name].Close()
	f.transport.CloseIdleConnections()
	require.NoError(t, f.runtimes[name].Close())
}

// ready sets which instances get requests that belong to none.
func (f *fleet) ready(names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range f.instances {
		f.notNew[name] = !slices.Contains(names, name)
	}
}

// noted notes where requests go.
type noted struct{ f *fleet }

func (n noted) RoundTrip(r *http.Request) (*http.Response, error) {
	n.f.mu.Lock()
	n.f.reached[r.URL.Host] = true
	n.f.mu.Unlock()
	return n.f.transport.RoundTrip(r)
}

func (f *fleet) dial(t *testing.T, opts *wire.Options) *wire.Client {
	client := must(wire.DialHTTP(t.Context(), f.URL, &http.Client{Transport: &http.Transport{}}, opts))(t)
	t.Cleanup(func() { client.Close() })
	return client
}

func mustSend(t *testing.T, client *wire.Client, r wire.Request) *wire.Reply {
	t.Helper()
	reply := must(client.Send(t.Context(), r))(t)
	return reply
}

func (f *fleet) began() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	served := f.served
	f.served = nil
	return served
}

var window = map[string]any{"seat": map[string]any{"action": "accept", "content": map[string]any{"seat": "window"}}}
