// Package badanswer answers MCP requests over HTTP in the ways that hurt a client which
// trusts its server, for tests of clients that must not.
package badanswer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Answer writes the response to the request with an id.
type Answer func(w http.ResponseWriter, r *http.Request, id json.RawMessage)

// Respond answers with a result, as a server should.
func Respond(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// Silence sends nothing until the client is gone.
func Silence(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }

// Break closes the connection.
func Break(http.ResponseWriter, *http.Request, json.RawMessage) { panic(http.ErrAbortHandler) }

// Endlessly writes part until the client is gone.
func Endlessly(kind, begin, part string) Answer {
	return func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
		w.Header().Set("Content-Type", kind)
		_, err := io.WriteString(w, begin)
		for block := strings.Repeat(part, 1+(1<<16)/len(part)); err == nil && r.Context().Err() == nil; {
			_, err = io.WriteString(w, block)
		}
	}
}

// Notification is an event with so many bytes of data.
func Notification(size int) string {
	return `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", size) + `"}}` + "\n\n"
}

// Trickle sends a notification ten times a second until the client is gone.
func Trickle(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, Notification(1))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
}

// OpenStream answers with a result on a stream that it does not end.
func OpenStream(result string) Answer {
	return func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, result)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}
