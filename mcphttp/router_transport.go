package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// routed is where a request may go.
type routed struct {
	order   []string // of the instances, the first to be tried first
	session bool     // it belongs to a legacy session
	body    []byte   // read, because it may have to be sent again; nil without one
}

type routedKey struct{}

// routerTransport sends a request to the first instance that takes it.
type routerTransport struct {
	urls map[string]*url.URL
	next http.RoundTripper
	log  *slog.Logger
}

func newRouterTransport(urls map[string]*url.URL, next http.RoundTripper, log *slog.Logger) *routerTransport {
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
	return &routerTransport{urls, next, log}
}

// RoundTrip implements [http.RoundTripper].
func (t *routerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Context().Value(routedKey{}).(routed)
	var res *http.Response
	var err error
	for i, instance := range to.order {
		last := i == len(to.order)-1
		res, err = t.next.RoundTrip(t.request(r, instance, to.body))
		switch {
		case err != nil:
			t.log.Warn("instance not reached", "instance", instance, "error", err)
			if last || !unsent(err) || r.Context().Err() != nil {
				return nil, err
			}
		case !to.session && !last && refused(r, res):
			_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that its connection can be used again
			res.Body.Close()
		default:
			return res, nil
		}
	}
	return res, err
}

// refused reports whether an instance refused a request before it began to serve it. A
// POST may be a call: [Handler] tells by Retry-After, while a proxy in between answers
// 503 also where it lost the connection to an instance that runs the call.
func refused(r *http.Request, res *http.Response) bool {
	return res.StatusCode == http.StatusServiceUnavailable && (r.Method != http.MethodPost || res.Header.Get("Retry-After") != "")
}

// replayHeaders have net/http send a POST again after its connection broke, where their
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
