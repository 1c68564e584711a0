package rendezvous

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"sync"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const method = "notifications/progress"

// heartbeatStep is how much more a heartbeat tells than was told before. It is little,
// so that whatever a handler counts is more.
const heartbeatStep = 0.001

type heartbeatKey struct{}

// Heartbeat marks the context of a notification that is to tell a little more than was
// told before, whatever progress it has.
func Heartbeat(ctx context.Context) context.Context {
	return context.WithValue(ctx, heartbeatKey{}, true)
}

// ordered are the servers that have their middleware.
var ordered struct {
	mu      sync.Mutex
	servers map[weak.Pointer[mcp.Server]]bool
}

// OrderProgress drops each notification of progress of a server that tells no more than the
// one before it with the same token, while a request with that token is in flight. So the
// progress of a call increases, as the protocol demands, whoever tells it: a handler, each of
// its rounds from the start again, and the heartbeat of whoever waits for its user. Doing so
// twice changes nothing.
func OrderProgress(server *mcp.Server) {
	p := weak.Make(server)
	ordered.mu.Lock()
	defer ordered.mu.Unlock()
	if ordered.servers[p] {
		return
	}
	if ordered.servers == nil {
		ordered.servers = map[weak.Pointer[mcp.Server]]bool{}
	}
	ordered.servers[p] = true
	runtime.AddCleanup(server, forget, p)
	o := &order{calls: map[call]*told{}}
	server.AddReceivingMiddleware(o.receiving)
	server.AddSendingMiddleware(o.sending)
}

func forget(p weak.Pointer[mcp.Server]) {
	ordered.mu.Lock()
	defer ordered.mu.Unlock()
	delete(ordered.servers, p)
}

// order knows the last progress of each request in flight that has a token.
type order struct {
	mu    sync.Mutex
	calls map[call]*told
}

// call is a token in its session. Several requests may have one, by a client's mistake.
type call struct {
	session mcp.Session
	token   any // a string or a float64
}

type told struct {
	requests int
	turn     chan struct{} // held while a notification is sent, so that they arrive in order
	any      bool
	last     float64 // guarded by turn
}

func (o *order) receiving(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		c, ok := callOf(req)
		if !ok {
			return next(ctx, method, req)
		}
		o.enter(c)
		defer o.leave(c)
		return next(ctx, method, req)
	}
}

func callOf(req mcp.Request) (call, bool) {
	params, ok := req.GetParams().(mcp.RequestParams)
	if !ok || reflect.ValueOf(params).IsNil() {
		return call{}, false
	}
	token, ok := tokenValue(params.GetProgressToken())
	return call{req.GetSession(), token}, ok
}

// tokenValue gives one value to a number of any type: a client's token is a float64,
// and a handler may repeat it as another.
func tokenValue(token any) (any, bool) {
	switch token := token.(type) {
	case string, float64:
		return token, true
	case int:
		return float64(token), true
	case int32:
		return float64(token), true
	case int64:
		return float64(token), true
	}
	return nil, false
}

func (o *order) enter(c call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.calls[c]
	if t == nil {
		t = &told{turn: make(chan struct{}, 1)}
		o.calls[c] = t
	}
	t.requests++
}

func (o *order) leave(c call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.calls[c]
	if t.requests--; t.requests == 0 {
		delete(o.calls, c)
	}
}

func (o *order) find(session mcp.Session, token any) *told {
	token, ok := tokenValue(token)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[call{session, token}]
}

func (o *order) sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, m string, req mcp.Request) (mcp.Result, error) {
		params, ok := req.GetParams().(*mcp.ProgressNotificationParams)
		session, toClient := req.GetSession().(*mcp.ServerSession)
		if m != method || !ok || !toClient || params == nil {
			return next(ctx, m, req)
		}
		t := o.find(session, params.ProgressToken)
		if t == nil {
			return next(ctx, m, req)
		}
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		defer func() { <-t.turn }()
		now := *params // the handler may change its own meanwhile
		if t.any && ctx.Value(heartbeatKey{}) != nil {
			now.Progress = more(t.last)
		}
		if t.any && !(now.Progress > t.last) {
			return nil, nil
		}
		t.any, t.last = true, now.Progress
		return next(ctx, m, &mcp.ServerRequest[mcp.Params]{Session: session, Params: &now})
	}
}

// more is a little more than last.
func more(last float64) float64 {
	if v := last + heartbeatStep; v > last {
		return v
	}
	return math.Nextafter(last, math.MaxFloat64)
}
