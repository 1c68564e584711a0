package fleet

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transport/wstransport"
)

// Must is the value of a call that must not fail: Must(f())(t).
func Must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// Request makes one HTTP request as a client of MCP does, though its body need not be a
// message. headers are pairs of names and values.
func Request(ctx context.Context, web *http.Client, method, url, body string, headers ...string) (res *http.Response, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	if res, err = web.Do(r); err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	read, err := io.ReadAll(res.Body)
	return res, string(read), err
}

// Lines runs a server over two pipes until the test ends. A line that it writes need not be a
// message. One that does not come in time, or never will, reads as "".
func Lines(t testing.TB, run func(in io.ReadCloser, out io.WriteCloser)) (write func(string), read func() string) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	lines, ended := make(chan string, 10), make(chan struct{})
	go func() {
		defer close(ended)
		run(fromClient, toClient)
		_ = toClient.Close()
		_ = fromClient.Close()
	}()
	go func() {
		defer close(lines)
		for in := bufio.NewReader(fromServer); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			lines <- strings.TrimSuffix(line, "\n")
		}
	}()
	t.Cleanup(func() {
		_ = toServer.Close()
		_ = fromServer.Close()
		<-ended
	})
	return func(line string) { _, _ = io.WriteString(toServer, line+"\n") }, // fails once the server is gone
		func() string {
			select {
			case line := <-lines:
				return line
			case <-time.After(30 * time.Second):
				return ""
			}
		}
}

// Socket opens a WebSocket, whose texts need not be messages. The error of a connection that
// has ended reads as a message with an error.
func Socket(t testing.TB, url string) (write func(string), read func() string) {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{wstransport.Subprotocol}}
	ws, _, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(url, "http"), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	return func(text string) { require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text))) },
		func() string {
			_, text, err := ws.ReadMessage()
			if err != nil {
				return fmt.Sprintf(`{"error":%q}`, err)
			}
			return string(text)
		}
}
