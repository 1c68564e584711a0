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
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
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
// It asks each instance now and then whether it is ready ([InstanceState]). One that
// retires gets only the requests that belong to it. One that is dead gets none as long as
// another one lives, and if it is silent, the requests that it serves end: no call hangs
// because its instance stands still.
//
// If an instance cannot be connected to, the request goes to another one. So does a
// request that an instance refuses with 503 (a POST also with Retry-After, as [Handler]
// does), unless it belongs to a legacy session. The
// other one opens the state, if it has the keys: a call whose handler is gone with its
// instance goes on if its style can, and ends with an error that says so otherwise.
// An instance that is overloaded has its request sent to one other, and not to all.
//
// If an instance is lost after it may have begun to serve a request, the client gets the
// JSON-RPC error -31001 under the id of its request, also as an event of a stream that has
// begun. With [RouterOptions].SharedStore the request goes to another instance instead, if
// that cannot run anything twice and no response has begun. A response that breaks in the
// middle of an event is cut off, and so is a WebSocket.
//
// Router keeps nothing of a request, so that several can stand side by side. To add or
// remove an instance, put a new Router in its place, and close the old one when its requests
// have ended. It passes the Host header on: an instance on a loopback address lists the
// public names in [HandlerOptions].AllowedHosts. An instance knows a client without a token
// by its connection, and the Router's clients share connections: they count together against
// the limits for one client.
type Router struct {
	instances  map[string]*instance
	names      []string // sorted
	ready      func(instance string) bool
	trusted    []netip.Prefix
	maxBytes   int64
	timeout    time.Duration
	proxy      *httputil.ReverseProxy
	unanswered atomic.Int64
	stop       context.CancelFunc // ends the watch over the instances
	hop        string             // by which it knows a request that it has sent itself
}

// RouterOptions configure a [Router]. Nil, and the zero value, mean the defaults.
// Negative limits are an error.
type RouterOptions struct {
	// Every is how often each instance is asked whether it is ready; 1 second if zero.
	Every time.Duration
	// Within is how long an instance may take to answer that; 5 seconds if zero. Then it is
	// dead, and the requests that it serves end. Every and Within together bound how long a
	// call waits for an instance that stands still.
	Within time.Duration
	// ReadyPath is where the instances answer as [Handler.ServeReady] does; "/ready" if
	// empty. An instance without such a path is alive.
	ReadyPath string
	// Ready, if set, can also say that an instance should get no requests but those that
	// belong to it. It is called for each request, so it must not wait.
	Ready func(instance string) bool
	// TrustedProxies are the addresses from which X-Forwarded-For, X-Forwarded-Host and
	// X-Forwarded-Proto are passed on: those of the load balancers in front of the router.
	// From anywhere else they are the client's word, and dropped.
	TrustedProxies []netip.Prefix
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
	usage.Default(u, "Every", &o.Every, time.Second)
	usage.Default(u, "Within", &o.Within, 5*time.Second)
	if err := u.Err(); err != nil {
		return nil, err
	}
	h := &Router{
		instances: map[string]*instance{}, names: slices.Sorted(maps.Keys(instances)), ready: o.Ready,
		trusted: o.TrustedProxies, maxBytes: o.MaxMessageBytes, timeout: o.BodyTimeout, hop: rand.Text(),
	}
	for name, to := range instances {
		if err := statecodec.CheckInstance(name); err != nil {
			return nil, usage.New("mcphttp", "%w", err)
		}
		if to == nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || strings.Trim(to.Path, "/") != "" || to.RawQuery != "" || to.User != nil {
			return nil, usage.New("mcphttp", "the address of instance %s is not http://host or https://host: %v", name, to)
		}
		h.instances[name] = newInstance(name, to)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	transport := newRouterTransport(&o)
	h.proxy = &httputil.ReverseProxy{
		Rewrite:       h.rewrite,
		Transport:     transport,
		FlushInterval: -1, // a stream carries its messages when they come
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else nobody is there to hear of it
				h.unanswered.Add(1)
				o.Logger.Warn("no instance answered", "error", err)
			}
			refuseLost(w, r, err)
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	var watching context.Context
	watching, h.stop = context.WithCancel(context.Background())
	path := cmp.Or(o.ReadyPath, "/ready")
	for _, i := range h.instances {
		go i.watch(watching, transport.next, path, o.Every, o.Within)
	}
	return h, nil
}

// Close ends the watch over the instances. Requests are served as before, each at an
// instance as it was found last.
func (h *Router) Close() { h.stop() }

// RouterStats are the numbers of one moment, for a gauge or a page of an operator's.
type RouterStats struct {
	Instances map[string]InstanceStats // by name
	// Unanswered are the requests that no instance answered.
	Unanswered int64
}

// Stats counts what the router has done since it was made.
func (h *Router) Stats() RouterStats {
	s := RouterStats{Instances: make(map[string]InstanceStats, len(h.instances)), Unanswered: h.unanswered.Load()}
	for name, i := range h.instances {
		s.Instances[name] = i.stats()
	}
	return s
}

// rewrite says where a request comes from.
func (h *Router) rewrite(p *httputil.ProxyRequest) {
	p.Out.Host = p.In.Host
	sender, err := netip.ParseAddrPort(p.In.RemoteAddr)
	trusted := err == nil && slices.ContainsFunc(h.trusted, func(of netip.Prefix) bool { return of.Contains(sender.Addr().Unmap()) })
	if trusted {
		p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	}
	p.SetXForwarded()
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} {
		if said := p.In.Header.Get(name); trusted && said != "" {
			p.Out.Header.Set(name, said)
		}
	}
	p.Out.Header.Add(hopHeader, h.hop)
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
	to.session = h.instances[name] != nil
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

// order is in which order the instances are tried: the named one, then those that want new
// clients, at random, then those that retire, then the dead.
func (h *Router) order(name string) []*instance {
	turn := make([]*instance, len(h.names))
	// In turn would send all calls of a client to one instance that makes another request
	// before each.
	for i, at := range mathrand.Perm(len(turn)) {
		turn[i] = h.instances[h.names[at]]
	}
	places := make(map[*instance]int, len(turn))
	for _, i := range turn {
		places[i] = h.place(i, name)
	}
	slices.SortStableFunc(turn, func(a, b *instance) int { return cmp.Compare(places[a], places[b]) })
	return turn
}

func (h *Router) place(i *instance, name string) int {
	switch state := i.stats().State; {
	case state == InstanceDead:
		return 3
	case i.name == name:
		return 0
	case state == InstanceAlive && (h.ready == nil || h.ready(i.name)):
		return 1
	}
	return 2
}

// routed is where a request may go.
type routed struct {
	order   []*instance // the first to be tried first
	session bool        // it belongs to a legacy session
	body    []byte      // read, because it may have to be sent again; nil without one
}

type routedKey struct{}
