package mcphttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/transport/mcphttp"
)

// opener opens sessions at h directly, without a socket, as users with names.
type opener struct {
	t *testing.T
	h http.Handler
}

func newOpener(t *testing.T, h http.Handler) opener {
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: token, Expiration: time.Now().Add(time.Hour)}, nil
	}
	named := auth.RequireBearerToken(verify, nil)(h)
	return opener{t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			h.ServeHTTP(w, r)
			return
		}
		named.ServeHTTP(w, r)
	})}
}

func (o opener) post(user, session, body string) *httptest.ResponseRecorder {
	o.t.Helper()
	return direct(o.t.Context(), o.h, body, inSession(session, func(r *http.Request) {
		if user != "" {
			r.Header.Set("Authorization", "Bearer "+user)
		}
	}))
}

func (o opener) open(user string) string {
	o.t.Helper()
	w := o.post(user, "", initializeBody)
	require.Equal(o.t, http.StatusOK, w.Code, w.Body)
	id := w.Header().Get("Mcp-Session-Id")
	require.NotEmpty(o.t, id)
	return id
}

func (o opener) alive(user, session string) bool {
	o.t.Helper()
	return o.post(user, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Code == http.StatusOK
}

func newHandler(t *testing.T, server *mcp.Server, opts *mcphttp.HandlerOptions) *mcphttp.Handler {
	t.Helper()
	h := must(newFront(func(*http.Request) *mcp.Server { return server }, opts))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, h.Shutdown(ctx), "something of the test is still running")
	})
	return h
}

// The sessions of those whom nobody knows, busy as they may be, leave a quarter to others.
func TestSessionsOfTheCrowdAreBounded(t *testing.T) {
	h := newHandler(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{MaxSessions: 4})
	o := newOpener(t, h)
	ann := o.open("ann")
	crowd := []string{o.open(""), o.open(""), o.open(""), o.open("")}
	require.True(t, o.alive("ann", ann), "the crowd made room for itself")
	require.False(t, o.alive("", crowd[0]))
	require.True(t, o.alive("", crowd[3]))
}

func TestTheLongestIdleSessionMakesRoom(t *testing.T) {
	h := newHandler(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{MaxSessions: 3})
	o := newOpener(t, h)
	first, second, third := o.open(""), o.open(""), o.open("")
	require.True(t, o.alive("", first))
	fourth := o.open("")
	require.Equal(t, 3, mcphttp.OpenSessions(h))
	require.Eventually(t, func() bool { return !o.alive("", second) }, 30*time.Second, time.Millisecond)
	for _, id := range []string{first, third, fourth} {
		require.True(t, o.alive("", id))
	}
}

// One user with many sessions ends sessions of their own alone.
func TestSessionsOfAPrincipalAreBounded(t *testing.T) {
	h := newHandler(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{MaxSessions: 10, MaxSessionsPerPrincipal: 2})
	o := newOpener(t, h)
	bob := o.open("bob")
	var last string
	for range 20 {
		last = o.open("alice")
	}
	require.Equal(t, 3, mcphttp.OpenSessions(h))
	require.True(t, o.alive("bob", bob))
	require.True(t, o.alive("alice", last))
	require.False(t, o.alive("bob", last), "go-sdk refuses the sessions of another")
}

// A session with a call in flight is not ended for another; when all have one, the
// next is refused.
func TestBusySessionsAreNotEvicted(t *testing.T) {
	s := newWaiting(true)
	h := newHandler(t, s.server, &mcphttp.HandlerOptions{MaxSessions: 1})
	o := newOpener(t, h)
	id := o.open("")
	called := make(chan *httptest.ResponseRecorder)
	go func() { called <- o.post("", id, callBody("1", `"x":0`)) }()
	<-s.began
	refused := o.post("", "", initializeBody)
	require.Equal(t, http.StatusServiceUnavailable, refused.Code)
	require.Contains(t, refused.Body.String(), "too many sessions")
	require.NotEmpty(t, refused.Header().Get("Retry-After"))
	close(s.release)
	require.Contains(t, (<-called).Body.String(), "over")
	o.open("")
}

// go-sdk keeps the message that opened a session, decoded, for as long as it lives.
func TestInitializeIsBounded(t *testing.T) {
	initialize := func(size int) string {
		return strings.Replace(initializeBody, `"name":"x"`, `"name":"`+strings.Repeat("x", size)+`"`, 1)
	}
	h := newHandler(t, wire.NewTripServer(wire.Trip), &mcphttp.HandlerOptions{MaxSessions: 10, MaxInitializeBytes: 9000})
	o := newOpener(t, h)
	require.Equal(t, http.StatusRequestEntityTooLarge, o.post("", "", initialize(9000)).Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, o.post("", "", "["+initialize(5000)+","+initialize(5000)+"]").Code)
	id := o.open("")
	require.Equal(t, http.StatusRequestEntityTooLarge, o.post("", id, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":{"x":"`+strings.Repeat("x", 5000)+`"}}}`).Code)
	for range 10 {
		require.Equal(t, http.StatusOK, o.post("", "", initialize(8000)).Code)
	}
	require.Equal(t, 2, mcphttp.OpenSessions(h), "2 KiB for each of 10 sessions are room for two of 8 KB")
}

// A session that go-sdk does not keep takes no place, nor does one that its client ended.
func TestPlacesAreGivenBack(t *testing.T) {
	h := newHandler(t, wire.NewTripServer(wire.Trip), nil)
	o := newOpener(t, h)
	o.post("", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`)
	o.post("", "", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	require.Zero(t, mcphttp.OpenSessions(h))
	id := o.open("alice")
	r := httptest.NewRequest(http.MethodDelete, "/", nil)
	r.Header.Set("Mcp-Session-Id", id)
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, 1, mcphttp.OpenSessions(h), "of another user")
	r.Header.Set("Authorization", "Bearer alice")
	o.h.ServeHTTP(httptest.NewRecorder(), r)
	require.Zero(t, mcphttp.OpenSessions(h))
}

// silent is a connection on which nothing ever comes.
type silent struct {
	mcp.Connection
	done chan struct{}
}

func (s silent) Connect(context.Context) (mcp.Connection, error) { return s, nil }
func (s silent) SessionID() string                               { return "" }
func (s silent) Close() error                                    { return nil }
func (s silent) Read(context.Context) (m jsonrpc.Message, err error) {
	<-s.done
	return nil, fmt.Errorf("over")
}

// Where thousands are open, the next session allocates as much as the first did.
func TestOpeningCostsTheSame(t *testing.T) {
	server := wire.NewTripServer(wire.Trip)
	h := newHandler(t, server, nil)
	o := newOpener(t, h)
	cost := func() uint64 {
		const times = 20
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range times {
			o.open("")
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / times
	}
	least := func() uint64 { return min(cost(), cost(), cost()) } // the collector empties pools now and then
	first := least()
	done := make(chan struct{})
	defer close(done)
	const many = 20_000
	for range many {
		must(server.Connect(context.Background(), silent{done: done}, nil))(t)
	}
	require.Less(t, least(), first+many*8/4, "a copy of the list of sessions is 8 bytes for each")
}

// The subscriptions of a client are bounded, in both eras.
func TestSubscriptionsAreBounded(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	h, url := front(t, server, nil)
	o := newOpener(t, h)
	session := o.open("")
	subscribe := func(session, method, address string) (int, string) {
		w := o.post("", session, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":%q}}`, method, address))
		return w.Code, w.Body.String()
	}
	for i := range 1000 {
		status, body := subscribe(session, "resources/subscribe", fmt.Sprintf("test://%d", i))
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, body, `"result"`)
	}
	status, body := subscribe(session, "resources/subscribe", "test://more")
	require.Equal(t, http.StatusTooManyRequests, status)
	require.Contains(t, body, `"id":1`)
	require.Contains(t, body, "too many subscriptions")
	_, body = subscribe(session, "resources/unsubscribe", "test://1")
	require.Contains(t, body, `"result"`)
	_, body = subscribe(session, "resources/subscribe", "test://more")
	require.Contains(t, body, `"result"`)
	status, _ = subscribe(o.open(""), "resources/subscribe", strings.Repeat("x", 70_000))
	require.Equal(t, http.StatusTooManyRequests, status)

	many := `[` + initializeBody + strings.Repeat(`,{"jsonrpc":"2.0","id":5,"method":"resources/subscribe","params":{"uri":"x"}}`, 5) + `]`
	require.Equal(t, http.StatusBadRequest, o.post("", "", many).Code)

	for filter, code := range map[string]int{`"resourceSubscriptions":["` + strings.Repeat("x", 70_000) + `"]`: -32602, `"taskIds":["x"]`: -32021} {
		res := send(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{`+filter+
			`},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, func(r *http.Request) {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", "subscriptions/listen")
		})
		require.Equal(t, http.StatusBadRequest, res.status)
		require.Contains(t, res.body, fmt.Sprintf(`"id":2,"error":{"code":%d`, code))
	}
}
