package mcphttp

// This file is a second way from a modern POST to a server. It can be deleted, with
// leancall.go, their tests and the lines that name them (HandlerOptions.StockFront,
// NewHandler, serveModern), when go-sdk decodes from the bytes; see docs/go-sdk.md.
//
// go-sdk v1.8.0 allocates 32 KiB for each value that it decodes. Its HTTP layer
// decodes a request's envelope four times, its params twice and the tool's schema once
// before the session decodes the params again: about half of a server's cost of a call.
// The requests that take the time of a busy server (tools/call, prompts/get,
// resources/read) are simple enough to be read here in one pass over the bytes. Such
// a request gets a session of its own, as it does in go-sdk, over a connection whose
// only message is the request that was read. Everything from the session on is
// go-sdk's: middleware, validation, handlers, results.
//
// The rule is that a request takes this way only when it is certain that go-sdk's
// HTTP layer would let it through and hand its session the same message. All else,
// whether wrong or merely unusual, goes to go-sdk, which refuses it or serves it. So
// no refusal is written twice, and the differential test compares the two.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lean serves modern calls past go-sdk's HTTP layer.
type lean struct {
	getServer func(*http.Request) *mcp.Server
	stock     http.Handler // serves everything else
	verified  verified
	taken     atomic.Uint64 // requests that did not go to stock
}

// serverKey is for the server of a request, in its context: getServer is asked once,
// whichever way the request takes.
type serverKey struct{}

func orKnown(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		if server, ok := r.Context().Value(serverKey{}).(*mcp.Server); ok {
			return server
		}
		return getServer(r)
	}
}

// idKey is for the id of a call, in the context of its handler. go-sdk keeps the id
// there too, for its own transports alone.
type idKey struct{}

// serve serves a modern POST with this body, one way or the other.
func (l *lean) serve(w http.ResponseWriter, r *http.Request, raw []byte) {
	call, ok := readLean(r, raw)
	if !ok {
		l.stock.ServeHTTP(w, r)
		return
	}
	server := l.getServer(r)
	if server == nil {
		l.stock.ServeHTTP(w, r)
		return
	}
	ctx := context.WithValue(r.Context(), idKey{}, call.request.ID)
	if len(call.arguments) > 0 && !l.verified.covers(server, call) {
		l.verified.watch(server, call, w, func(w http.ResponseWriter) {
			l.stock.ServeHTTP(w, r.WithContext(context.WithValue(ctx, serverKey{}, server)))
		})
		return
	}
	l.taken.Add(1)
	call.request.Extra = &mcp.RequestExtra{
		TokenInfo: auth.TokenInfoFromContext(r.Context()), Header: r.Header,
		CloseSSEStream: func(mcp.CloseSSEStreamArgs) {}, // nothing can be resumed in this revision
	}
	c := &leanConn{
		end: r.Context(), call: call, w: w, control: http.NewResponseController(w),
		answered: make(chan struct{}), closed: make(chan struct{}),
	}
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Connection", "keep-alive")
	// Its transport is this connection, which cannot fail to connect.
	session, err := server.Connect(ctx, c, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{}})
	if err != nil {
		http.Error(w, "failed connection", http.StatusInternalServerError)
		return
	}
	defer session.Close() // waits for the handler
	defer c.release()
	select {
	case <-r.Context().Done():
	case <-c.answered:
	case <-c.closed:
	}
}

// leanConn is the connection of a session that serves one call. It is its own
// transport.
type leanConn struct {
	end     context.Context // of the request
	call    *leanCall
	read    bool // by the session's one reader
	control *http.ResponseController

	mu       sync.Mutex
	w        http.ResponseWriter // nil when it is net/http's again
	done     bool                // answered
	answered chan struct{}
	closing  sync.Once
	closed   chan struct{}
}

func (c *leanConn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c *leanConn) SessionID() string { return "" }

func (c *leanConn) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// Read gives the call, and then blocks. Its error when the request ends is what
// cancels the handler, with the request's cause.
func (c *leanConn) Read(context.Context) (jsonrpc.Message, error) {
	if !c.read {
		c.read = true
		return &c.call.request, nil
	}
	select {
	case <-c.end.Done():
		return nil, context.Cause(c.end)
	case <-c.closed:
		return nil, io.EOF
	}
}

// The reasons why a message is not sent, as go-sdk's own transport gives them. By
// the code it knows that the connection is sound.
var (
	errRejected     = &jsonrpc.Error{Code: -32005, Message: "rejected by transport"}
	errCalls        = fmt.Errorf("%w: stateless servers cannot make requests", errRejected)
	errClosed       = fmt.Errorf("%w: write to closed stream", errRejected)
	errNotConnected = fmt.Errorf("%w: undelivered message: stream not connected or already closed", errRejected)
)

// Write sends the answer, and before it the notifications of the call's handler. A
// notification that no context ties to the call has no stream to go to.
func (c *leanConn) Write(ctx context.Context, message jsonrpc.Message) error {
	event, status, err := c.encode(ctx, message)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return errClosed
	}
	if _, ok := message.(*jsonrpc.Response); ok {
		c.done = true
		defer close(c.answered)
	}
	w := c.w
	if w == nil {
		return errNotConnected
	}
	if status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
	}
	if _, err = w.Write(event); err != nil {
		return fmt.Errorf("%w: undelivered message: %v", errRejected, err)
	}
	if status == 0 {
		_ = c.control.Flush() // a client that is gone ends the request's context
	}
	return nil
}

// encode makes an event of a message, or a body where the status is not 0.
func (c *leanConn) encode(ctx context.Context, message jsonrpc.Message) (event []byte, status int, err error) {
	switch m := message.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			return nil, 0, errCalls
		}
		id, ok := ctx.Value(idKey{}).(jsonrpc.ID)
		if !ok {
			return nil, 0, errNotConnected
		}
		if id != c.call.request.ID {
			return nil, 0, errClosed
		}
	case *jsonrpc.Response:
		if m.Error == nil && len(m.Result) > 0 {
			return c.call.result(m.Result), 0, nil
		}
		status = statusOf(m.Error)
	}
	body, err := jsonrpc.EncodeMessage(message)
	if err != nil || status != 0 {
		return body, status, err
	}
	return asEvent(body), 0, nil
}

// statusOf is the status that the revision demands for an error, 0 for an event.
func statusOf(err error) int {
	var refusal *jsonrpc.Error
	if !errors.As(err, &refusal) {
		return 0
	}
	switch refusal.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return 0
}

// release gives the response back to net/http.
func (c *leanConn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w = nil
}

// result is the event with the call's result, which go-sdk has just encoded.
func (c *leanCall) result(result json.RawMessage) []byte {
	const head, id, tail = `event: message` + "\n" + `data: {"jsonrpc":"2.0","id":`, `,"result":`, "}\n\n"
	event := make([]byte, 0, len(head)+len(c.id)+len(id)+len(result)+len(tail))
	event = append(append(append(event, head...), c.id...), id...)
	return append(append(event, result...), tail...)
}

// verifiedFor is how long a verdict of go-sdk's about a tool's headers counts. A tool
// may be replaced by one of the same name with other headers.
const verifiedFor = time.Second

// maxVerified bounds the notes of that time.
const maxVerified = 10_000

// verified are arguments that no header has to repeat. The schema of a tool may bind
// any argument to a Mcp-Param header, and only go-sdk can look the schema up. So it
// judges: when it has served a call without such headers, then the arguments of that
// call are bound to none, and calls with these arguments or fewer need not be judged
// again for a while. A call with such a header always goes to go-sdk.
type verified struct {
	mu        sync.Mutex
	since     time.Time
	arguments map[verifiedArgument]struct{}
}

type verifiedArgument struct {
	server weak.Pointer[mcp.Server]
	tool   string
	path   string
}

func (v *verified) covers(server *mcp.Server, call *leanCall) bool {
	now, pointer := time.Now(), weak.Make(server)
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.since) >= verifiedFor {
		return false
	}
	for path, null := range call.paths {
		// A null needs no header even where another value would.
		if _, ok := v.arguments[verifiedArgument{pointer, call.name, string(path)}]; !ok && !null {
			return false
		}
	}
	return true
}

// watch has a call served by go-sdk, and learns from it.
func (v *verified) watch(server *mcp.Server, call *leanCall, w http.ResponseWriter, serve func(http.ResponseWriter)) {
	at, first := time.Now(), &firstStatus{ResponseWriter: w}
	serve(first)
	if first.status == http.StatusOK {
		v.learn(server, call, at)
	}
}

// learn notes the arguments of a call that go-sdk has judged after the given time.
func (v *verified) learn(server *mcp.Server, call *leanCall, at time.Time) {
	seen := map[string]bool{}
	for path := range call.paths {
		if seen[string(path)] {
			return // it is open which of the two was judged
		}
		seen[string(path)] = true
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.since) >= verifiedFor {
		v.since, v.arguments = at, map[verifiedArgument]struct{}{}
	}
	if at.Before(v.since) {
		return
	}
	for path, null := range call.paths {
		if !null && len(v.arguments) < maxVerified {
			v.arguments[verifiedArgument{weak.Make(server), call.name, string(path)}] = struct{}{}
		}
	}
}

// firstStatus notes the status with which a response began.
type firstStatus struct {
	http.ResponseWriter
	status int
}

// Unwrap leads [http.ResponseController] to the writer that flushes.
func (w *firstStatus) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *firstStatus) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *firstStatus) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}
