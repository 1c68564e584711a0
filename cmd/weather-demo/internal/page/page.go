// Package page is the browser's side of the demo: a page on which a person
// plays a multi-round call, attacks it, and sees what each style of handler
// makes of it.
//
// The browser is a real MCP client. It speaks WebSocket with two instances of a
// server that share a key, in either era, and knows every message by itself.
// The rest comes from endpoints under /demo/, which exist for
// teaching and nowhere else: the engine's events, the content of a state, which
// lines a handler has, and a switch to kill an instance. Each visitor has a
// bench of their own, so nobody kills or counts for anybody else.
package page

import (
	"log/slog"
	"net/http"
	"sync"
)

// Options configure a [Handler]. Nil, and the zero value, mean the defaults.
type Options struct {
	// Public serves addresses other than loopback too. The teaching endpoints
	// open states and kill instances, of the visitor's own bench alone; each
	// bench takes memory and some goroutines.
	Public bool
	// Logger is told of the page's own faults; nil is silent.
	Logger *slog.Logger
}

// Handler serves the page and its endpoints. It serves at the root of
// whatever it is mounted at: everything it names is relative.
type Handler struct {
	mux      *http.ServeMux
	opts     Options
	files    []file
	benches  *benches
	styles   []style
	quadrant sync.Mutex
	corners  []byte // the quadrant, once it was played
}

// New makes a handler. It fails where the styles' sources cannot be read, which
// is a fault of this program.
func New(opts *Options) (*Handler, error) {
	h := &Handler{mux: http.NewServeMux()}
	if opts != nil {
		h.opts = *opts
	}
	if h.opts.Logger == nil {
		h.opts.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if h.files, err = embedded(); err != nil {
		return nil, err
	}
	if h.styles, err = readStyles(); err != nil {
		return nil, err
	}
	h.benches = newBenches()
	for _, f := range h.files {
		h.mux.Handle("GET "+f.route, f)
	}
	demo := func(pattern string, serve http.HandlerFunc) { h.mux.Handle(pattern, h.guarded(serve)) }
	demo("GET /demo/source", h.serveSource)
	demo("POST /demo/way", h.serveWay)
	demo("GET /demo/compare", h.serveCompare)
	demo("GET /demo/quadrant", h.serveQuadrant)
	demo("POST /demo", h.openBench)
	demo("GET /demo/{bench}/events", h.onBench(serveEvents))
	demo("POST /demo/{bench}/open", h.onBench(serveOpen))
	demo("GET /demo/{bench}/{instance}/ws", h.onInstance(serveSocket))
	demo("POST /demo/{bench}/{instance}/kill", h.onInstance(serveKill))
	demo("POST /demo/{bench}/{instance}/start", h.onInstance(serveStart))
	return h, nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refused := h.checkAddress(r); refused != "" {
		http.Error(w, refused, http.StatusForbidden)
		return
	}
	secure(w.Header())
	h.mux.ServeHTTP(w, r)
}

// Close drops every bench and waits until their runtimes are closed.
func (h *Handler) Close() { h.benches.close() }
