package mcphttp_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// A call goes on where its handler is held, whichever instance gets the other requests.
// Without names it ends with an error.
func TestARetryGoesToTheInstanceThatHoldsItsHandler(t *testing.T) {
	for name, named := range map[string]bool{"named": true, "not named": false} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, named, "a", "b")
			client := f.dial(t, nil)
			for _, begins := range []string{"a", "b", "a"} {
				other := map[string]string{"a": "b", "b": "a"}[begins]
				f.ready(begins)
				first := mustSend(t, client, wire.Request{Name: "coroutine"})
				f.ready(other)
				last := mustSend(t, client, wire.Request{Name: "coroutine", State: first.State, Responses: window})
				if named {
					require.JSONEq(t, `{"booked":"window"}`, string(last.Structured))
					require.Equal(t, []string{begins, begins}, f.began())
					continue
				}
				require.True(t, last.IsError)
				require.Contains(t, last.Text, "This call's frame is gone")
				require.Equal(t, []string{begins, other}, f.began())
			}
		})
	}
}

// Requests that belong to no instance reach all of them.
func TestARouterSpreadsTheRest(t *testing.T) {
	f := newFleet(t, true, "a", "b", "c")
	client := f.dial(t, nil)
	seen := map[string]bool{}
	for range 1000 { // after which one is missing by chance once in 10^175
		mustSend(t, client, wire.Request{Name: "where"})
		for _, name := range f.began() {
			seen[name] = true
		}
		if len(seen) == 3 {
			return
		}
	}
	t.Fatalf("1000 requests reached only %v", seen)
}

// A name that was forged leads to the instance of that name, and one that is unknown to
// any. Both refuse the state as they refuse every other, and the router asks no address
// but those it was given.
func TestAForgedNameLeadsNowhereElse(t *testing.T) {
	f := newFleet(t, true, "a", "b")
	client := f.dial(t, nil)
	first := mustSend(t, client, wire.Request{Name: "coroutine"})
	name, ok := statecodec.Instance(first.State)
	require.True(t, ok)
	other := map[string]string{"a": "b", "b": "a"}[name]
	for explanation, forge := range map[string]struct{ state, served string }{
		"another instance":          {first.State[:29] + other + first.State[30:], other},
		"an instance that is none":  {first.State[:29] + "z" + first.State[30:], ""},
		"the name of a host":        {first.State[:28] + "Jexample-com" + first.State[30:], ""},
		"an address":                {first.State[:28] + "S" + "http://example.com/" + first.State[30:], ""},
		"a state without its name":  {first.State[:28] + first.State[30:], ""},
		"a state that is no state":  {"http://example.com/", ""},
		"a name longer than itself": {first.State[:28] + "_" + first.State[29:], ""},
	} {
		f.began()
		reply := mustSend(t, client, wire.Request{Name: "coroutine", State: forge.state, Responses: window})
		require.NotNil(t, reply.Error, explanation)
		require.EqualValues(t, -32602, reply.Error.Code, explanation)
		require.Equal(t, statecodec.Refusal, reply.Error.Message, explanation)
		served := f.began()
		require.Len(t, served, 1, explanation)
		if forge.served != "" {
			require.Equal(t, forge.served, served[0], explanation)
		}
	}
	for host := range f.reached {
		require.Contains(t, []string{f.instances["a"].Listener.Addr().String(), f.instances["b"].Listener.Addr().String()}, host)
	}
	last := mustSend(t, client, wire.Request{Name: "coroutine", State: first.State, Responses: window})
	require.JSONEq(t, `{"booked":"window"}`, string(last.Structured), "the call itself goes on")
}

// Where the instance is gone its calls go to another one: those that can go on do so, and
// the others are told. The sessions of legacy clients end, as the specification has it.
func TestTheCallsOfAnInstanceThatIsGone(t *testing.T) {
	f := newFleet(t, true, "a", "b")
	f.ready("a") // all begins there
	client := f.dial(t, nil)
	held := mustSend(t, client, wire.Request{Name: "coroutine"})
	journaled := mustSend(t, client, wire.Request{Name: "resumable"})
	old := f.dial(t, &wire.Options{Version: "2025-11-25"})
	require.Equal(t, []string{"a", "a"}, f.began())

	f.stop(t, "a")
	last := mustSend(t, client, wire.Request{Name: "resumable", State: journaled.State, Responses: window})
	require.JSONEq(t, `{"booked":"window"}`, string(last.Structured))
	last = mustSend(t, client, wire.Request{Name: "coroutine", State: held.State, Responses: window})
	require.True(t, last.IsError)
	require.Contains(t, last.Text, "This call's frame is gone")
	fresh := must(client.Call(t.Context(), "coroutine", struct{}{}, wire.Answers{"seat": wire.Value("aisle")}))(t)
	require.JSONEq(t, `{"booked":"aisle"}`, string(fresh.Structured))
	require.Equal(t, []string{"b", "b", "b", "b"}, f.began())
	_, err := old.Send(t.Context(), wire.Request{Name: "where"})
	require.ErrorContains(t, err, "404")

	f.stop(t, "b")
	res := must(http.Post(f.URL, "application/json", strings.NewReader("{}")))(t)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusBadGateway, res.StatusCode)
}

// An instance that retires keeps its calls and gets no new ones. One that refuses with 503
// has its calls served elsewhere.
func TestAnInstanceThatRetires(t *testing.T) {
	f := newFleet(t, true, "a", "b")
	client := f.dial(t, nil)
	f.ready("a")
	first := mustSend(t, client, wire.Request{Name: "coroutine"})
	second := mustSend(t, client, wire.Request{Name: "resumable"})
	f.ready("b")
	f.began()
	for range 4 {
		mustSend(t, client, wire.Request{Name: "where"})
	}
	last := mustSend(t, client, wire.Request{Name: "coroutine", State: first.State, Responses: window})
	require.JSONEq(t, `{"booked":"window"}`, string(last.Structured))
	require.Equal(t, []string{"b", "b", "b", "b", "a"}, f.began())

	require.NoError(t, f.fronts["a"].Shutdown(t.Context())) // which still listens
	last = mustSend(t, client, wire.Request{Name: "resumable", State: second.State, Responses: window})
	require.JSONEq(t, `{"booked":"window"}`, string(last.Structured))
	require.Equal(t, []string{"b"}, f.began())

	f.ready() // where none is ready, any is better than none
	mustSend(t, client, wire.Request{Name: "where"})
}

// A legacy client stays at the instance that has its session, and is asked over it.
func TestALegacySessionStaysAtItsInstance(t *testing.T) {
	f := newFleet(t, true, "a", "b", "c")
	for _, begins := range []string{"a", "b", "c"} {
		f.ready(begins)
		client := f.dial(t, &wire.Options{Version: "2025-11-25"})
		f.ready(map[string]string{"a": "b", "b": "c", "c": "a"}[begins])
		for range 3 {
			out := must(client.Call(t.Context(), "coroutine", struct{}{}, wire.Answers{"seat": wire.Value("aisle")}))(t)
			require.JSONEq(t, `{"booked":"aisle"}`, string(out.Structured))
		}
		require.Equal(t, []string{begins, begins, begins}, f.began())
	}
}

func TestSessionIDs(t *testing.T) {
	next := mcphttp.SessionIDs("eu-2")
	one, two := next(), next()
	require.NotEqual(t, one, two)
	require.Regexp(t, `^eu-2\.[A-Z2-7]{26}$`, one)
	require.Panics(t, func() { mcphttp.SessionIDs("eu.2") })
}

func TestRouterOptions(t *testing.T) {
	to := func(address string) map[string]*url.URL {
		u := must(url.Parse(address))(t)
		return map[string]*url.URL{"a": u}
	}
	for explanation, tt := range map[string]struct {
		instances map[string]*url.URL
		opts      mcphttp.RouterOptions
	}{
		"no instance":      {nil, mcphttp.RouterOptions{}},
		"no name":          {map[string]*url.URL{"": {Scheme: "http", Host: "h"}}, mcphttp.RouterOptions{}},
		"a name with dots": {map[string]*url.URL{"a.b": {Scheme: "http", Host: "h"}}, mcphttp.RouterOptions{}},
		"no address":       {map[string]*url.URL{"a": nil}, mcphttp.RouterOptions{}},
		"no host":          {to("http:"), mcphttp.RouterOptions{}},
		"another scheme":   {to("ftp://h"), mcphttp.RouterOptions{}},
		"a path":           {to("http://h/mcp"), mcphttp.RouterOptions{}},
		"a query":          {to("http://h?x=1"), mcphttp.RouterOptions{}},
		"a password":       {to("http://u:p@h"), mcphttp.RouterOptions{}},
		"negative bytes":   {to("http://h"), mcphttp.RouterOptions{MaxMessageBytes: -1}},
		"negative time":    {to("http://h"), mcphttp.RouterOptions{BodyTimeout: -1}},
		"negative pause":   {to("http://h"), mcphttp.RouterOptions{Every: -1}},
		"negative bound":   {to("http://h"), mcphttp.RouterOptions{Within: -1}},
	} {
		_, err := mcphttp.NewRouter(tt.instances, &tt.opts)
		var usage *mcphttp.UsageError
		require.ErrorAs(t, err, &usage, explanation)
	}
	must(mcphttp.NewRouter(to("https://h:8443/"), nil))(t).Close()
}

// The client's hanging up ends the call at the instance, and a client's word on where it
// comes from is not passed on.
func TestARouterPassesOnTheEndAndTheSender(t *testing.T) {
	ended, headers := make(chan struct{}), make(chan http.Header, 1)
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(ended)
	}))
	defer instance.Close()
	router := routerTo(t, map[string]string{"a": instance.URL}, nil)
	web := httptest.NewServer(router)
	defer web.Close()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader("{}")))(t)
	req.Header.Set("X-Forwarded-For", "10.9.8.7")
	res := must(http.DefaultClient.Do(req))(t)
	require.Equal(t, "127.0.0.1", (<-headers).Get("X-Forwarded-For"))
	require.NoError(t, res.Body.Close())
	receive(t, ended, "the instance was not told that the client hung up")
}

// A request goes to another instance only where it cannot have had an effect, and where
// the other one can be of use: not after its connection broke, and not for a session of
// the first.
func TestWhichRequestsAreSentAgain(t *testing.T) {
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	tests := []struct {
		explanation string
		first       http.HandlerFunc // at instance a
		header      http.Header
		want        int
		again       bool
	}{
		{"refused with 503", refuse, nil, http.StatusOK, true},
		{"refused with 503, in a session", refuse,
			http.Header{"Mcp-Session-Id": {"a.x"}}, http.StatusServiceUnavailable, false},
		{"503 of a proxy that lost the connection", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			nil, http.StatusServiceUnavailable, false},
		{"refused for its client's share", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
			nil, http.StatusTooManyRequests, false},
		{"cut off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			nil, http.StatusOK, false}, // with -31001
	}
	for _, tt := range tests {
		t.Run(tt.explanation, func(t *testing.T) {
			const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
			var mu sync.Mutex
			var bodies [2]string
			addresses := map[string]string{}
			for i, answer := range []http.HandlerFunc{tt.first, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }} {
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					read, _ := io.ReadAll(r.Body)
					mu.Lock()
					bodies[i] += string(read)
					mu.Unlock()
					answer(w, r)
				}))
				defer web.Close()
				addresses[string("ab"[i])] = web.URL
			}
			router := routerTo(t, addresses, &mcphttp.RouterOptions{Ready: func(instance string) bool { return instance == "a" }})
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			maps.Copy(r.Header, tt.header)
			w := httptest.NewRecorder()
			router.ServeHTTP(w, r)
			require.Equal(t, tt.want, w.Code)
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, body, bodies[0])
			require.Equal(t, map[bool]string{true: body}[tt.again], bodies[1])
		})
	}
}

// A WebSocket goes through, to one instance as long as it lasts.
func TestARouterPassesWebSocketsOn(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	sockets := must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
	instance := httptest.NewServer(sockets)
	defer instance.Close()
	defer sockets.Shutdown(context.Background())
	router := routerTo(t, map[string]string{"a": instance.URL}, nil)
	web := httptest.NewServer(router)
	defer web.Close()
	transport := must(wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(web.URL, "http"), nil))(t)
	session := must(mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), transport, nil))(t)
	require.Equal(t, "s", session.InitializeResult().ServerInfo.Name)
	require.NoError(t, session.Close())
}

func routerTo(t *testing.T, addresses map[string]string, opts *mcphttp.RouterOptions) *mcphttp.Router {
	t.Helper()
	instances := map[string]*url.URL{}
	for name, address := range addresses {
		to := must(url.Parse(address))(t)
		instances[name] = to
	}
	var o mcphttp.RouterOptions
	if opts != nil {
		o = *opts
	}
	o.Every = time.Hour // the instances count what they are asked
	router := must(mcphttp.NewRouter(instances, &o))(t)
	t.Cleanup(router.Close)
	return router
}

// net/http sends a request again whose connection broke if a header of the client's says
// that this does no harm. An instance knows no such header, and would run the call twice.
func TestNoHeaderHasACallSentAgain(t *testing.T) {
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		var ran atomic.Int32
		instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			if r.Header.Get(header) == "k" {
				ran.Add(1)
				panic(http.ErrAbortHandler)
			}
		}))
		defer instance.Close()
		router := routerTo(t, map[string]string{"a": instance.URL}, nil)
		for _, c := range []struct {
			key  string
			want int
		}{{"", http.StatusOK}, {"k", http.StatusBadGateway}} { // net/http judges so of a connection that was used before
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
			r.Header.Set(header, c.key)
			router.ServeHTTP(w, r)
			require.Equal(t, c.want, w.Code)
		}
		require.EqualValues(t, 1, ran.Load(), header)
	}
}

// A body is sent on whole to the second instance, whatever the method. The router reads it
// before it knows where to send it, so it bounds it.
func TestARouterBoundsBodiesAndSendsThemAgain(t *testing.T) {
	reached := 0
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %v", r.Method, body, err)
	}))
	defer instance.Close()
	router := routerTo(t, map[string]string{"a": nobody, "b": instance.URL},
		&mcphttp.RouterOptions{Ready: func(instance string) bool { return instance == "a" }, MaxMessageBytes: 10})
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodPost} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader("{}")))
		require.Equal(t, method+" {} <nil>", w.Body.String())
		w = httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(method, "/", strings.NewReader(strings.Repeat(" ", 11))))
		require.Equal(t, http.StatusRequestEntityTooLarge, w.Code, method)
	}
	require.Equal(t, 4, reached, "a body that is too large reaches nobody")
}

type otherTransport struct{ http.RoundTripper }

// Programs replace http.DefaultTransport, for traces.
func TestARouterNeedsNoDefaultTransport(t *testing.T) {
	usual := http.DefaultTransport
	http.DefaultTransport = otherTransport{usual}
	defer func() { http.DefaultTransport = usual }()
	instance := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer instance.Close()
	w := httptest.NewRecorder()
	routerTo(t, map[string]string{"a": instance.URL}, nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
}
