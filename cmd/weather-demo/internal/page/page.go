// Package page is the browser's side of the demo: a page on which a person
// plays a multi-round call, attacks it, and sees how each style of handler
// copes.
//
// The browser is a real MCP client. It speaks WebSocket with two instances of a
// server that share a key, in either era, and knows every message by itself.
// The rest comes from endpoints under /demo/, which exist for
// teaching and nowhere else: the engine's events, the content of a state, which
// lines a handler has, and a switch to kill an instance. Each visitor has a
// bench of their own, so nobody kills or counts for anybody else.
package page

import (
	"embed"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"sync"
)

// Handler serves the page and its endpoints, to this machine alone. It serves at
// the root of whatever it is mounted at: everything it names is relative.
type Handler struct {
	mux      *http.ServeMux
	logger   *slog.Logger
	benches  *benches
	styles   []style
	quadrant func() ([]answered, error) // plays it once
}

// New makes a handler, which logs its own faults. It fails if the styles' sources
// cannot be read, which is a fault of this program.
func New(logger *slog.Logger) (*Handler, error) {
	h := &Handler{mux: http.NewServeMux(), logger: logger, benches: &benches{}, quadrant: sync.OnceValues(playQuadrant)}
	var err error
	if h.styles, err = readStyles(); err != nil {
		return nil, err
	}
	files, err := fs.Sub(web, "web")
	if err != nil {
		return nil, err
	}
	h.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "index.html") })
	h.mux.Handle("GET /page/", http.StripPrefix("/page/", http.FileServerFS(files)))
	demo := func(pattern string, serve http.HandlerFunc) { h.mux.Handle(pattern, guarded(serve)) }
	demo("GET /demo/source", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, h.styles) })
	demo("POST /demo/way", h.serveWay)
	demo("GET /demo/compare", h.serveCompare)
	demo("GET /demo/quadrant", h.serveQuadrant)
	demo("POST /demo", h.openBench)
	demo("GET /demo/{bench}/events", h.onBench(serveEvents))
	demo("POST /demo/{bench}/open", h.onBench(serveOpen))
	demo("GET /demo/{bench}/{instance}/ws", h.onInstance(serveSocket))
	demo("POST /demo/{bench}/{instance}/kill", h.onInstance(switching((*instance).kill)))
	demo("POST /demo/{bench}/{instance}/start", h.onInstance(switching((*instance).start)))
	return h, nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !fromThisMachine(r) {
		http.Error(w, "The page is served to this machine only.", http.StatusForbidden)
		return
	}
	secure(w.Header())
	w.Header().Set("Cache-Control", "no-cache")
	if kind, known := contentTypes[path.Ext(r.URL.Path)]; known {
		w.Header().Set("Content-Type", kind)
	}
	h.mux.ServeHTTP(w, r)
}

// Close drops every bench and waits until their runtimes are closed.
func (h *Handler) Close() { h.benches.close() }

//go:embed web
var web embed.FS

// contentTypes are stated here because a machine's own table may say otherwise,
// and a module of another type does not load.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// policy lets the page load its own files and talk to its own server. There is
// no inline script, no inline style, no frame, no form that leaves.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func secure(header http.Header) {
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
}
