package interop_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// tapWebSocket puts a counting relay in front of the server and returns its
// URL. The server is dialled with the Host and Origin of the client, so that it
// judges those and not the relay's.
func tapWebSocket(t *testing.T, w *counter, target string) string {
	t.Helper()
	upgrader := websocket.Upgrader{
		Subprotocols: []string{"mcp"},
		CheckOrigin:  func(*http.Request) bool { return true },
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		header := http.Header{"Host": {r.Host}}
		if origin := r.Header.Get("Origin"); origin != "" {
			header.Set("Origin", origin)
		}
		dialer := websocket.Dialer{Subprotocols: websocket.Subprotocols(r)}
		upstream, response, err := dialer.DialContext(r.Context(), target+r.URL.Path, header)
		if err != nil {
			if response != nil {
				rw.WriteHeader(response.StatusCode)
			}
			return
		}
		defer upstream.Close()
		client, err := upgrader.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		defer client.Close()
		go func() {
			// Either side's end ends the other, and so both loops.
			defer upstream.Close()
			relayFrames(upstream, client, w.fromClient)
		}()
		relayFrames(client, upstream, w.fromServer)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http", "ws", 1)
}

func relayFrames(to, from *websocket.Conn, note func([]byte)) {
	for {
		kind, message, err := from.ReadMessage()
		if err != nil {
			return
		}
		note(message)
		if to.WriteMessage(kind, message) != nil {
			return
		}
	}
}
