package mcphttp

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/transport/internal/inflight"
)

// routerTransport sends a request to the first instance that takes it, and to another one
// if that is lost and the request does no harm a second time.
type routerTransport struct {
	next   http.RoundTripper
	shared bool // the instances share a store
	log    *slog.Logger
}

func newRouterTransport(o *RouterOptions) *routerTransport {
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
	return &routerTransport{next, o.SharedStore, o.Logger}
}

// mostLost is how many instances one request may lose. It is as many attempts as the
// engine gives a round: a request that kills what serves it must not kill all.
const mostLost = 3

// RoundTrip implements [http.RoundTripper]. Its errors are [*lostError].
func (t *routerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Context().Value(routedKey{}).(routed)
	lost := &lostError{}
	overloaded := false
	for n, i := range to.order {
		res, sent, err := i.send(t.next, t.request(r, i, to.body))
		if err != nil {
			lost.error = err
			t.log.Warn("instance lost", "instance", i.name, "error", err)
			if r.Context().Err() != nil || sent && !t.mayGoOn(r, i, to.body, lost) {
				return nil, lost
			}
			continue
		}
		if to.session || !refused(r, res) {
			return mendedStream(r, res, to.body), nil
		}
		over := n == len(to.order)-1
		if inflight.Retiring(res.Header) {
			i.retires(t.next)
		} else { // all instances together have no more room if each is asked
			over, overloaded = over || overloaded, true
		}
		if over && lost.instances == 0 {
			return res, nil
		}
		i.refused.Add(1)
		_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that its connection can be used again
		res.Body.Close()
		if over {
			break
		}
	}
	return nil, lost
}

// mayGoOn counts an instance that was lost at work, and reports whether another one may
// get the request.
func (t *routerTransport) mayGoOn(r *http.Request, i *instance, body []byte, lost *lostError) bool {
	lost.instances++
	i.lost.Add(1)
	switch {
	case r.Header.Get(sessionHeader) != "":
		return false
	case r.Method == http.MethodGet: // such as the handshake of a WebSocket
	case r.Method == http.MethodPost && t.shared:
		if lost.remembered = readPosted(body).repeatable; !lost.remembered {
			return false
		}
	default:
		return false
	}
	return lost.instances < mostLost
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
func (t *routerTransport) request(r *http.Request, i *instance, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = i.url.Scheme, i.url.Host
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
