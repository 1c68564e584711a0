//go:build unix

package fleet

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// The places of a request, beside those of the shop, at which a process rings the bell of the
// test and goes on when it is answered.
const (
	RequestCame = "a request came"
	ClientLeft  = "its client left"
	Listening   = "listening" // the URL stands in for the order
	Draining    = "draining"
)

// ringer keeps its connections: many rounds ring at once.
var ringer = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// ring returns when the bell is answered, or gone.
func ring(bell, order, place string) {
	if bell == "" {
		return
	}
	res, err := ringer.Get(bell + "?" + url.Values{"order": {order}, "place": {place}}.Encode())
	if err == nil {
		_ = res.Body.Close()
	}
}

// listen serves HTTP too, and rings when an answer to a question comes, and when the server
// has noticed that its client left. Flush sends what is left to be sent.
func listen(server *mcp.Server, bell string) (flush func(context.Context) error, err error) {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok || call.Params.RequestState == "" {
				return next(ctx, method, req)
			}
			var in Order
			if err := json.Unmarshal(call.Params.Arguments, &in); err != nil {
				return nil, err
			}
			ring(bell, in.Order, RequestCame)
			res, err := next(ctx, method, req)
			if ctx.Err() != nil {
				ring(bell, in.Order, ClientLeft)
			}
			return res, err
		}
	})
	front, err := mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	serving := &http.Server{Handler: front}
	go serving.Serve(listener)
	ring(bell, "http://"+listener.Addr().String(), Listening)
	return serving.Shutdown, nil
}

// Bell is rung by the processes of a test, each at a URL of its own.
type Bell struct {
	*httptest.Server

	mu     sync.Mutex
	places map[string]*Place // by process, order and name; guarded by mu
}

// Place is one at which an order may be held.
type Place struct {
	Rung chan string   // the order, once for each time
	gate chan struct{} // who has rung waits until it is closed; nil for nobody waits
	Open func()
}

// mostRings is more than anybody rings with one order at one place.
const mostRings = 100

// NewBell starts one.
func NewBell() *Bell {
	b := &Bell{places: map[string]*Place{}}
	b.Server = httptest.NewServer(b)
	return b
}

func (b *Bell) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	order, name := r.URL.Query().Get("order"), r.URL.Query().Get("place")
	at := order
	if name == Listening {
		at = ""
	}
	p := b.At(r.URL.Path, at, name)
	select {
	case p.Rung <- order:
	default:
	}
	b.mu.Lock()
	gate := p.gate
	b.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-r.Context().Done(): // the process died
	}
}

// At is a place of an order in a process.
func (b *Bell) At(process, order, name string) *Place {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := process + " " + order + " " + name
	p := b.places[key]
	if p == nil {
		p = &Place{Rung: make(chan string, mostRings), Open: func() {}}
		b.places[key] = p
	}
	return p
}

// Hold keeps those who come to a place there until it is opened.
func (b *Bell) Hold(process, order, name string) *Place {
	p := b.At(process, order, name)
	b.mu.Lock()
	defer b.mu.Unlock()
	gate := make(chan struct{})
	p.gate, p.Open = gate, sync.OnceFunc(func() { close(gate) })
	return p
}

// Await waits until somebody has come.
func (p *Place) Await(ctx context.Context) (order string) {
	select {
	case order = <-p.Rung:
	case <-ctx.Done():
		fault.Check(ctx.Err())
	}
	return order
}
