package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// network has the instances of a router without sockets, by name: what each does with a
// request.
type network map[string]serving

type serving func(r *http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n[r.URL.Host](r) }

// changing does what it was told last.
type changing struct{ atomic.Pointer[serving] }

func (c *changing) become(s serving) { c.Store(&s) }

func (c *changing) serve(r *http.Request) (*http.Response, error) { return (*c.Load())(r) }

// router is one to all of them, of which a is tried first.
func (n network) router(t *testing.T, opts mcphttp.RouterOptions) *mcphttp.Router {
	t.Helper()
	instances := map[string]*url.URL{}
	for name := range n {
		instances[name] = &url.URL{Scheme: "http", Host: name}
	}
	opts.Transport = n
	if opts.Ready == nil {
		opts.Ready = func(instance string) bool { return instance == "a" }
	}
	router := must(mcphttp.NewRouter(instances, &opts))(t)
	t.Cleanup(router.Close)
	return router
}

func answering(status int, text string, headers ...string) serving {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return w.Result(), nil
	}
}

// still does not answer any more.
func still(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func refusing(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// passed is the answer to a request, and how long it took.
func passed(router http.Handler, method, body string, edit func(*http.Request)) (*httptest.ResponseRecorder, time.Duration) {
	r := httptest.NewRequest(method, "http://router/", strings.NewReader(body))
	if edit != nil {
		edit(r)
	}
	w, began := httptest.NewRecorder(), time.Now()
	router.ServeHTTP(w, r)
	return w, time.Since(began)
}

const (
	firstRound = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`
	laterRound = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","requestState":"s"}}`
	withError  = `{"jsonrpc":"2.0","id":7,`
)

// A request ends, or goes to another instance, in the time after which its instance counts
// as dead. Those that come later are not sent there, and those that come when it has woken up
// are.
func TestAnInstanceThatStandsStill(t *testing.T) {
	ofA := inSession("a.x")
	for name, tt := range map[string]struct {
		method, body string
		edit         func(*http.Request)
		want         string
	}{
		"first round": {http.MethodPost, firstRound, nil, withError + lostInDoubt},
		"later round": {http.MethodPost, laterRound, nil, "b"},
		"session":     {http.MethodPost, firstRound, ofA, withError + lostInDoubt},
		"handshake":   {http.MethodGet, "", nil, "b"},
		"stream":      {http.MethodGet, "", ofA, "no instance answered\n"},
		"end":         {http.MethodDelete, "", ofA, "no instance answered\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var a changing
				a.become(still)
				router := network{"a": a.serve, "b": answering(http.StatusOK, "b")}.router(t, mcphttp.RouterOptions{SharedStore: true})
				w, took := passed(router, tt.method, tt.body, tt.edit)
				require.Equal(t, tt.want, w.Body.String())
				require.LessOrEqual(t, took, 6*time.Second)
				require.Equal(t, mcphttp.InstanceDead, router.Stats().Instances["a"].State)

				w, took = passed(router, tt.method, tt.body, tt.edit)
				require.Equal(t, "b", w.Body.String())
				require.Zero(t, took)

				a.become(answering(http.StatusOK, "a"))
				time.Sleep(7 * time.Second)
				require.Equal(t, mcphttp.InstanceAlive, router.Stats().Instances["a"].State)
				w, _ = passed(router, tt.method, tt.body, tt.edit)
				require.Equal(t, "a", w.Body.String())
			})
		})
	}
}

// A connection that was never made has carried nothing, so that any request may go on.
func TestAnInstanceThatCannotBeConnectedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connects := false
		n := network{"b": answering(http.StatusOK, "b"), "a": func(r *http.Request) (*http.Response, error) {
			trace := httptrace.ContextClientTrace(r.Context())
			if trace != nil {
				trace.GetConn("a")
			}
			if trace != nil && connects {
				trace.GotConn(httptrace.GotConnInfo{})
			}
			return still(r)
		}}
		w, _ := passed(n.router(t, mcphttp.RouterOptions{}), http.MethodPost, firstRound, nil)
		require.Equal(t, "b", w.Body.String())
		connects = true
		w, _ = passed(n.router(t, mcphttp.RouterOptions{}), http.MethodPost, firstRound, nil)
		require.Equal(t, withError+lostInDoubt, w.Body.String())
	})
}

// An instance that says that it is not ready gets what belongs to it, and nothing else. One
// at which nobody listens may still serve what it has.
func TestAnInstanceThatIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		var ready changing
		ready.become(answering(http.StatusServiceUnavailable, "not ready"))
		n := network{"b": answering(http.StatusOK, "b"), "a": func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/healthy" {
				return ready.serve(r)
			}
			<-goOn
			return answering(http.StatusOK, "a")(r)
		}}
		router := n.router(t, mcphttp.RouterOptions{ReadyPath: "/healthy", Ready: func(string) bool { return true }})
		time.Sleep(2 * time.Second)
		for range 20 {
			w, _ := passed(router, http.MethodPost, firstRound, nil)
			require.Equal(t, "b", w.Body.String())
		}
		served := make(chan string)
		go func() {
			w, _ := passed(router, http.MethodPost, firstRound, inSession("a.x"))
			served <- w.Body.String()
		}()
		synctest.Wait()
		stats := router.Stats().Instances
		require.Equal(t, mcphttp.InstanceStats{State: mcphttp.InstanceRetiring, Open: 1, Sent: 1}, stats["a"])
		require.Equal(t, mcphttp.InstanceStats{State: mcphttp.InstanceAlive, Sent: 20}, stats["b"])
		ready.become(refusing)
		time.Sleep(10 * time.Second)
		require.Equal(t, mcphttp.InstanceDead, router.Stats().Instances["a"].State)
		close(goOn)
		require.Equal(t, "a", <-served)
	})
}

// An overloaded instance has its request sent to one other. Those that shut down have it
// sent on until one takes it.
func TestARouterDoesNotMultiplyOverload(t *testing.T) {
	retry := []string{"Retry-After", "1"}
	for _, tt := range []struct {
		explanation string
		headers     []string
		want        int64 // attempts
	}{
		{"overloaded", retry, 2},
		{"shutting down", append(retry, "Mrtr-Refused", "shutting_down"), 4},
	} {
		var attempts atomic.Int64
		n := network{}
		for _, name := range []string{"a", "b", "c", "d"} {
			n[name] = func(r *http.Request) (*http.Response, error) {
				attempts.Add(1)
				return answering(http.StatusServiceUnavailable, "no", tt.headers...)(r)
			}
		}
		w, _ := passed(n.router(t, mcphttp.RouterOptions{Every: time.Hour}), http.MethodPost, laterRound, nil)
		require.Equal(t, http.StatusServiceUnavailable, w.Code, tt.explanation)
		require.Equal(t, "no", w.Body.String(), tt.explanation)
		require.Equal(t, tt.want, attempts.Load(), tt.explanation)
	}
}

// A stream whose instance is lost between two events ends with an error that the client can
// go on with. In the middle of one nothing can be said.
func TestARouterEndsAStreamWell(t *testing.T) {
	for _, tt := range []struct{ begun, kind, want string }{
		{": still here\n\n", "text/event-stream", ": still here\n\nevent: message\ndata: " + withError + lostInRound + "\n\n"},
		{"data: 1\r\n\r\n", "text/event-stream; charset=utf-8", "data: 1\r\n\r\nevent: message\ndata: " + withError + lostInRound + "\n\n"},
		{"", "text/event-stream", "event: message\ndata: " + withError + lostInRound + "\n\n"},
		{"data: 1\n", "text/event-stream", "data: 1\n"},
		{"data: {", "text/event-stream", "data: {"},
		{"{\n\n", "application/json", "{\n\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := network{"a": func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodGet {
					return still(r)
				}
				body, writer := io.Pipe()
				context.AfterFunc(r.Context(), func() { writer.CloseWithError(r.Context().Err()) })
				go io.WriteString(writer, tt.begun)
				return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {tt.kind}}, Body: body, Request: r}, nil
			}}
			w, took := passed(n.router(t, mcphttp.RouterOptions{}), http.MethodPost, laterRound, nil)
			require.Equal(t, tt.want, w.Body.String(), tt.begun)
			require.LessOrEqual(t, took, 6*time.Second)
		})
	}
}

// What a load balancer says of the client is passed on, and what a client says is not.
func TestARouterTrustsItsProxies(t *testing.T) {
	for _, tt := range []struct{ from, addresses, host, proto string }{
		{"10.1.2.3:4", "203.0.113.9, 10.1.2.3", "shop.example", "https"},
		{"[::ffff:10.1.2.3]:4", "203.0.113.9, ::ffff:10.1.2.3", "shop.example", "https"},
		{"192.0.2.1:4", "192.0.2.1", "router", "http"},
	} {
		var got http.Header
		n := network{"a": func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return answering(http.StatusOK, "")(r)
		}}
		router := n.router(t, mcphttp.RouterOptions{Every: time.Hour, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
		passed(router, http.MethodPost, firstRound, func(r *http.Request) {
			r.RemoteAddr = tt.from
			r.Header.Set("X-Forwarded-For", "203.0.113.9")
			r.Header.Set("X-Forwarded-Host", "shop.example")
			r.Header.Set("X-Forwarded-Proto", "https")
		})
		require.Equal(t, tt.addresses, got.Get("X-Forwarded-For"), tt.from)
		require.Equal(t, tt.host, got.Get("X-Forwarded-Host"), tt.from)
		require.Equal(t, tt.proto, got.Get("X-Forwarded-Proto"), tt.from)
	}
}

func TestRouterStats(t *testing.T) {
	n := network{"a": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, "b": answering(http.StatusServiceUnavailable, "", "Retry-After", "1")}
	router := n.router(t, mcphttp.RouterOptions{Every: time.Hour, SharedStore: true})
	passed(router, http.MethodPost, laterRound, nil)
	require.Equal(t, mcphttp.RouterStats{Unanswered: 1, Instances: map[string]mcphttp.InstanceStats{
		"a": {Sent: 1, Lost: 1}, "b": {Sent: 1, Refused: 1},
	}}, router.Stats())
	require.Equal(t, "alive retiring dead InstanceState(3)", fmt.Sprint(mcphttp.InstanceAlive, mcphttp.InstanceRetiring, mcphttp.InstanceDead, mcphttp.InstanceState(3)))
}
