package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// InstanceState is how an instance does, as far as a [Router] knows.
type InstanceState int

const (
	// InstanceAlive: it is ready, or was not asked yet.
	InstanceAlive InstanceState = iota
	// InstanceRetiring: it answers, and says that new clients should go elsewhere.
	InstanceRetiring
	// InstanceDead: it cannot be reached, or did not answer in time.
	InstanceDead
)

func (s InstanceState) String() string {
	switch s {
	case InstanceAlive:
		return "alive"
	case InstanceRetiring:
		return "retiring"
	case InstanceDead:
		return "dead"
	}
	return fmt.Sprintf("InstanceState(%d)", int(s))
}

// InstanceStats are the numbers of one instance, see [Router.Stats].
type InstanceStats struct {
	State InstanceState
	// Open are the requests and WebSockets that it serves now.
	Open int64
	// Sent are the requests that it was sent. Refused are those of them that it did not
	// begin, so that another instance got them, and Lost those that it may have begun and
	// gave no response to.
	Sent, Refused, Lost int64
}

// instance is one that a router sends requests to.
type instance struct {
	name string
	url  *url.URL

	open, sent, refused, lost atomic.Int64

	mu    sync.Mutex
	state InstanceState      // guarded by mu
	life  context.Context    // guarded by mu: of the requests that it serves
	end   context.CancelFunc // guarded by mu: ends life
}

func newInstance(name string, url *url.URL) *instance {
	i := &instance{name: name, url: url}
	i.life, i.end = context.WithCancel(context.Background())
	return i
}

func (i *instance) stats() InstanceStats {
	i.mu.Lock()
	defer i.mu.Unlock()
	return InstanceStats{i.state, i.open.Load(), i.sent.Load(), i.refused.Load(), i.lost.Load()}
}

func (i *instance) found(s InstanceState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.state = s
}

// retires notes that the instance is about to stop. A connection that it closes may have a
// request on it that it never read, so none is kept that nobody uses.
func (i *instance) retires(by http.RoundTripper) {
	if i.stats().State == InstanceRetiring {
		return
	}
	i.found(InstanceRetiring)
	if t, ok := by.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// watch asks the instance how it does, until ctx ends.
func (i *instance) watch(ctx context.Context, by http.RoundTripper, path string, every, within time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		i.ask(ctx, by, path, within)
	}
}

// ask finds out how the instance does. If it is silent, the requests that it serves end:
// nobody knows whether they would ever. They do not end if nobody listens: a server that
// stops may still serve what it has.
func (i *instance) ask(ctx context.Context, by http.RoundTripper, path string, within time.Duration) {
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	r, err := http.NewRequestWithContext(asking, http.MethodGet, i.url.JoinPath(path).String(), nil)
	if err != nil {
		return // the address was checked
	}
	res, err := by.RoundTrip(r)
	var timeout net.Error
	switch {
	case ctx.Err() != nil:
	case err == nil:
		_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that its connection can be used again
		res.Body.Close()
		if res.StatusCode == http.StatusServiceUnavailable {
			i.retires(by)
		} else {
			i.found(InstanceAlive)
		}
	case errors.As(err, &timeout) && timeout.Timeout():
		i.silent()
	default:
		i.found(InstanceDead)
	}
}

// silent ends the requests that the instance serves.
func (i *instance) silent() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.state = InstanceDead
	i.end()
	i.life, i.end = context.WithCancel(context.Background())
}

// errSilent ends a request whose instance does not answer any more.
var errSilent = errors.New("the instance stands still")

// send sends a request, which lasts until the body of its response is closed, or the
// instance falls silent. sent is false if an error came before any of it was sent.
func (i *instance) send(by http.RoundTripper, r *http.Request) (res *http.Response, sent bool, err error) {
	i.mu.Lock()
	life := i.life
	i.mu.Unlock()
	i.open.Add(1)
	i.sent.Add(1)
	ctx, cancel := context.WithCancelCause(r.Context())
	unhook := context.AfterFunc(life, func() { cancel(errSilent) })
	end := sync.OnceFunc(func() {
		i.open.Add(-1)
		unhook()
		cancel(nil)
	})
	// Transports of others need not report a connection.
	var asked, got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true); got.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	res, err = by.RoundTrip(r.WithContext(ctx))
	if err != nil {
		end()
		var op *net.OpError
		dialed := errors.As(err, &op) && op.Op == "dial"
		return nil, !dialed && (got.Load() || !asked.Load()), err
	}
	body := &openBody{res.Body, end}
	res.Body = body
	if res.StatusCode == http.StatusSwitchingProtocols { // which no context ends
		context.AfterFunc(ctx, func() { body.Close() })
	}
	return res, true, nil
}

// openBody is the body of a response, or the connection that it became.
type openBody struct {
	io.ReadCloser
	end func()
}

func (b *openBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

func (b *openBody) Write(p []byte) (int, error) {
	if w, ok := b.ReadCloser.(io.Writer); ok {
		return w.Write(p)
	}
	return 0, errors.ErrUnsupported
}

// CloseWrite passes on that one side of a connection has nothing more to say.
func (b *openBody) CloseWrite() error {
	if w, ok := b.ReadCloser.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return errors.ErrUnsupported
}
