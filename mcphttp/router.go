package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/statecodec"
)

// Router stands in front of several instances of one server, as a load balancer that
// knows which request belongs to which instance: a retry goes to the instance that its
// requestState names ([statecodec.Options].Instance), where a held handler may wait for
// it, and a request of a legacy session to the one that its Mcp-Session-Id names
// ([SessionIDs]). All others go to any instance.
//
// A name only chooses among the instances that the operator gave, because it comes from the
// client: a forged or unknown one leads to some instance, which opens the state and refuses
// it, or does not know the session (404).
//
// Where an instance cannot be connected to, the request goes to another one. So does a
// request that an instance refuses with 503 (a POST also with Retry-After, as [Handler]
// does), unless it belongs to a legacy session. The
// other one opens the state, if it has the keys: a call whose handler is gone with its
// instance goes on if its style can, and ends with an error that says so otherwise. A
// request that an instance may have begun to serve is sent to no other.
//
// Router keeps nothing between two requests, so that several can stand side by side. It
// passes the Host header on: an instance on a loopback address lists the public names in
// [HandlerOptions].AllowedHosts. An instance knows a client without a token by its
// connection, and the Router's clients share connections: they count together against the
// limits for one client.
type Router struct {
	names    []string // sorted
	urls     map[string]*url.URL
	ready    func(instance string) bool
	maxBytes int64
	timeout  time.Duration
	proxy    *httputil.ReverseProxy
}

// RouterOptions configure a [Router]. Nil, and the zero value, mean the defaults.
// Negative limits are an error.
type RouterOptions struct {
	// Ready tells whether an instance should get requests that belong to none, as its
	// [Handler.ServeReady] does. Requests that belong to it are sent to it in any case.
	// Nil means that all should. It is called for each request, so it must not wait: ask
	// the instances now and then, and keep their answers.
	Ready func(instance string) bool
	// Transport carries the requests. If nil, it is one like [http.DefaultTransport]
	// that takes 5 seconds at most to connect.
	Transport http.RoundTripper
	// MaxMessageBytes bounds a request's body; 4 MiB if zero. Set it at least as high as
	// that of the instances: a larger request is refused here and reaches none of them.
	MaxMessageBytes int64
	// BodyTimeout bounds the time that a client may take to send a body; 1 minute if
	// zero.
	BodyTimeout time.Duration
	// Logger hears of instances that cannot be reached. Nil is silent.
	Logger *slog.Logger
}

// NewRouter makes a router to these instances, by their names. An address is a scheme,
// http or https, and a host. The error is a [*UsageError].
func NewRouter(instances map[string]*url.URL, opts *RouterOptions) (*Router, error) {
	var o RouterOptions
	if opts != nil {
		o = *opts
	}
	switch {
	case len(instances) == 0:
		return nil, usage("a router needs an instance")
	case o.MaxMessageBytes < 0:
		return nil, usage("RouterOptions.MaxMessageBytes is negative: %d", o.MaxMessageBytes)
	case o.BodyTimeout < 0:
		return nil, usage("RouterOptions.BodyTimeout is negative: %v", o.BodyTimeout)
	}
	for name, to := range instances {
		if err := statecodec.CheckInstance(name); err != nil {
			return nil, usage("%w", err)
		}
		if to == nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || strings.Trim(to.Path, "/") != "" || to.RawQuery != "" || to.User != nil {
			return nil, usage("the address of instance %s is not http://host or https://host: %v", name, to)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Router{
		names: slices.Sorted(maps.Keys(instances)), urls: maps.Clone(instances), ready: o.Ready,
		maxBytes: cmp.Or(o.MaxMessageBytes, mcp.DefaultMaxRequestBodyBytes), timeout: cmp.Or(o.BodyTimeout, time.Minute),
	}
	h.proxy = &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.Out.Host = p.In.Host; p.SetXForwarded() },
		Transport:     newRouterTransport(h.urls, o.Transport, o.Logger),
		FlushInterval: -1, // a stream carries its messages when they come
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else nobody is there to hear of it
				o.Logger.Warn("no instance answered", "error", err)
			}
			http.Error(w, "no instance answered", http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return h, nil
}

// SessionIDs makes the ids of an instance's legacy sessions, for GetSessionID of
// [mcp.ServerOptions]: the name of the instance, a dot, and a random text. A [Router]
// routes by them; so can any load balancer that looks at the start of a header. It panics
// with a [*UsageError] if no instance can have the name.
func SessionIDs(instance string) func() string {
	if err := statecodec.CheckInstance(instance); err != nil {
		panic(usage("%w", err))
	}
	return func() string { return instance + "." + rand.Text() }
}

// ServeHTTP implements [http.Handler].
func (h *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var to routed
	name, _, _ := strings.Cut(r.Header.Get(sessionHeader), ".")
	to.session = h.urls[name] != nil
	if r.Method == http.MethodPost || r.ContentLength != 0 {
		var ok bool
		if to.body, ok = readBody(w, r, h.maxBytes, h.timeout, context.Background()); !ok {
			return
		}
	}
	if !to.session {
		name, _ = statecodec.Instance(stateOf(to.body))
	}
	to.order = h.order(name)
	h.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routedKey{}, to)))
}

// stateOf is the requestState of a request, "" where it has none. It judges nothing: the
// instance does.
func stateOf(body []byte) string {
	if !bytes.Contains(body, []byte("requestState")) {
		return ""
	}
	var request struct {
		Params struct {
			State string `json:"requestState"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &request) // a body that does not decode has no state
	return request.Params.State
}

// order is in which order the instances are tried: the named one, then those that are
// ready, at random, then the others.
func (h *Router) order(name string) []string {
	turn := slices.Clone(h.names)
	// In turn would send all calls of a client to one instance that makes another request
	// before each.
	mathrand.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
	place := func(instance string) int {
		switch {
		case instance == name:
			return 0
		case h.ready == nil || h.ready(instance):
			return 1
		}
		return 2
	}
	places := make(map[string]int, len(turn))
	for _, instance := range turn {
		places[instance] = place(instance)
	}
	slices.SortStableFunc(turn, func(a, b string) int { return cmp.Compare(places[a], places[b]) })
	return turn
}
