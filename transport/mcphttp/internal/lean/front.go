// Package lean serves the usual modern calls past go-sdk's HTTP layer and its session.
//
// go-sdk v1.8.0 allocates 32 KiB for each value that it decodes. Its HTTP layer
// decodes a request's envelope four times, its params twice and the tool's schema
// once. Its session then decodes the _meta of the params, the client's name and its
// capabilities, each by itself, and the params once more. That is most of a server's
// cost of a call. The requests that take the time of a busy server (tools/call,
// prompts/get, resources/read, tools/list) are simple enough to be read here in one pass over the
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
	"context"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync/atomic"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
)

// Front reads and serves modern calls. All its methods can be called at once.
type Front struct {
	getServer func(*http.Request) *mcp.Server
	stock     http.Handler // serves what was read and cannot be served here
	servers   servers
	lists     lists
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
	tool := call.unbound(pointer)
	if info == nil || call.takes && tool == nil || !call.decode() {
		f.stock.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, serverOf{r.URL, server})))
		return
	}
	f.taken.Add(1)
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Connection", "keep-alive")
	c := &conn{end: r.Context(), call: call, tool: tool, w: w, closed: make(chan struct{})}
	ctx := context.WithValue(r.Context(), rendezvous.VisitKey{}, c)
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

// unbound is the tool that the call names, if no header has to repeat an argument of it, as
// far as is known.
func (call *Call) unbound(server weak.Pointer[mcp.Server]) *rendezvous.UnboundTool {
	if call.method != "tools/call" || !call.takes {
		return nil
	}
	return rendezvous.UnboundToolOf(server, call.name)
}

// handle runs a call's middleware and its handler and encodes the answer. go-sdk does
// so on a goroutine where nobody recovers, so a panic ends the program. Here net/http
// would recover it, and whether a bug ends the program must not depend on the way that
// a request took. A call whose handler ends its goroutine, or whose result cannot be
// encoded, has no answer there, and none here.
func (c *conn) handle(ctx context.Context, server *mcp.Server, info *serverInfo, req mcp.Request) (status int, answered bool) {
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
	if err == nil && c.tool != nil && !c.entered.Load() && succeeded(result) {
		c.tool.Missed()
	}
	status, answered = c.encode(result, err, info)
	returned = true
	return status, answered
}

// succeeded reports whether a tool has done its work.
func succeeded(result mcp.Result) bool {
	res, ok := result.(*mcp.CallToolResult)
	return ok && res != nil && !res.IsError
}

// endProgram panics where nobody recovers. The text has the stack of the first panic.
func endProgram(failure any) {
	text := fmt.Sprintf("%v\n\n%s", failure, debug.Stack())
	go func() { panic(text) }()
	select {}
}
