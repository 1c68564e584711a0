// Package mcphttp serves clients of both eras of the Model Context Protocol on
// one URL: those of revision 2026-07-28 and later, which need no session, and
// legacy ones, which are asked over theirs.
//
// go-sdk serves one era with one HTTP handler. [NewHandler] stands in front of
// two of them and routes each request by the version that it names. Usual calls of modern
// clients go past both, straight to the server's middleware. It also
// refuses cross-origin requests of web pages, bounds bodies, cancels the calls of
// a client that hangs up, and drains ([Handler.Shutdown]).
//
// [NewRouter] stands in front of several such servers, and sends a request to the one
// that it belongs to.
package mcphttp

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/origin"
	"github.com/mrtr-go/sdk/transport/mcphttp/internal/lean"
)

// Handler serves clients of both eras on one URL. It stands in front of two of
// go-sdk's streamable handlers, because such a handler serves input-required
// results only when it is stateless, and can ask a legacy client only when it is
// not.
//
// A request is modern when its Mcp-Protocol-Version header says 2026-07-28 or
// later, or when its body holds a call whose _meta says so; it goes to the
// stateless handler. All else goes to the stateful one: initialize, every message
// of a session, GET and DELETE. If header and body disagree the request is
// modern, because that revision has a refusal for it: the client gets -32020,
// which names the header to correct.
//
// Handler refuses, before anything of a request reaches go-sdk: a foreign Host
// or a cross-origin request from a browser (403), a body over the limit (413),
// calls beyond those that may be in flight (429 for the client's share, 503 for
// the server's), new work after [Handler.Shutdown] (503). Of a legacy client it
// refuses besides a body that is no JSON-RPC (400) and a batch of more than 100
// messages (413).
//
// It also stands in front of those faults of go-sdk's that a front can fix. A
// request is refused with 400 if a header of the protocol is repeated with
// another value, and if its id is a number that go-sdk would alter; a Mcp-Name
// in base64 is decoded; params that do not decode are -32602; Last-Event-ID on a
// modern POST is ignored; and a DELETE cancels the calls of its session instead
// of waiting for them.
//
// A legacy session is held until its client sent nothing for 30 minutes. When there are
// 10,000, or 1,000 of one UserID, the one that is idle longest makes room for the next; its
// client gets 404 and initializes again, as the specification says. If all are busy the next
// one is refused (503). Sessions without a token share three quarters of the places. One
// session has at most 100 calls in flight (429); answers to questions and cancellations
// always pass. An initialize message has at most 64 KiB, and all of them together 20 MB.
//
// A client has a minute to send a body and 30 seconds to read a message, or its connection is
// dropped. A stream may stay open for any time, so leave [http.Server.WriteTimeout] at zero:
// after 15 seconds of silence it carries a comment, which keeps proxies from closing it.
//
// A client that hangs up has its running calls cancelled, in both eras. The
// older revisions leave it open whether a lost connection means that; there is
// no resuming here, so nobody could receive the result, and a question without
// anyone to answer it would hold its call for as long as the bridge waits.
// [context.Cause] of a call's context is then [ErrHungUp], and [ErrShuttingDown] if
// [Handler.Shutdown] cut the call off. A call counts as in flight until its handler
// has returned, whether it heeds that or not. A request whose client is gone before it is
// served runs nothing.
type Handler struct {
	stateless http.Handler
	stateful  *mcp.StreamableHTTPHandler // nil if everything is stateless
	lean      *lean.Front                // nil with StockFront
	guard     *origin.Guard
	refused   func(reason string) // nil if nobody wants to know

	limits
	bodies *bodies

	door     inflight.Door     // of the requests that Shutdown waits for
	load     *inflight.Counter // calls
	sessions sessions

	listening context.Context // over when subscriptions must end
	unlisten  context.CancelFunc
	receiving context.Context // over when bodies are no longer waited for
	cut       context.CancelFunc
	serving   context.Context // over when running requests must end
	abort     context.CancelFunc
}

// NewHandler makes a handler for the server that getServer names for a request,
// on the terms of [mcp.NewStreamableHTTPHandler]. The error is a [*UsageError]
// about the options: a negative limit, a host with a port, an origin with a path.
func NewHandler(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions) (*Handler, error) {
	return newHandler(getServer, opts, usual)
}

func newHandler(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions, l limits) (*Handler, error) {
	if getServer == nil {
		return nil, usage.New("mcphttp", "getServer is nil")
	}
	o, err := opts.resolve()
	if err != nil {
		return nil, err
	}
	guard, err := origin.NewGuard(o.AllowedHosts, o.AllowedOrigins)
	if err != nil {
		return nil, usage.New("mcphttp", "HandlerOptions.%w", err)
	}
	h := &Handler{guard: guard, refused: o.Refused, limits: l, bodies: newBodies(o.MaxMessageBytes, l.body)}
	h.sessions = sessions{limits: l, end: h.endSession, open: map[string]*session{}, owners: map[string]*owner{}}
	h.load = inflight.New(o.MaxCalls, o.MaxCallsPerPrincipal)
	h.listening, h.unlisten = context.WithCancel(context.Background())
	h.receiving, h.cut = context.WithCancel(context.Background())
	h.serving, h.abort = context.WithCancel(context.Background())
	bound := life.bind(getServer)
	stateless := func(getServer func(*http.Request) *mcp.Server) http.Handler {
		return endsCalls(mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{
			Stateless:                    true,
			Logger:                       o.Logger,
			DisableLocalhostProtection:   true, // the guard has the stricter rule
			MaxRequestBodyBytes:          o.MaxMessageBytes,
			PropagateRequestCancellation: true,
		}))
	}
	h.stateless = stateless(bound)
	if !o.StockFront {
		h.lean = lean.New(bound, stateless)
	}
	if !o.Stateless {
		h.stateful = mcp.NewStreamableHTTPHandler(exceptSessionRequests(bound), &mcp.StreamableHTTPOptions{
			Logger:                     o.Logger,
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        o.MaxMessageBytes,
		})
	}
	return h, nil
}

// UsageError is a mistake in the options of this package. [NewHandler] and [NewRouter]
// return it.
type UsageError = usage.Error

// HandlerOptions configure a [Handler]. Nil, and the zero value, mean the
// defaults. Negative limits are an error.
type HandlerOptions struct {
	// Stateless serves legacy clients without sessions too. Such a server holds
	// no stream, so these clients cannot be asked anything; they still list
	// everything and use every tool that asks nothing.
	Stateless bool
	// AllowedHosts are the lower-case names, without port, that a request's Host
	// header may carry. A loopback name is fine besides, on a connection to a
	// loopback address. If AllowedHosts is empty any name is fine on a
	// connection to another address, and only a loopback name on a connection to a
	// loopback address: a page whose name was rebound to 127.0.0.1 is refused. A
	// server behind a proxy on the same machine lists its public names here.
	AllowedHosts []string
	// AllowedOrigins are the browser origins, as scheme://host or
	// scheme://host:port, that may call besides the server's own. A request that
	// does not come from a web page has no origin and is let through. Pages of these
	// origins get the headers of the CORS protocol; see [Handler.WithCORS].
	AllowedOrigins []string
	// MaxMessageBytes bounds a request's body; 4 MiB if zero. The bodies that are on their way
	// may have 64 times that together, and 16 times for one client: one more is refused with
	// 503, or 429.
	MaxMessageBytes int64
	// MaxCalls bounds the calls that are in flight, subscriptions included; 10,000 if
	// zero. One more is refused with 503. A call is in flight until its handler has
	// returned, whether or not anybody waits for it. The callers without a token share
	// three quarters of the places, and no principal has more: however many connections
	// they open, the others find room.
	MaxCalls int
	// MaxCallsPerPrincipal bounds those of one UserID of an auth.TokenInfo, or of one
	// connection if a request has no token; 1,000 if zero. One more is refused
	// with 429.
	MaxCallsPerPrincipal int
	// StockFront hands every request to go-sdk's HTTP layer. Otherwise modern
	// tools/call, prompts/get and resources/read requests go past it to the server's
	// middleware, for about a third of the CPU time. The only other differences are
	// that an answer may have a Content-Length, and that the session of a call whose
	// client is gone stays open until its handler returns.
	StockFront bool
	// Refused is called with the reason when a request is refused before its call begins:
	// "host", "origin", "size", "slow", "malformed", "ambiguous", "version", "overload", "share"
	// (too much of the load is this client's) or "shutdown". It must be quick. The Refused of
	// an otelmrtr.Observer counts them.
	Refused func(reason string)
	// Logger is handed to go-sdk; nothing is logged if it is nil.
	Logger *slog.Logger
}

func (o *HandlerOptions) resolve() (HandlerOptions, error) {
	var r HandlerOptions
	if o != nil {
		r = *o
	}
	u := usage.Of("mcphttp", "HandlerOptions")
	usage.Default(u, "MaxMessageBytes", &r.MaxMessageBytes, mcp.DefaultMaxRequestBodyBytes)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 10_000)
	usage.Default(u, "MaxCallsPerPrincipal", &r.MaxCallsPerPrincipal, 1_000)
	return r, u.Err()
}

// limits are the bounds that no option sets.
type limits struct {
	initialize    int64         // bytes of an initialize message, which go-sdk keeps as long as its session
	sessions      int           // legacy ones; the one that is idle longest makes room for the next
	sessionsOfOne int           // of one UserID of an auth.TokenInfo
	callsOfOne    int           // in flight in one session
	silence       time.Duration // before a session without a call in flight ends
	body          time.Duration // for a client to send a body
	write         time.Duration // for a client to read one message
	heartbeat     time.Duration // of silence, before a stream carries a comment
}

var usual = limits{
	initialize: 64 << 10, sessions: 10_000, sessionsOfOne: 1_000, callsOfOne: 100,
	silence: 30 * time.Minute, body: unread.Within, write: 30 * time.Second, heartbeat: 15 * time.Second,
}
