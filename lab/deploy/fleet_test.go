//go:build unix

package deploy_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

var names = []string{"a", "b", "c"}

// site is three instances behind a router.
type site struct {
	url       string // of the router
	dir       string
	instances map[string]*instance

	opts   *mcphttp.RouterOptions
	router atomic.Pointer[mcphttp.Router] // which can be replaced under way
	front  http.Handler                   // what stands in the router's place; nil for the router
	web    *http.Server
	cut    context.CancelFunc // ends the requests of web
}

// newSite starts the instances, each of which does the job.
func newSite(t *testing.T, j job, opts *mcphttp.RouterOptions) *site {
	f := &site{dir: t.TempDir(), instances: map[string]*instance{}, opts: opts}
	j.Key, j.Store, j.Ledger = statecodec.GenerateKey().Text(), filepath.Join(f.dir, "rounds.db"), f.ledger()
	j.Logged = os.Getenv("MRTR_DEPLOY_LOG") != ""
	j.program = cmp.Or(j.program, ownRelease)
	if j.Gate != "" {
		j.Gate = filepath.Join(f.dir, j.Gate)
	}
	for _, name := range names {
		var err error
		j.Name = name
		j.Address, err = fleet.FreeAddress()
		require.NoError(t, err)
		f.instances[name] = start(t, j)
	}
	f.route(t, names...)
	f.listen(t, "127.0.0.1:0")
	t.Cleanup(func() { f.die(t) })
	return f
}

func (f *site) ledger() fleet.Ledger { return fleet.Ledger(filepath.Join(f.dir, "ledger")) }

// route puts a router to these instances in the place of the one before.
func (f *site) route(t *testing.T, names ...string) {
	t.Helper()
	addresses := map[string]*url.URL{}
	for _, name := range names {
		addresses[name] = &url.URL{Scheme: "http", Host: f.instances[name].Address}
	}
	router, err := mcphttp.NewRouter(addresses, f.opts)
	require.NoError(t, err)
	t.Cleanup(router.Close)
	f.router.Store(router)
}

// listen serves the router at an address.
func (f *site) listen(t *testing.T, address string) {
	t.Helper()
	var listener net.Listener
	require.Eventually(t, func() (ok bool) {
		var err error
		listener, err = net.Listen("tcp", address)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	f.url = "http://" + listener.Addr().String()
	living, cut := context.WithCancel(context.Background())
	f.cut = cut
	f.web = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.front != nil {
				f.front.ServeHTTP(w, r)
				return
			}
			f.router.Load().ServeHTTP(w, r)
		}),
		BaseContext: func(net.Listener) context.Context { return living },
	}
	go f.web.Serve(listener)
}

// die breaks the connections of the router, as its death does.
func (f *site) die(t *testing.T) {
	t.Helper()
	f.cut()
	require.NoError(t, f.web.Close())
}

// balancer is a load balancer of the usual kind. It knows no names and no states: it sends a
// request to one of the instances that were ready when it last looked, and to another one if
// that refuses it or can't be connected to.
type balancer struct {
	*http.Transport
	hosts []string
	ready atomic.Pointer[[]string]
}

func newBalancer(t *testing.T, f *site) http.Handler {
	b := &balancer{Transport: &http.Transport{}}
	for _, i := range f.instances {
		b.hosts = append(b.hosts, i.Address)
	}
	b.ready.Store(&b.hosts)
	stopped := make(chan struct{})
	t.Cleanup(func() { close(stopped) })
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-time.After(time.Second):
				b.look()
			}
		}
	}()
	return &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.Out.Host = p.In.Host },
		Transport:     b,
		FlushInterval: -1,
	}
}

func (b *balancer) look() {
	var ready []string
	for _, host := range b.hosts {
		res, err := (&http.Client{Timeout: time.Second}).Get("http://" + host + "/ready")
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			ready = append(ready, host)
		}
	}
	b.ready.Store(&ready)
}

func (b *balancer) RoundTrip(r *http.Request) (res *http.Response, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	hosts := *b.ready.Load()
	for _, at := range rand.Perm(len(hosts)) {
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host = "http", hosts[at]
		if r.Body != nil {
			out.Body = io.NopCloser(bytes.NewReader(body))
		}
		res, err = b.Transport.RoundTrip(out)
		var op *net.OpError
		switch {
		case err == nil && (res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == ""):
			return res, nil
		case err == nil:
			res.Body.Close()
		case !errors.As(err, &op) || op.Op != "dial":
			return nil, err
		}
	}
	return nil, fmt.Errorf("no instance takes it: %w", err)
}
