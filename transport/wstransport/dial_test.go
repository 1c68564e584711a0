package wstransport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/sse"
)

// Both eras are asked over wss, by a server that offers HTTP/2 as well.
func TestBothErasOverTLS(t *testing.T) {
	server := wire.NewTripServer(sse.Bridge(wire.Trip, nil))
	handler, err := NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	require.NoError(t, err)
	web := httptest.NewUnstartedServer(handler)
	web.EnableHTTP2 = true
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	url := "wss" + strings.TrimPrefix(web.URL, "https")
	_, err = Dial(t.Context(), url, nil)
	require.ErrorAs(t, err, new(*tls.CertificateVerificationError))
	pool := x509.NewCertPool()
	pool.AddCert(web.Certificate())
	for version, rounds := range map[string]int{wire.Legacy: 1, wire.Modern: 3} {
		transport, err := Dial(t.Context(), url, &DialOptions{TLSConfig: &tls.Config{RootCAs: pool}})
		require.NoError(t, err)
		client, err := wire.Dial(t.Context(), transport, &wire.Options{Version: version})
		require.NoError(t, err)
		res, err := client.Call(t.Context(), "trip", map[string]any{"who": "Ada"}, wire.TripAnswers)
		require.NoError(t, err)
		require.JSONEq(t, `{"text":"Ada goes to Lisbon by train"}`, string(res.Structured))
		require.Equal(t, rounds, res.Rounds)
		require.NoError(t, client.Close())
	}
	require.NoError(t, handler.Shutdown(t.Context()))
}

func TestDialIsRefused(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("Www-Authenticate", "Bearer")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		ws, err := (&websocket.Upgrader{Subprotocols: []string{"another"}}).Upgrade(w, r, nil)
		if err == nil {
			_, _, err = ws.ReadMessage()
			require.Equal(t, 1002, err.(*websocket.CloseError).Code)
			_ = ws.Close()
		}
	}))
	defer web.Close()
	url := "ws" + strings.TrimPrefix(web.URL, "http")
	_, err := Dial(t.Context(), url, nil)
	var refused *RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "Bearer", refused.Header.Get("Www-Authenticate"))
	require.EqualError(t, err, "wstransport: refused with status 401: who are you?")
	_, err = Dial(t.Context(), url, &DialOptions{Header: http.Header{"Authorization": {"x"}}})
	require.EqualError(t, err, `wstransport: closed with code 1002: the server did not select the subprotocol "mcp"`)
	for _, wrong := range []string{"http://127.0.0.1:1/", "ws://127.0.0.1:1/"} {
		_, err := Dial(context.Background(), wrong, nil)
		require.ErrorContains(t, err, "wstransport: dialing "+wrong)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []HandlerOptions{{MaxMessageBytes: -1}, {MaxConnections: -1}, {MaxCalls: -1}, {MaxCallsPerPrincipal: -1}, {AllowedOrigins: []string{"*"}}, {AllowedHosts: []string{""}}} {
		_, err := NewHandler(func(*http.Request) *mcp.Server { return nil }, &o)
		require.ErrorAs(t, err, new(*UsageError))
	}
	_, err := NewHandler(nil, nil)
	require.ErrorAs(t, err, new(*UsageError))
	_, err = Dial(t.Context(), "ws://127.0.0.1:1/", &DialOptions{MaxMessageBytes: -1})
	require.ErrorAs(t, err, new(*UsageError))
}

// A server that retires is not ready and still serves. Shutdown lets a running call answer,
// refuses new connections and calls, completes subscriptions, and says 1001.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, HandlerOptions{})
		ready := func(status int) {
			w := httptest.NewRecorder()
			s.ServeReady(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
			require.Equal(t, []any{status, status == http.StatusOK}, []any{w.Code, s.Ready()})
		}
		ready(http.StatusOK)
		s.Retire()
		ready(http.StatusServiceUnavailable)
		idle, busy, listening := s.dial(""), s.dial(""), s.dial("")
		s.wait(busy, "1")
		listening.send(request("9", "subscriptions/listen", `"notifications":{"toolsListChanged":true},`))
		require.Empty(t, listening.next().ID, "acknowledged")
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(t.Context()) }()
		require.Equal(t, 1001, idle.code())
		end := listening.next()
		require.Equal(t, "9", string(end.ID))
		require.JSONEq(t, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":9}}`, string(end.Result))
		require.Equal(t, 1001, listening.code())
		_, status := s.connect("")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "shutdown", <-s.refusals)
		busy.send(call("2", "echo", "{}"))
		require.Equal(t, -31001, busy.next().Error.Code)
		require.Equal(t, "shutdown", <-s.refusals)
		time.Sleep(time.Hour)
		require.Empty(t, down, "a call is still running")
		close(s.release)
		require.Contains(t, string(busy.next().Result), "over")
		require.Equal(t, 1001, busy.code())
		require.NoError(t, <-down)
		require.NoError(t, s.Shutdown(t.Context()), "again is harmless")
		require.Empty(t, s.causes)
	})
}

// When there is no time left, results that exist go out, also one that waits behind another
// to be written, and calls that run are answered and cancelled. The same holds when the
// context of the connection's request ends.
func TestCutOff(t *testing.T) {
	for _, by := range []string{"shutdown", "request"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, HandlerOptions{})
			base, cancel := context.WithCancel(t.Context())
			s.base = base
			p, _ := s.connect("")
			p.send(call("1", "echo", `"`+strings.Repeat("x", 1<<17)+`"`))
			p.send(call("2", "echo", "{}"))
			s.wait(p, "3")
			p.send(call("3", "wait", "3")) // again
			synctest.Wait()
			cancel()
			if by == "shutdown" {
				require.ErrorIs(t, s.Shutdown(base), context.Canceled, "nobody reads")
				return
			}
			go p.pump()
			answers := map[string]int{}
			for range 4 {
				m := p.next()
				if m.Error != nil {
					require.Equal(t, 1001, m.Error.Code)
					answers[string(m.ID)]++
					continue
				}
				answers["results"]++
			}
			require.Equal(t, map[string]int{"results": 2, "3": 2}, answers)
			require.Equal(t, 1001, p.code(), "nothing comes twice")
			require.ErrorContains(t, <-s.causes, "1001")
			_ = p.Close()
			<-s.served
		})
	}
}

// A server that closes one session says 1000.
func TestTheServerClosesASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, HandlerOptions{})
		p := s.dial("")
		synctest.Wait()
		for session := range s.server.Sessions() {
			require.NoError(t, session.Close())
		}
		require.Equal(t, 1000, p.code())
		<-s.served
	})
}
