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
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
		t.MaxIdleConnsPerHost = 100
		next = t
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
		case res.StatusCode == http.StatusServiceUnavailable && !to.session && !last:
			_, _ = io.CopyN(io.Discard, res.Body, 4<<10) // so that its connection can be used again
			res.Body.Close()
		default:
			return res, nil
		}
	}
	return res, err
}

// request is the request to this instance.
func (t *routerTransport) request(r *http.Request, instance string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = t.urls[instance].Scheme, t.urls[instance].Host
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
