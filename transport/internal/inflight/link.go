package inflight

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// KeptBuffer is the largest buffer that outlives its message.
const KeptBuffer = 64 << 10

// Link follows the messages of a connection that both ends write to whenever they like, as
// over stdio and WebSocket, on their way between the wire and go-sdk.
type Link struct {
	Calls // of the peer
	// FromClient is true on the server's side. Set it before the first message.
	FromClient bool
	// Admit judges a request before it is in flight, and may be nil. Set it before the
	// first message.
	Admit func(*jsonrpc.Request) *jsonrpc.Error

	subscriptions Subscriptions
	largeIDs      atomic.Bool // one was received
	pinged        atomic.Bool // the client initialized, and answers pings
	buffer        []byte      // guarded by whoever calls Encode
}

// Receive reads a message of the peer's. It returns the message for go-sdk, an answer for the
// peer in its place, or neither: a notification has no answer, and a call that arrives again
// while it is in flight gets the answer of the first. The error is about a text that is no
// message.
func (l *Link) Receive(text []byte) (msg jsonrpc.Message, answer *jsonrpc.Response, _ error) {
	if !utf8.Valid(text) {
		return nil, nil, message.ErrNotJSON
	}
	var refused *jsonrpc.Error
	if l.FromClient {
		refused = message.Refusal(text)
	}
	msg, err := message.Decode(text)
	if err != nil {
		return nil, nil, err
	}
	if message.HasLarge(msg) {
		l.largeIDs.Store(true)
	}
	req, ok := msg.(*jsonrpc.Request)
	if ok && refused == nil && l.Admit != nil {
		refused = l.Admit(req)
	}
	switch {
	case !ok && refused != nil: // the question has to end
		return &jsonrpc.Response{ID: msg.(*jsonrpc.Response).ID, Error: refused}, nil, nil
	case !ok:
		return msg, nil, nil
	case !req.IsCall() && (refused != nil || l.late(req)):
		return nil, nil, nil
	case !req.IsCall():
		return msg, nil, nil
	}
	again := false
	if refused == nil && l.FromClient {
		refused = l.subscriptions.Note(req.Method, req.Params)
	}
	if refused == nil {
		again, answer, refused = l.Begin(req)
	}
	switch {
	case refused != nil:
		return nil, Refused(req.ID, refused), nil
	case again || answer != nil:
		return nil, answer, nil
	case req.Method == "initialize":
		l.pinged.Store(true)
	}
	return msg, nil, nil
}

// Unpingable reports whether a message is a ping for a client that answers none.
func (l *Link) Unpingable(msg jsonrpc.Message) bool {
	return l.FromClient && message.IsPing(msg) && !l.pinged.Load()
}

// Encode returns the text of a message, which the next call overwrites.
func (l *Link) Encode(msg jsonrpc.Message) ([]byte, error) {
	text, err := message.Append(l.buffer[:0], msg)
	if err != nil {
		return nil, err
	}
	if l.largeIDs.Load() {
		text = message.RestoreLarge(text)
	}
	if cap(text) <= KeptBuffer {
		l.buffer = text
	}
	return text, nil
}

// Door lets requests in until a shutdown, and knows when the last of them has left.
type Door struct {
	retired atomic.Bool

	mu     sync.Mutex
	inside int           // guarded by mu
	empty  chan struct{} // guarded by mu: made by Close, closed when nobody is inside
}

// Enter lets a request in, or reports false because the door is closed.
func (d *Door) Enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty != nil {
		return false
	}
	d.inside++
	return true
}

// Leave is called for each request that was let in.
func (d *Door) Leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside--
	if d.inside == 0 && d.empty != nil {
		close(d.empty)
	}
}

// Close lets nobody else in. The channel is closed when nobody is inside.
func (d *Door) Close() (empty <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.empty == nil {
		d.empty = make(chan struct{})
		if d.inside == 0 {
			close(d.empty)
		}
	}
	return d.empty
}

// Closed reports whether Close was called.
func (d *Door) Closed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.empty != nil
}

// Retire ends readiness and nothing else.
func (d *Door) Retire() { d.retired.Store(true) }

// Ready reports whether new clients should come: until Retire or Close.
func (d *Door) Ready() bool { return !d.retired.Load() && !d.Closed() }

// ServeReady answers a load balancer: 200 with "ready", or 503 with "not ready". The
// answer must not be cached, since it changes when the server is about to stop.
func (d *Door) ServeReady(w http.ResponseWriter, r *http.Request) {
	unread.Bound(w, r, unread.Within)
	w.Header().Set("Cache-Control", "no-store")
	if !d.Ready() {
		w.Header().Set("Connection", "close")
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ready\n") // the asker may be gone
}

// refusedHeader says why a request was refused, for whoever passes requests on. A server
// that is overloaded answers 503 as well, and there another instance is no better.
const refusedHeader, shuttingDown = "Mrtr-Refused", "shutting_down"

// Refuse marks a response as the refusal of a server that shuts down: another instance may
// take the request.
func Refuse(h http.Header) {
	h.Set("Retry-After", "5")
	h.Set(refusedHeader, shuttingDown)
}

// Retiring reports whether a response is such a refusal.
func Retiring(h http.Header) bool { return h.Get(refusedHeader) == shuttingDown }
