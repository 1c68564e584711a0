// Package page is the browser's side of the demo: a page on which a person
// plays a multi-round call, attacks it, and sees how each style of handler
// copes.
//
//	go run ./cmd/weather-demo page                          # prints the address
//	go run ./cmd/weather-demo serve -http 127.0.0.1:8080    # has it at /, beside /mcp and /ws
//
// The browser is a real MCP client. It speaks WebSocket with two instances of a
// server that share a key, in either era, and knows every message by itself.
// web/client.js is that client and nothing else, with tasks, in under 200 lines, to
// read or copy.
//
// The rest comes from endpoints under /demo/, which exist for teaching and nowhere
// else. The page serves this machine alone, and each visitor has a bench of their
// own, so nobody kills or counts for anybody else: two instances with a key that is
// never that of MRTR_KEYS. At most 64 benches are held; the oldest whose visitor has
// left makes room.
//
//	POST /demo                                     a bench
//	GET  /demo/{bench}/{a,b}/ws                    MCP; life=short seals for 2 s, key=other has another key,
//	                                               version=next other handlers, user=NAME is somebody else
//	GET  /demo/{bench}/events?after=N              the engine's events and the charges
//	POST /demo/{bench}/open                        the content of a state
//	POST /demo/{bench}/{a,b}/kill, /start          cuts an instance's sockets, after which it writes nothing;
//	                                               starts it again
//	GET  /demo/source                              the handlers
//	GET  /demo/compare?left=NAME&right=NAME        two of them side by side
//	POST /demo/way                                 the lines of a handler that a run passed, by its events
//	GET  /demo/quadrant                            who can be asked
//
// The tests of lab/browser play the page in Chromium, after ./install there. With npm
// run check they hold its types and its format, and node pictures.mjs URL FOLDER takes
// its pictures.
package page

import (
	"embed"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
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

// maxBody bounds a visitor's POST: a state and its arguments at most.
const maxBody = 64 << 10

// fromThisMachine reports whether a request came in at a loopback address and names
// one: a web page that points its own name at 127.0.0.1 is given away by that name.
func fromThisMachine(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return (!ok || isLoopback(local.String())) && isLoopback(r.Host)
}

func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// guarded refuses requests from pages of another origin, and bodies that are not
// JSON, which such a page could send without being asked first.
func guarded(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if foreign(r) {
			http.Error(w, "Requests from other origins are refused.", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost {
			if mime, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(mime) != "application/json" {
				http.Error(w, "The body must be application/json.", http.StatusUnsupportedMediaType)
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		next(w, r)
	})
}

// SameOrigin refuses requests from pages of another origin, and those of a page whose name
// was rebound to a loopback address. Unlike the page it serves other machines.
func SameOrigin(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if foreign(r) || ok && isLoopback(local.String()) && !isLoopback(r.Host) {
			http.Error(w, "Requests from other origins are refused.", http.StatusForbidden)
			return
		}
		next(w, r)
	})
}

func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	return false
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the visitor may have gone
}
