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
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Options configure a [Handler]. Nil, and the zero value, mean the defaults.
type Options struct {
	// Public serves addresses other than loopback too. The teaching endpoints
	// open states and kill instances, of the visitor's own bench alone; each
	// bench takes memory and some goroutines.
	Public bool
	// Flag is the name by which a command offers Public, for the text of a refusal.
	Flag string
	// Logger is told of the page's own faults; nil is silent.
	Logger *slog.Logger
}

// Handler serves the page and its endpoints. It serves at the root of
// whatever it is mounted at: everything it names is relative.
type Handler struct {
	mux      *http.ServeMux
	opts     Options
	files    []file
	modules  []string // Link headers' values
	benches  *benches
	styles   []style
	quadrant sync.Mutex
	corners  []byte // the quadrant, once it was played
}

// New makes a handler. It fails if the styles' sources cannot be read, which is a
// fault of this program.
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
	source, err := json.Marshal(h.styles)
	if err != nil {
		return nil, err
	}
	h.benches = &benches{byID: map[string]*bench{}}
	for _, f := range h.files {
		h.mux.Handle("GET "+f.route, f)
		if path.Ext(f.name) == ".js" {
			h.modules = append(h.modules, "<"+f.route[1:]+">; rel=modulepreload")
		}
	}
	demo := func(pattern string, serve http.HandlerFunc) { h.mux.Handle(pattern, h.guarded(serve)) }
	demo("GET /demo/source", newFile("/demo/source", "source.json", source).ServeHTTP)
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
	if refused := h.checkAddress(r); refused != "" {
		http.Error(w, refused, http.StatusForbidden)
		return
	}
	secure(w.Header())
	if r.URL.Path == "/" {
		// A browser asks for all modules at once, instead of finding one in another.
		w.Header().Set("Link", strings.Join(h.modules, ", "))
	}
	h.mux.ServeHTTP(w, r)
}

// Close drops every bench and waits until their runtimes are closed.
func (h *Handler) Close() { h.benches.close() }

//go:embed web
var web embed.FS

// file is one embedded file, with its route.
type file struct {
	route   string
	name    string
	content []byte
	packed  []byte // content, compressed
	etag    string
}

func newFile(route, name string, content []byte) file {
	var packed bytes.Buffer
	to, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is a known one
	_, _ = to.Write(content)                                    // memory takes it
	_ = to.Close()
	sum := sha256.Sum256(content)
	return file{route: route, name: name, content: content, packed: packed.Bytes(), etag: hex.EncodeToString(sum[:8])}
}

// embedded lists the page's files: the HTML at the root, the rest under /page/.
func embedded() ([]file, error) {
	var files []file
	err := fs.WalkDir(web, "web", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := web.ReadFile(name)
		if err != nil {
			return err
		}
		route := "/page/" + path.Base(name)
		if path.Base(name) == "index.html" {
			route = "/{$}"
		}
		files = append(files, newFile(route, name, lean(path.Base(name), content)))
		return nil
	})
	return files, err
}

// lean leaves out comments that have lines of their own, and indentation: only
// readers of the repository need them. Every line keeps its number, so that an
// error in a browser points into the file here. The client module is there to be
// read, and is served as it is.
func lean(name string, content []byte) []byte {
	if name == "client.js" || path.Ext(name) == ".svg" {
		return content
	}
	lines := strings.Split(string(content), "\n")
	inComment := false
	for i, line := range lines {
		line = strings.TrimLeft(line, "\t ")
		inComment = inComment || strings.HasPrefix(line, "/*")
		if lines[i] = line; inComment || strings.HasPrefix(line, "//") {
			lines[i] = ""
		}
		inComment = inComment && !strings.HasSuffix(line, "*/")
	}
	return []byte(strings.Join(lines, "\n"))
}

func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, etag := f.content, f.etag
	if acceptsGzip(r) {
		content, etag = f.packed, etag+"-gzip"
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("ETag", `"`+etag+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Type", contentTypes[path.Ext(f.name)])
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(content))
}

func acceptsGzip(r *http.Request) bool {
	for _, list := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(list, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return !zeroWeight.MatchString(weight)
			}
		}
	}
	return false
}

var zeroWeight = regexp.MustCompile(`^\s*[qQ]=0(\.0*)?\s*$`)

// contentTypes are stated here because a machine's own table may say otherwise,
// and a module of another type does not load.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".json": "application/json",
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
