package mcphttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// How an instance behaves.
const (
	serves   = "serves"
	retires  = "is not ready"
	refuses  = "shuts down"
	isGone   = "cannot be reached"
	isSilent = "stands still"
	breaks   = "breaks connections"
)

var behaviors = []string{serves, retires, refuses, isGone, isSilent, breaks}

// network has the instances of a router without sockets.
type network struct {
	mu   sync.Mutex
	does map[string]string // by host
	got  []string          // by whom, and the body
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	w, name := httptest.NewRecorder(), r.URL.Host
	n.mu.Lock()
	does := n.does[name]
	asked := r.Method == http.MethodGet && r.URL.Path == "/ready"
	if !asked {
		body := []byte(nil)
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		n.got = append(n.got, name+" "+string(body))
	}
	n.mu.Unlock()
	switch {
	case does == isGone:
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	case does == isSilent:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case does == breaks && !asked:
		return nil, io.ErrUnexpectedEOF
	case does == refuses:
		w.Header().Set("Mrtr-Refused", "shutting_down")
		w.WriteHeader(http.StatusServiceUnavailable)
	case does == retires && asked:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		_, _ = io.WriteString(w, name)
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

// routerModel is all that a router may know of its instances.
type routerModel struct {
	does   map[string]string
	states map[string]mcphttp.InstanceState
	notNew map[string]bool
}

// settle waits until each instance was asked, between two ticks of the router's clocks.
func (m *routerModel) settle() {
	time.Sleep(20*time.Second + 500*time.Millisecond - time.Duration(time.Now().Nanosecond()))
	for name, does := range m.does {
		switch {
		case does == serves || does == breaks:
			m.states[name] = mcphttp.InstanceAlive
		case does == isGone || does == isSilent:
			m.states[name] = mcphttp.InstanceDead
		case m.states[name] != mcphttp.InstanceClosing:
			m.states[name] = mcphttp.InstanceRetiring
		}
	}
}

// may are the instances that may get a request.
func (m *routerModel) may(session, state string) (names []string) {
	if s, ok := m.states[session]; ok && s < mcphttp.InstanceDead {
		return []string{session}
	}
	if s, ok := m.states[state]; ok && session == "" && s < mcphttp.InstanceClosing {
		return []string{state}
	}
	least := mcphttp.InstanceDead
	for name, s := range m.states {
		if s == mcphttp.InstanceAlive && m.notNew[name] {
			s = mcphttp.InstanceRetiring
		}
		if s < least {
			names, least = nil, s
		}
		if s == least {
			names = append(names, name)
		}
	}
	return names
}

// routedPost is a request, with the names in it.
type routedPost struct {
	session, state string
	body           string
	ids            []string // of its calls
}

// post generates a POST. Its state is one of those that were sealed, by name.
func (m *routerModel) post(r *rand.Rand, sealed map[string]string) routedPost {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	p := routedPost{session: one("", "", "", "a", "b", "c", "z", "http://example.com")}
	if r.IntN(2) == 0 {
		p.state = one("a", "b", "c", "z", "http://example.com")
	}
	token, ok := sealed[p.state]
	if !ok {
		token = p.state
	}
	id := one(`1`, `-7`, `900719925474099312345`, `"a\"b\u00e9"`)
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"requestState","requestState":%q}}`, id, token)
	p.body, p.ids = call, []string{id}
	switch r.IntN(6) {
	case 0:
		p.body, p.state, p.ids = "["+call+`,{"jsonrpc":"2.0","method":"x"},{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"method":"y"}]`, "", []string{id, "3"}
	case 1:
		p.body, p.state, p.ids = one(`{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":1,"method"`, `{"id":{},"method":"x"}`), "", nil
	}
	return p
}

const (
	lostText        = `"error":{"code":1001,"message":"The instance that served this request was lost, and nobody knows how far it came.","data":{"reason":"instance_lost","retryable":false,"effects":"unknown"}}`
	unreachableText = `"error":{"code":-31001,"message":"This request was not begun: its instance cannot be reached. Send the same request again.","data":{"reason":"unreachable","retryable":true}}`
	closingText     = `"error":{"code":-31001,"message":"This request was not begun: its instance is shutting down. Send the same request again.","data":{"reason":"shutting_down","retryable":true}}`
)

// want is the status and the body with which a post is answered by an instance that behaves
// like this.
func (p routedPost) want(name, does string) (status int, body string) {
	refusal := map[string]string{isGone: unreachableText, isSilent: lostText, breaks: lostText, refuses: closingText}[does]
	switch {
	case refusal == "":
		return http.StatusOK, name
	case p.ids == nil:
		_, text, _ := strings.Cut(refusal, `"message":"`)
		text, _, _ = strings.Cut(text, `"`)
		if does == refuses || does == isGone {
			return http.StatusServiceUnavailable, text + "\n"
		}
		return http.StatusBadGateway, text + "\n"
	}
	var answers []string
	for _, id := range p.ids {
		answers = append(answers, `{"jsonrpc":"2.0","id":`+id+`,`+refusal+`}`)
	}
	if body = strings.Join(answers, ","); strings.HasPrefix(p.body, "[") {
		body = "[" + body + "]"
	}
	return http.StatusOK, body
}

// Whatever the instances do, each request is sent once, to the instance it belongs to or to
// one that wants it, and to no other address. If that one does not answer, each call gets
// an error under its id, which invites to repeat only what was not begun, and the next request
// goes elsewhere.
func TestARouterSendsEachRequestOnce(t *testing.T) {
	sealed := map[string]string{}
	for _, name := range []string{"a", "b", "c", "z"} {
		codec := must(statecodec.New(&statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}, Instance: name}))(t)
		sealed[name] = must(codec.Seal(statecodec.Binding{Method: "m", Target: "t"}, []byte("x")))(t)
	}
	reached := map[string]int{} // by what the instance did, and whether it was named
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, seed))
			m := &routerModel{map[string]string{}, map[string]mcphttp.InstanceState{}, map[string]bool{}}
			addresses := map[string]*url.URL{}
			for _, name := range []string{"a", "b", "c"} {
				m.does[name], m.states[name], addresses[name] = serves, mcphttp.InstanceAlive, &url.URL{Scheme: "http", Host: name}
			}
			n := &network{does: m.does}
			router := must(mcphttp.NewRouterOver(n, addresses, &mcphttp.RouterOptions{Ready: func(name string) bool { return !m.notNew[name] }}))(t)
			defer router.Close()
			for range 60 {
				name := string("abc"[r.IntN(3)])
				n.mu.Lock()
				woke := m.does[name] == isSilent // it is asked until then
				m.does[name], m.notNew[name] = behaviors[r.IntN(len(behaviors))], r.IntN(3) == 0
				n.mu.Unlock()
				if woke || r.IntN(2) == 0 {
					m.settle()
				}
				for range 1 + r.IntN(3) {
					p, began := m.post(r, sealed), time.Now()
					may := m.may(p.session, p.state)
					w := serveIn(t.Context(), router, legacy(p.body).in(strings.TrimPrefix(p.session+".x", ".x")))
					require.Len(t, n.got, 1, "%+v", p)
					name, body, _ := strings.Cut(n.got[0], " ")
					n.got = nil
					require.Contains(t, may, name, "%+v %+v", p, m)
					require.Equal(t, p.body, body)
					status, answer := p.want(name, m.does[name])
					require.Equal(t, answer, w.body)
					require.Equal(t, status, w.status)
					reached[fmt.Sprint(m.does[name], ", named: ", name == p.session || name == p.state)]++
					switch m.does[name] {
					case isGone:
						m.states[name] = mcphttp.InstanceDead
					case refuses:
						m.states[name] = mcphttp.InstanceClosing
					case isSilent:
						require.LessOrEqual(t, time.Since(began), 6*time.Second)
						m.settle()
					}
				}
				require.Equal(t, m.states, router.States())
			}
		})
	}
	t.Log(reached)
	require.Len(t, reached, 2*len(behaviors))
	require.Equal(t, "[alive retiring closing dead]", fmt.Sprint([]mcphttp.InstanceState{0, 1, 2, 3}))
}

// A request under way at an instance ends with its client, and does not end if nobody listens
// there any more: a server that stops may still serve what it has.
func TestWhatIsUnderWayAtAnInstance(t *testing.T) {
	for _, hangsUp := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			n, open := &network{does: map[string]string{"a": isGone}}, make(chan struct{})
			router := must(mcphttp.NewRouterOver(roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/ready" {
					return n.RoundTrip(r)
				}
				select {
				case <-open:
					return (&network{}).RoundTrip(r)
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}), map[string]*url.URL{"a": {Scheme: "http", Host: "a"}}, nil))(t)
			defer router.Close()
			ctx, hangUp := context.WithCancel(t.Context())
			served := begin(ctx, router, callOf("tool", ""))
			time.Sleep(20 * time.Second)
			require.Equal(t, mcphttp.InstanceDead, router.States()["a"])
			if hangsUp {
				hangUp()
				require.Empty(t, (<-served).body)
			}
			close(open)
			require.Equal(t, !hangsUp, (<-served).body == "a")
			hangUp()
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Over sockets: nobody listens; net/http would repeat a request by a client's header; a
// response that has begun is cut off; a body is bounded; a WebSocket goes through.
func TestARouterOverSockets(t *testing.T) {
	server, ran := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), atomic.Int32{}
	sockets := must(wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil))(t)
	defer sockets.Shutdown(context.Background())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch string(body) {
		case "":
			sockets.ServeHTTP(w, r)
		case "half":
			_, _ = io.WriteString(w, "ha")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case "die":
			ran.Add(1)
			panic(http.ErrAbortHandler)
		}
	}))
	defer web.Close()
	to := func(address string) string {
		router := must(mcphttp.NewRouter(map[string]*url.URL{"a": must(url.Parse(address))(t)}, nil))(t)
		front := httptest.NewServer(router)
		t.Cleanup(front.Close)
		t.Cleanup(router.Close)
		return front.URL
	}
	nobody := to("http://127.0.0.1:1") // a port that was closed a moment ago may be open again
	require.Equal(t, `{"jsonrpc":"2.0","id":7,`+unreachableText+`}`, send(t, nobody, callOf("tool", "")).body)

	url := to(web.URL)
	require.Equal(t, http.StatusOK, send(t, url, legacy("{}")).status) // net/http judges so of a connection that was used before
	require.Equal(t, http.StatusBadGateway, send(t, url, legacy("die").with("Idempotency-Key: k")).status)
	require.EqualValues(t, 1, ran.Load())
	res := must(http.Post(url, "", strings.NewReader("half")))(t)
	text, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "ha", string(text))
	require.Equal(t, http.StatusRequestEntityTooLarge, send(t, url, legacy(strings.Repeat(" ", 4<<20+1))).status)
	transport := must(wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(url, "http"), nil))(t)
	session := must(mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), transport, nil))(t)
	require.Equal(t, "s", session.InitializeResult().ServerInfo.Name)
	require.NoError(t, session.Close())
}

// What a load balancer says of the client is passed on, and what a client says is not.
func TestARouterTrustsItsProxies(t *testing.T) {
	for _, tt := range []struct{ from, addresses, host, proto string }{
		{"10.1.2.3:4", "203.0.113.9, 10.1.2.3", "shop.example", "https"},
		{"[::ffff:10.1.2.3]:4", "203.0.113.9, ::ffff:10.1.2.3", "shop.example", "https"},
		{"192.0.2.1:4", "192.0.2.1", "example.com", "http"},
	} {
		var got *http.Request
		router := must(mcphttp.NewRouterOver(roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r
			return nil, io.EOF
		}), map[string]*url.URL{"a": {Scheme: "https", Host: "a"}}, &mcphttp.RouterOptions{Every: time.Hour, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}))(t)
		defer router.Close()
		serve(router, post{clientHeaders + "From: " + tt.from + "\nX-Forwarded-For: 203.0.113.9\nX-Forwarded-Host: shop.example\nX-Forwarded-Proto: https\n", "{}"})
		require.Equal(t, "https://a example.com", got.URL.Scheme+"://"+got.URL.Host+" "+got.Host)
		for header, want := range map[string]string{"X-Forwarded-For": tt.addresses, "X-Forwarded-Host": tt.host, "X-Forwarded-Proto": tt.proto} {
			require.Equal(t, want, got.Header.Get(header), tt.from)
		}
	}
}

func TestRouterOptionsAreChecked(t *testing.T) {
	at := func(address string) *url.URL { return must(url.Parse(address))(t) }
	must(mcphttp.NewRouter(map[string]*url.URL{"a": at("https://h:8443/")}, nil))(t).Close()
	for _, instances := range []map[string]*url.URL{
		nil, {"a": nil}, {"": at("http://h")}, {"a.b": at("http://h")}, {"a": at("http:")}, {"a": at("ftp://h")}, {"a": at("http://h/mcp")}, {"a": at("http://h?x=1")}, {"a": at("http://u:p@h")},
	} {
		_, err := mcphttp.NewRouter(instances, nil)
		require.ErrorAs(t, err, new(*mcphttp.UsageError), "%v", instances)
	}
	for _, opts := range []mcphttp.RouterOptions{{Every: -1}, {Within: -1}} {
		_, err := mcphttp.NewRouter(map[string]*url.URL{"a": at("http://h")}, &opts)
		require.ErrorAs(t, err, new(*mcphttp.UsageError), "%+v", opts)
	}
}

func TestSessionIDs(t *testing.T) {
	next := mcphttp.SessionIDs("eu-2")
	one, two := next(), next()
	require.NotEqual(t, one, two)
	require.Regexp(t, `^eu-2\.[A-Z2-7]{26}$`, one)
	require.Panics(t, func() { mcphttp.SessionIDs("eu.2") })
}
