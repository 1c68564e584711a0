package wstransport_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/wstransport"
)

// acceptRaw listens for connections and hands them over as they are.
func acceptRaw(t *testing.T, subprotocols ...string) (<-chan *websocket.Conn, string) {
	t.Helper()
	if subprotocols == nil {
		subprotocols = []string{wstransport.Subprotocol}
	}
	upgrader := websocket.Upgrader{Subprotocols: subprotocols}
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err == nil {
			accepted <- ws
			t.Cleanup(func() { _ = ws.Close() })
		}
	}))
	t.Cleanup(server.Close)
	return accepted, "ws" + strings.TrimPrefix(server.URL, "http")
}

func TestDialRequiresTheSubprotocol(t *testing.T) {
	accepted, url := acceptRaw(t, "something else")
	transport, err := wstransport.Dial(t.Context(), url, nil)
	require.Nil(t, transport)
	requireClose(t, err, 1002, false)
	require.ErrorContains(t, err, "subprotocol")
	require.Equal(t, 1002, closeCode(t, receive(t, accepted)))
}

func TestDialRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Www-Authenticate", "Bearer")
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}))
	defer server.Close()
	_, err := wstransport.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http"), nil)
	var refused *wstransport.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusUnauthorized, refused.StatusCode)
	require.Equal(t, "Bearer", refused.Header.Get("Www-Authenticate"))
	require.Equal(t, "who are you?", refused.Message)
	require.ErrorContains(t, err, "401")
}

func TestDialErrors(t *testing.T) {
	cases := []struct {
		explanation, url string
		opts             *wstransport.DialOptions
	}{
		{"an address of another scheme", "http://127.0.0.1:1/", nil},
		{"nobody listens", "ws://127.0.0.1:1/", nil},
		{"a negative limit", "ws://127.0.0.1:1/", &wstransport.DialOptions{Limits: wstransport.Limits{MaxMessageBytes: -1}}},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			_, err := wstransport.Dial(t.Context(), c.url, c.opts)
			require.ErrorContains(t, err, "wstransport: ")
		})
	}
}
