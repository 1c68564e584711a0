//go:build unix

package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// The places of a round, and of its requests, at which a process rings the bell of the
// test and goes on when it is answered.
const (
	beforeTheEffect = "before the effect"
	inTheEffect     = "in the effect"
	hasPaid         = "paid" // and the effect has not ended
	afterTheEffect  = "after the effect"
	requestCame     = "a request came"
	clientLeft      = "its client left"
	listening       = "listening" // the URL stands in for the order
	draining        = "draining"
)

// effectEnds are the ways in which an effect ends: all but the error have paid.
var effectEnds = map[string]func() error{
	"ok":      func() error { return nil },
	"error":   func() error { return cardRefused{} },
	"timeout": func() error { return context.DeadlineExceeded },
	"EOF":     func() error { return fmt.Errorf("bank: %w", io.EOF) },
	"panic":   func() error { panic("boom") },
}

// cardRefused is an error that its author expects, so that the boundary need not suspect an
// effect behind it.
type cardRefused struct{}

func (cardRefused) Error() string           { return "the card was refused" }
func (cardRefused) ToolErrorExpected() bool { return true }

// payAsOrdered pays, and ends as the order's name says, which may also say how long that
// takes: "17/EOF/80ms".
func (t *Till) payAsOrdered(ctx context.Context, order, idem string) (Receipt, error) {
	t.ring(order, inTheEffect)
	if ctx.Err() != nil {
		return Receipt{}, ctx.Err()
	}
	ordered := strings.Split(order, "/")
	end := ordered[1]
	if end != "error" {
		if err := t.enter(order, idem); err != nil {
			return Receipt{}, err
		}
	}
	t.ring(order, hasPaid)
	if len(ordered) > 2 {
		takes, err := time.ParseDuration(ordered[2])
		if err != nil {
			return Receipt{}, err
		}
		time.Sleep(takes)
	}
	return Receipt{order, idem}, effectEnds[end]()
}

// ringer keeps its connections: many rounds ring at once.
var ringer = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// ring returns when the bell is answered, or gone.
func (t *Till) ring(order, place string) {
	if t.bell == "" {
		return
	}
	//mrtr:allow bareeffect it tells the test how far a round is, as often as it runs
	res, err := ringer.Get(t.bell + "?" + url.Values{"order": {order}, "place": {place}}.Encode())
	if err == nil {
		_ = res.Body.Close()
	}
}

// ringRequests rings when an answer to a question comes, and when the server has noticed
// that its client left.
func (t *Till) ringRequests(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Params.RequestState == "" {
			return next(ctx, method, req)
		}
		var in Order
		if err := json.Unmarshal(call.Params.Arguments, &in); err != nil {
			return nil, err
		}
		t.ring(in.Order, requestCame)
		res, err := next(ctx, method, req)
		if ctx.Err() != nil {
			t.ring(in.Order, clientLeft)
		}
		return res, err
	}
}

// listen serves HTTP too. Flush sends what is left to be sent.
func (t *Till) listen(server *mcp.Server) (flush func(context.Context) error, err error) {
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
	t.ring("http://"+listener.Addr().String(), listening)
	return serving.Shutdown, nil
}

// bell is rung by the processes of a test, each at a URL of its own.
type bell struct {
	*httptest.Server

	mu     sync.Mutex
	places map[string]*place // by process, order and name; guarded by mu
}

// place is one at which an order may be held.
type place struct {
	rung  chan string   // the order, once for each time
	gate  chan struct{} // who has rung waits until it is closed; nil for nobody waits
	opens sync.Once
}

// mostRings is more than anybody rings with one order at one place.
const mostRings = 100

func newBell() *bell {
	b := &bell{places: map[string]*place{}}
	b.Server = httptest.NewServer(b)
	return b
}

func (b *bell) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	order := q.Get("order")
	at, name := order, q.Get("place")
	if name == listening {
		at = ""
	}
	p := b.at(r.URL.Path, at, name)
	select {
	case p.rung <- order:
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

func (b *bell) at(process, order, name string) *place {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := process + " " + order + " " + name
	p := b.places[key]
	if p == nil {
		p = &place{rung: make(chan string, mostRings)}
		b.places[key] = p
	}
	return p
}

// hold keeps those who come to a place there until it is opened.
func (b *bell) hold(process, order, name string) *place {
	p := b.at(process, order, name)
	b.mu.Lock()
	defer b.mu.Unlock()
	p.gate = make(chan struct{})
	return p
}

func (p *place) open() {
	if p.gate != nil {
		p.opens.Do(func() { close(p.gate) })
	}
}

// await waits until somebody has come.
func (p *place) await(ctx context.Context) (order string, err error) {
	select {
	case order = <-p.rung:
		return order, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
