package mcphttp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/unread"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/internal/inflight"
	"github.com/mrtr-go/sdk/transport/internal/message"
)

// Router stands in front of several instances of one server and sends each request to the
// instance it belongs to: a retry to the one that its requestState names
// ([statecodec.Options].Instance), where a held handler may wait for it, and a request of a
// legacy session to the one that its Mcp-Session-Id names ([SessionIDs]). Everything else
// goes to any instance that wants new clients. A forged or unknown name leads to one of the
// instances, which refuses the state, or does not know the session (404).
//
// A request is sent once. If its instance cannot be reached or shuts down, each call gets the
// JSON-RPC error -31001 under its id: nothing was run. If the instance is lost before it
// responds, that is 1001: nobody knows how far it came. A client that repeats the request
// reaches an instance that is there. That one continues the call if it has the keys and the
// style can, and with a store it runs no round twice. A response that has begun is cut off.
//
// Router asks each instance now and then whether it is ready. [InstanceState] says which
// requests an instance gets. It keeps nothing of a request, so several routers can stand side
// by side. To add or remove an instance, put a new Router in its place, and close the old one
// when its requests have ended. It passes the Host header on: an instance on a loopback
// address lists the public names in [HandlerOptions].AllowedHosts. Its clients share
// connections, so those without a token count together against the limits for one client.
type Router struct {
	instances map[string]*instance
	ready     func(instance string) bool
	trusted   []netip.Prefix
	bodies    *bodies
	proxy     *httputil.ReverseProxy
	stop      context.CancelFunc // ends the watch over the instances
}

// RouterOptions configure a [Router]. Nil, and the zero value, mean the defaults.
// Negative limits are an error.
type RouterOptions struct {
	// Every is how often each instance is asked on /ready; 1 second if zero. It answers as
	// [Handler.ServeReady] does, and is alive if it has no such path.
	Every time.Duration
	// Within is how long it may take to answer; 5 seconds if zero. Then it is dead, and the
	// requests that it serves end: no call waits longer than Every and Within together.
	Within time.Duration
	// Ready, if set, can also say that an instance gets no requests but those that belong to
	// it. It is called for each request, so it must not wait.
	Ready func(instance string) bool
	// TrustedProxies are the addresses of the load balancers in front of the router.
	// X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto from elsewhere are dropped.
	TrustedProxies []netip.Prefix
	// Logger hears of requests that no instance answered. Nil is silent.
	Logger *slog.Logger
}

// NewRouter makes a router to these instances, by their names. An address is a scheme,
// http or https, and a host. The error is a [*UsageError].
func NewRouter(instances map[string]*url.URL, opts *RouterOptions) (*Router, error) {
	return newRouter(instances, opts, &http.Transport{ // programs replace http.DefaultTransport
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	})
}

func newRouter(instances map[string]*url.URL, opts *RouterOptions, transport http.RoundTripper) (*Router, error) {
	var o RouterOptions
	if opts != nil {
		o = *opts
	}
	u := usage.Of("mcphttp", "RouterOptions")
	usage.Default(u, "Every", &o.Every, time.Second)
	usage.Default(u, "Within", &o.Within, 5*time.Second)
	switch err := u.Err(); {
	case err != nil:
		return nil, err
	case len(instances) == 0:
		return nil, usage.New("mcphttp", "a router needs an instance")
	}
	h := &Router{instances: map[string]*instance{}, ready: o.Ready, trusted: o.TrustedProxies, bodies: newBodies(mcp.DefaultMaxRequestBodyBytes, unread.Within)}
	for name, to := range instances {
		if err := statecodec.CheckInstance(name); err != nil {
			return nil, usage.New("mcphttp", "%w", err)
		}
		if to == nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || strings.Trim(to.Path, "/") != "" || to.RawQuery != "" || to.User != nil {
			return nil, usage.New("mcphttp", "the address of instance %s is not http://host or https://host: %v", name, to)
		}
		i := &instance{name: name, url: to}
		i.life, i.end = context.WithCancel(context.Background())
		h.instances[name] = i
	}
	logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	h.proxy = &httputil.ReverseProxy{
		Rewrite: h.rewrite, Transport: transport, ModifyResponse: judge,
		FlushInterval: -1, // a stream carries its messages when they come
		ErrorHandler:  func(w http.ResponseWriter, r *http.Request, err error) { refuse(w, r, err, logger) },
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	watching, stop := context.WithCancel(context.Background())
	h.stop = stop
	for _, i := range h.instances {
		go i.watch(watching, transport, o.Every, o.Within)
	}
	return h, nil
}

// Close ends the watch over the instances. Requests are served on, by what was found last.
func (h *Router) Close() { h.stop() }

// States is how each instance does, by name.
func (h *Router) States() map[string]InstanceState {
	s := make(map[string]InstanceState, len(h.instances))
	for name, i := range h.instances {
		s[name] = i.condition()
	}
	return s
}

type routedKey struct{}

// routed is where a request goes.
type routed struct {
	*instance
	body []byte // nil if it has none
}

// ServeHTTP implements [http.Handler].
func (h *Router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	unread.Bound(w, r, h.bodies.within)
	body, ok := h.bodies.read(w, r, context.Background())
	if !ok {
		return
	}
	to := routed{body: body}
	to.instance = h.choose(r.Header.Get(sessionHeader), to.body)
	ctx, end := to.serve(context.WithValue(r.Context(), routedKey{}, to))
	defer end()
	r = r.WithContext(ctx)
	if to.body != nil { // without GetBody, net/http sends it no second time
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(to.body)), int64(len(to.body))
	}
	h.proxy.ServeHTTP(w, r)
}

// choose finds the instance of a session, or that of the state in a body, and otherwise any
// of those that are best placed. They take no turns: if a client made two requests a call,
// all its calls would go to one of two instances.
func (h *Router) choose(session string, body []byte) *instance {
	name, _, _ := strings.Cut(session, ".")
	if i := h.instances[name]; i != nil && i.condition() < InstanceDead {
		return i
	}
	if session == "" && bytes.Contains(body, []byte("requestState")) {
		state, _ := message.Text(message.Member(body, "params"), "requestState")
		name, _ = statecodec.Instance(state)
		if i := h.instances[name]; i != nil && i.condition() < InstanceClosing {
			return i
		}
	}
	var best []*instance
	least := InstanceDead
	for name, i := range h.instances {
		place := i.condition()
		if place == InstanceAlive && h.ready != nil && !h.ready(name) {
			place = InstanceRetiring
		}
		if place < least {
			best, least = nil, place
		}
		if place == least {
			best = append(best, i)
		}
	}
	return best[mathrand.IntN(len(best))]
}

// rewrite addresses a request, and says where it comes from.
func (h *Router) rewrite(p *httputil.ProxyRequest) {
	to := p.In.Context().Value(routedKey{}).(routed).url
	p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = to.Scheme, to.Host, p.In.Host
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
}

var (
	unreachable = callerror.NotBegun("This request was not begun: its instance cannot be reached. Send the same request again.", "unreachable")
	lost        = callerror.Unknown("The instance that served this request was lost, and nobody knows how far it came.", "instance_lost")
	closing     = callerror.NotBegun("This request was not begun: its instance is shutting down. Send the same request again.", "shutting_down")
)

// judge finds the refusal of an instance that shuts down.
func judge(res *http.Response) error {
	if !inflight.Retiring(res.Header) {
		return nil
	}
	res.Request.Context().Value(routedKey{}).(routed).found(InstanceClosing)
	return closing
}

// refuse answers the calls of a request that its instance did not answer. As the engine's own
// refusals, that is a response like any other: clients do not read the body of a 502. Without a
// call, 503 says that nothing was begun.
func refuse(w http.ResponseWriter, r *http.Request, err error, log *slog.Logger) {
	to, why, status := r.Context().Value(routedKey{}).(routed), lost, http.StatusBadGateway
	var op *net.OpError
	switch {
	case r.Context().Err() != nil && context.Cause(r.Context()) != errSilent:
		return // nobody is there to hear of it
	case err == closing:
		why, status = closing, http.StatusServiceUnavailable
	case errors.As(err, &op) && op.Op == "dial":
		why, status = unreachable, http.StatusServiceUnavailable
		to.found(InstanceDead)
	}
	log.Warn("no instance answered", "instance", to.name, "error", err)
	messages, _ := split(to.body) // a body that cannot be split has no calls
	text, _ := json.Marshal(why)  // it is one of ours
	var answers []json.RawMessage
	for _, m := range messages {
		id := idOf(m)
		if message.Member(m, "method") != nil && len(id) > 0 && (id[0] == '"' || id[0] == '-' || '0' <= id[0] && id[0] <= '9') {
			answers = append(answers, slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`), text, []byte("}")))
		}
	}
	if len(answers) == 0 {
		http.Error(w, why.Message, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(joined(answers, isBatch(to.body))) // who does not read it hears nothing
}

// InstanceState is how an instance does, as far as a [Router] knows.
type InstanceState int

const (
	// InstanceAlive: it is ready, or was not asked yet. It gets any request.
	InstanceAlive InstanceState = iota
	// InstanceRetiring: it answers 503, and gets what belongs to it.
	InstanceRetiring
	// InstanceClosing: it has refused a request as it shuts down, and gets what belongs to
	// its sessions.
	InstanceClosing
	// InstanceDead: it cannot be reached, or did not answer in time. It gets nothing as long
	// as another one lives.
	InstanceDead
)

func (s InstanceState) String() string { return [...]string{"alive", "retiring", "closing", "dead"}[s] }

// instance is one that a router sends requests to.
type instance struct {
	name  string
	url   *url.URL
	state atomic.Int64

	mu   sync.Mutex
	life context.Context    // guarded by mu: of the requests that it serves
	end  context.CancelFunc // guarded by mu: ends life
}

func (i *instance) condition() InstanceState { return InstanceState(i.state.Load()) }

func (i *instance) found(s InstanceState) { i.state.Store(int64(s)) }

// errSilent ends the requests of an instance that does not answer any more.
var errSilent = errors.New("the instance stands still")

// serve returns the context of a request, which ends if the instance falls silent.
func (i *instance) serve(ctx context.Context) (context.Context, func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(i.life, func() { cancel(errSilent) })
	return ctx, func() {
		unhook()
		cancel(nil)
	}
}

// watch asks the instance how it does, until ctx ends. If it is silent, the requests that it
// serves end: nobody knows whether they would ever. They do not end if nobody listens: a
// server that stops may still serve what it has.
func (i *instance) watch(ctx context.Context, by http.RoundTripper, every, within time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asking, cancel := context.WithTimeout(ctx, within)
		r, _ := http.NewRequestWithContext(asking, http.MethodGet, i.url.JoinPath("ready").String(), nil) // the address was checked
		res, err := by.RoundTrip(r)
		var timeout net.Error
		switch {
		case err == nil:
			_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that its connection can be used again
			res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable {
				i.found(InstanceAlive)
			} else if i.condition() != InstanceClosing {
				i.found(InstanceRetiring)
			}
		case ctx.Err() == nil:
			i.found(InstanceDead)
			if errors.As(err, &timeout) && timeout.Timeout() {
				i.mu.Lock()
				i.end()
				i.life, i.end = context.WithCancel(context.Background())
				i.mu.Unlock()
			}
		}
		cancel()
	}
}
