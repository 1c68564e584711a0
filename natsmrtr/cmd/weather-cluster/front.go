package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
)

// front passes each request to the next instance.
type front struct {
	instances []*process
	next      atomic.Int64
}

const maxBody = 4 << 20

func (f *front) handler() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "instance", "127.0.0.1"
			r.SetXForwarded()
		},
		Transport:     f,
		FlushInterval: -1, // a stream passes as it comes
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "The instance ended while it served the request. Send the request again.", http.StatusBadGateway)
		},
	}
}

// RoundTrip sends the request to the next instance that takes it. One that did not
// take the connection has not heard the request. One that was heard of and then ended may
// have done anything: that is left to the client, which sends the request again.
func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	for range f.instances {
		p := f.instances[int(f.next.Add(1)-1)%len(f.instances)]
		if p.isDead() {
			continue
		}
		try := r.Clone(r.Context())
		try.URL.Host = p.address
		try.Body = io.NopCloser(bytes.NewReader(body))
		var res *http.Response
		if res, err = http.DefaultTransport.RoundTrip(try); err == nil {
			return res, nil
		}
		var refused *net.OpError
		if !errors.As(err, &refused) || refused.Op != "dial" {
			return nil, err
		}
	}
	return nil, errors.Join(errors.New("no instance takes the request"), err)
}

func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errors.New("the request is too large")
	}
	return body, err
}
