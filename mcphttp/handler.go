package mcphttp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
)

// HandlerOptions configure a [Handler]. The zero value, and nil, mean the
// defaults.
type HandlerOptions struct {
	// Stateless serves legacy clients without sessions too. Such a server holds
	// no stream, so these clients cannot be asked anything; they still list
	// everything and use every tool that asks nothing.
	Stateless bool
	// AllowedHosts are the names, without port, that a request's Host header may carry.
	// A loopback name is fine besides, on a connection to a loopback address.
	// Where AllowedHosts is empty any name is fine on a connection to another address,
	// and none but a loopback one on a connection to a loopback address: a page
	// whose name was rebound to 127.0.0.1 gets nowhere.
	AllowedHosts []string
	// AllowedOrigins are the browser origins ("https://app.example") that may call in
	// besides the server's own.
	AllowedOrigins []string
	// MaxBody bounds a request's body in bytes; 4 MiB if zero.
	MaxBody int64
	// SessionTimeout ends a legacy session in which the client sent nothing for
	// that long; 30 minutes if zero. A session with a call in flight is not idle.
	SessionTimeout time.Duration
	// Logger is handed to go-sdk; nothing is logged where it is nil.
	Logger *slog.Logger
}

// Handler serves clients of both eras on one URL. It stands in front of two of
// go-sdk's streamable handlers, because one of them serves input-required
// results only when it is stateless, and can ask a legacy client only when it is
// not.
//
// A request is modern when its Mcp-Protocol-Version header says 2026-07-28 or
// later, or when its body holds a call whose _meta says so; it goes to the
// stateless handler. All else goes to the stateful one: initialize, whatever
// belongs to a session, GET and DELETE. Where header and body disagree the
// modern one of the two wins, because that revision has a refusal for it: the
// client gets -32020 and learns which of the two to mend.
//
// Handler refuses, before anything of a request reaches go-sdk: a foreign Host
// or a cross-origin request from a browser (403), a body over the limit (413),
// new work after [Handler.Shutdown] (503). Of a legacy client it refuses besides,
// unless it is stateless, a body that is no JSON-RPC (400) and a batch of more
// than 100 messages (413).
//
// It does not count sessions. Whoever may send initialize may open any number,
// each is held until its client sent nothing for [HandlerOptions.SessionTimeout],
// and each takes about 10 KiB and two goroutines. On an open network put a limit
// on requests in front of it.
//
// A client that hangs up has its running calls cancelled, in both eras. The
// older revisions leave it open whether a lost connection means that; there is
// no resuming here, so nobody could receive the result, and a question without
// anyone to answer it would hold its call for as long as the bridge waits.
type Handler struct {
	stateless *mcp.StreamableHTTPHandler
	stateful  *mcp.StreamableHTTPHandler // nil where everything is stateless
	guard     guard
	maxBody   int64
	work      work
	sessions  sessions
	listening context.Context // over when subscriptions must end
	unlisten  context.CancelFunc
	serving   context.Context // over when running requests must end
	abort     context.CancelFunc
}

// NewHandler makes a handler for the server that getServer names for a request,
// on the terms of [mcp.NewStreamableHTTPHandler]. It fails where the options make
// no sense: a negative limit, a host with a port, an origin that is none.
func NewHandler(getServer func(*http.Request) *mcp.Server, opts *HandlerOptions) (*Handler, error) {
	var o HandlerOptions
	if opts != nil {
		o = *opts
	}
	if o.MaxBody < 0 || o.SessionTimeout < 0 {
		return nil, fmt.Errorf("mcphttp: negative limit in HandlerOptions: MaxBody %d, SessionTimeout %v", o.MaxBody, o.SessionTimeout)
	}
	if o.MaxBody == 0 {
		o.MaxBody = mcp.DefaultMaxRequestBodyBytes
	}
	if o.SessionTimeout == 0 {
		o.SessionTimeout = 30 * time.Minute
	}
	g, err := newGuard(o.AllowedHosts, o.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	h := &Handler{guard: g, maxBody: o.MaxBody}
	h.listening, h.unlisten = context.WithCancel(context.Background())
	h.serving, h.abort = context.WithCancel(context.Background())
	h.stateless = mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		Logger:                       o.Logger,
		DisableLocalhostProtection:   true, // guard has the stricter rule
		MaxRequestBodyBytes:          o.MaxBody,
		PropagateRequestCancellation: true,
	})
	if !o.Stateless {
		h.stateful = mcp.NewStreamableHTTPHandler(noteServer(getServer), &mcp.StreamableHTTPOptions{
			Logger:                     o.Logger,
			SessionTimeout:             o.SessionTimeout,
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        o.MaxBody,
		})
	}
	return h, nil
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h.guard.check(r); err != nil {
		http.Error(w, "Forbidden: "+err.Error(), http.StatusForbidden)
		return
	}
	if h.stateful == nil || r.Header.Get(versionHeader) >= era.FirstModern {
		h.serveModern(w, r)
		return
	}
	if r.Method != http.MethodPost {
		h.serveStream(w, r)
		return
	}
	what, ok := readBody(w, r, h.maxBody)
	if !ok {
		return
	}
	if what.modern {
		h.serveModern(w, r)
	} else {
		h.serveLegacy(w, r, what.calls)
	}
}

// serveModern hands the request to the stateless handler. A subscription lives
// as long as its client wants: it is not work that Shutdown would wait for. Its
// method is in a header, which go-sdk compares with the body, though on a modern
// request alone.
func (h *Handler) serveModern(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) >= era.FirstModern && r.Header.Get(methodHeader) == "subscriptions/listen" {
		if h.work.closing() {
			refuse(w)
			return
		}
		r, done := until(r, h.listening)
		defer done()
		h.stateless.ServeHTTP(w, r)
		return
	}
	if !h.work.enter() {
		refuse(w)
		return
	}
	defer h.work.leave()
	r, done := until(r, h.serving)
	defer done()
	h.stateless.ServeHTTP(w, r)
}

// serveStream handles what is not a POST: the standing stream of a session and
// its end, which is never refused.
func (h *Handler) serveStream(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodDelete && h.work.closing() {
		refuse(w)
		return
	}
	h.stateful.ServeHTTP(w, r)
}

// serveLegacy hands a POST to the stateful handler. What belongs to a session and
// holds no call (the answer to a question, a cancellation) passes while the
// server drains, for the running calls wait for it.
func (h *Handler) serveLegacy(w http.ResponseWriter, r *http.Request, calls []jsonrpc.ID) {
	session := r.Header.Get(sessionHeader)
	if session != "" && len(calls) == 0 {
		h.stateful.ServeHTTP(w, r)
		return
	}
	if !h.work.enter() {
		refuse(w)
		return
	}
	defer h.work.leave()
	r, done := until(r, h.serving)
	defer done()
	if session == "" {
		var b *birth
		r, b = expectSession(r)
		h.stateful.ServeHTTP(w, r)
		session = w.Header().Get(sessionHeader)
		h.sessions.add(b.session(session))
	} else {
		h.stateful.ServeHTTP(w, r)
	}
	if r.Context().Err() != nil && session != "" && len(calls) > 0 {
		h.cancelCalls(r, session, calls)
	}
}

// until ends a request's context when over is, if not before.
func until(r *http.Request, over context.Context) (*http.Request, func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(over, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }
}

func refuse(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "shutting down", http.StatusServiceUnavailable)
}
