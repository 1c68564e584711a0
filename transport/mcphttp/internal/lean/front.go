// Package lean serves the usual modern calls past go-sdk's HTTP layer and its session.
//
// go-sdk v1.8.0 allocates 32 KiB for each value that it decodes. Its HTTP layer
// decodes a request's envelope four times, its params twice and the tool's schema
// once. Its session then decodes the _meta of the params, the client's name and its
// capabilities, each by itself, and the params once more. That is most of a server's
// cost of a call. The requests that take the time of a busy server (tools/call,
// prompts/get, resources/read) are simple enough to be read here in one pass over the
// bytes. Such a request is decoded once, by the same decoder but from the bytes, and
// handed to the server's middleware as go-sdk's session would hand it over, with a
// session of its own, as go-sdk gives to each request of this revision. Everything
// from the first middleware on is go-sdk's: validation, handlers, results.
//
// The rule is that a request goes this way only if it is certain that go-sdk's
// HTTP layer and its session would let it through, and hand the middleware the same
// request. All else, whether wrong or merely unusual, goes to go-sdk, which refuses it
// or serves it. So no refusal is written twice, and the differential test compares the
// two.
//
// The package can be deleted when go-sdk decodes from the bytes; see docs/go-sdk.md.
// With it go mcphttp's call of [Front.Read], its tests whose files begin with lean, and
// HandlerOptions.StockFront.
package lean

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Front reads and serves modern calls. All its methods can be called at once.
type Front struct {
	getServer func(*http.Request) *mcp.Server
	stock     http.Handler // serves what was read and cannot be served here
	servers   servers
	verified  verified
	taken     atomic.Uint64 // calls that did not go to stock
}

// New makes a front for the server that getServer names for a request. stock makes
// go-sdk's handler.
func New(getServer func(*http.Request) *mcp.Server, stock func(getServer func(*http.Request) *mcp.Server) http.Handler) *Front {
	return &Front{getServer: getServer, stock: stock(orKnown(getServer))}
}

// Taken counts the calls that did not go to go-sdk's handler.
func (f *Front) Taken() uint64 { return f.taken.Load() }

// Writer is the response to a call.
type Writer interface {
	http.ResponseWriter
	http.Flusher
	// Complete writes the answer, after which nothing follows.
	Complete(id jsonrpc.ID, status int, answer []byte)
}

// serverKey is for the server of a request, in its context: getServer is asked once,
// whichever way the request takes.
type serverKey struct{}

// serverOf is the server of the request with this address, which a request keeps that
// gets another context. A handler may make requests to other servers with its own context.
type serverOf struct {
	address *url.URL
	*mcp.Server
}

func orKnown(getServer func(*http.Request) *mcp.Server) func(*http.Request) *mcp.Server {
	return func(r *http.Request) *mcp.Server {
		if known, ok := r.Context().Value(serverKey{}).(serverOf); ok && known.address == r.URL {
			return known.Server
		}
		return getServer(r)
	}
}

// Serve serves the call, or has go-sdk's handler serve it. r is the request that it was
// read from, with any context.
func (call *Call) Serve(w Writer, r *http.Request) {
	f := call.front
	server := f.getServer(r)
	if server == nil {
		f.stock.ServeHTTP(w, r)
		return
	}
	pointer := weak.Make(server)
	info := f.servers.info(server, pointer, call.version)
	if info == nil || len(call.arguments) > 0 && !f.verified.covers(pointer, call) || !call.decode() {
		f.verified.watch(server, call, w, func(w http.ResponseWriter) {
			f.stock.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, serverOf{r.URL, server})))
		})
		return
	}
	f.taken.Add(1)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Connection", "keep-alive")
	c := &conn{end: r.Context(), call: call, w: w, closed: make(chan struct{})}
	ctx := context.WithValue(r.Context(), connKey{}, c)
	// Its transport is this connection, which cannot fail to connect.
	session, err := server.Connect(ctx, c, &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{InitializeParams: call.client}})
	if err != nil {
		http.Error(w, "failed connection", http.StatusInternalServerError)
		return
	}
	defer session.Close()
	if status, answered := c.handle(ctx, server, info, call.request(session, &mcp.RequestExtra{
		TokenInfo: auth.TokenInfoFromContext(r.Context()), Header: r.Header,
		CloseSSEStream: func(mcp.CloseSSEStreamArgs) {}, // nothing can be resumed in this revision
	})); answered {
		c.send(status)
	}
}

// handle runs a call's middleware and its handler and encodes the answer. go-sdk does
// so on a goroutine where nobody recovers, so a panic ends the program. Here net/http
// would recover it, and whether a bug ends the program must not depend on the way that
// a request took. A call whose handler ends its goroutine, or whose result cannot be
// encoded, has no answer there, and none here.
func (c *conn) handle(ctx context.Context, server *mcp.Server, info *mcp.Implementation, req mcp.Request) (status int, answered bool) {
	returned := false
	defer func() {
		if !returned {
			if failure := recover(); failure != nil {
				endProgram(failure)
			}
		}
		if !answered {
			<-ctx.Done() // the client gives up
		}
	}()
	result, err := receiving(server)(ctx, c.call.method, req)
	status, answered = c.encode(result, err, info)
	returned = true
	return status, answered
}

// endProgram panics where nobody recovers. The text has the stack of the first panic.
func endProgram(failure any) {
	text := fmt.Sprintf("%v\n\n%s", failure, debug.Stack())
	go func() { panic(text) }()
	select {}
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
	// All guarded by mu.
	mu        sync.Mutex
	since     time.Time // when the first verdict was asked for
	arguments map[verifiedArgument]struct{}
}

type verifiedArgument struct {
	server weak.Pointer[mcp.Server]
	tool   string
	path   string
}

func (v *verified) covers(server weak.Pointer[mcp.Server], call *Call) bool {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if now.Sub(v.since) >= verifiedFor {
		return false
	}
	for path, null := range call.paths {
		// A null needs no header even if another value would.
		if _, ok := v.arguments[verifiedArgument{server, call.name, string(path)}]; !ok && !null {
			return false
		}
	}
	return true
}

// watch has a call served by go-sdk, and learns from it.
func (v *verified) watch(server *mcp.Server, call *Call, w http.ResponseWriter, serve func(http.ResponseWriter)) {
	at, first := time.Now(), &firstStatus{ResponseWriter: w}
	serve(first)
	if first.status == http.StatusOK {
		v.learn(server, call, at)
	}
}

// learn notes the arguments of a call that go-sdk has judged after the given time.
func (v *verified) learn(server *mcp.Server, call *Call, at time.Time) {
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
