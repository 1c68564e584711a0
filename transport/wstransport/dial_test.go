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
