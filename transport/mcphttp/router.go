package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
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
// If an instance cannot be connected to, the request goes to another one. So does a
// request that an instance refuses with 503 (a POST also with Retry-After, as [Handler]
// does), unless it belongs to a legacy session. The
// other one opens the state, if it has the keys: a call whose handler is gone with its
// instance goes on if its style can, and ends with an error that says so otherwise.
//
// If an instance is lost after it may have begun to serve a request, the client gets the
// JSON-RPC error -31001 under the id of its request. With [RouterOptions].SharedStore the
// request goes to another instance instead, if that cannot run anything twice. A response
// that has begun is cut off: nothing can take its place.
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
	hop      string // by which it knows a request that it has sent itself
}

// RouterOptions configure a [Router]. Nil, and the zero value, mean the defaults.
// Negative limits are an error.
type RouterOptions struct {
	// Ready reports whether an instance should get requests that belong to none, as its
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
	// SharedStore says that the instances remember their rounds in one store: the Store of
	// mrtr.Options, without Unstored at any handler that has an effect. A request whose
	// instance is lost is then sent to another one, with the same headers and bytes, if it
	// carries a requestState: that one takes the round over, or answers with its outcome.
	// So are requests that only read, such as tools/list. The first round of a call is not:
	// no store remembers it. A request that has lost 3 instances is sent to no fourth.
	SharedStore bool
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
	if len(instances) == 0 {
		return nil, usage.New("mcphttp", "a router needs an instance")
	}
	u := usage.Of("mcphttp", "RouterOptions")
	usage.Default(u, "MaxMessageBytes", &o.MaxMessageBytes, mcp.DefaultMaxRequestBodyBytes)
	usage.Default(u, "BodyTimeout", &o.BodyTimeout, time.Minute)
	if err := u.Err(); err != nil {
		return nil, err
	}
	for name, to := range instances {
		if err := statecodec.CheckInstance(name); err != nil {
			return nil, usage.New("mcphttp", "%w", err)
		}
		if to == nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || strings.Trim(to.Path, "/") != "" || to.RawQuery != "" || to.User != nil {
			return nil, usage.New("mcphttp", "the address of instance %s is not http://host or https://host: %v", name, to)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Router{
		names: slices.Sorted(maps.Keys(instances)), urls: maps.Clone(instances), ready: o.Ready,
		maxBytes: o.MaxMessageBytes, timeout: o.BodyTimeout, hop: rand.Text(),
	}
	h.proxy = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.Host = p.In.Host
			p.SetXForwarded()
			p.Out.Header.Add(hopHeader, h.hop)
		},
		Transport:     newRouterTransport(h.urls, &o),
		FlushInterval: -1, // a stream carries its messages when they come
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else nobody is there to hear of it
				o.Logger.Warn("no instance answered", "error", err)
			}
			refuseLost(w, r, err)
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
		panic(usage.New("mcphttp", "%w", err))
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
	if slices.Contains(r.Header.Values(hopHeader), h.hop) {
		refuseLoop(w, to.body)
		return
	}
	to.order = h.order(name)
	h.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), routedKey{}, to)))
}

// stateOf is the requestState of a request, "" if it has none. It judges nothing: the
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

// routed is where a request may go.
type routed struct {
	order   []string // of the instances, the first to be tried first
	session bool     // it belongs to a legacy session
	body    []byte   // read, because it may have to be sent again; nil without one
}

type routedKey struct{}

// routerTransport sends a request to the first instance that takes it, and to another one
// if that is lost and the request does no harm a second time.
type routerTransport struct {
	urls   map[string]*url.URL
	next   http.RoundTripper
	shared bool // the instances share a store
	log    *slog.Logger
}

func newRouterTransport(urls map[string]*url.URL, o *RouterOptions) *routerTransport {
	next := o.Transport
	if next == nil {
		next = &http.Transport{ // programs replace http.DefaultTransport
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   100,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ExpectContinueTimeout: time.Second,
		}
	}
	return &routerTransport{urls, next, o.SharedStore, o.Logger}
}

// mostLost is how many instances one request may lose. It is as many attempts as the
// engine gives a round: a request that kills what serves it must not kill all.
const mostLost = 3

// RoundTrip implements [http.RoundTripper]. Its errors are [*lostError].
func (t *routerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Context().Value(routedKey{}).(routed)
	lost := &lostError{}
	for i, instance := range to.order {
		last := i == len(to.order)-1
		res, err := t.next.RoundTrip(t.request(r, instance, to.body))
		switch {
		case err != nil:
			lost.error = err
			t.log.Warn("instance lost", "instance", instance, "error", err)
			if r.Context().Err() != nil || !unsent(err) && !t.mayGoOn(r, to.body, lost) {
				return nil, lost
			}
		case !to.session && refused(r, res) && (!last || lost.instances > 0):
			_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that its connection can be used again
			res.Body.Close()
			if last {
				return nil, lost
			}
		default:
			return res, nil
		}
	}
	return nil, lost
}

// mayGoOn counts an instance that was lost at work, and reports whether another one may
// get the request.
func (t *routerTransport) mayGoOn(r *http.Request, body []byte, lost *lostError) bool {
	lost.instances++
	if !t.shared || r.Method != http.MethodPost || r.Header.Get(sessionHeader) != "" {
		return false
	}
	lost.remembered = readPosted(body).repeatable
	return lost.remembered && lost.instances < mostLost
}

// refused reports whether an instance refused a request before it began to serve it. A
// POST may be a call: [Handler] says so with Retry-After, while a proxy in between answers
// 503 also if it lost the connection to an instance that runs the call.
func refused(r *http.Request, res *http.Response) bool {
	return res.StatusCode == http.StatusServiceUnavailable && (r.Method != http.MethodPost || res.Header.Get("Retry-After") != "")
}

// replayHeaders have net/http send a POST again after its connection broke, if their
// names are spelled so.
var replayHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

// request is the request to this instance.
func (t *routerTransport) request(r *http.Request, instance string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = t.urls[instance].Scheme, t.urls[instance].Host
	for _, name := range replayHeaders {
		if values, ok := out.Header[name]; ok {
			delete(out.Header, name)
			out.Header[strings.ToLower(name)] = values
		}
	}
	if body != nil {
		out.ContentLength = int64(len(body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	return out
}

// unsent reports whether a request failed before any of it was sent: there was no
// connection.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, context.Canceled)
}
