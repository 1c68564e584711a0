package prove_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/prove"
)

// badAnswer writes the response to the request with an id, in a way that hurts a client
// which trusts its server.
type badAnswer func(w http.ResponseWriter, r *http.Request, id json.RawMessage)

// respond answers with a result, as a server should.
func respond(w http.ResponseWriter, id json.RawMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// silence sends nothing until the client is gone.
func silence(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }

// hangUp closes the connection.
func hangUp(http.ResponseWriter, *http.Request, json.RawMessage) { panic(http.ErrAbortHandler) }

// endlessly writes part until the client is gone.
func endlessly(kind, begin, part string) badAnswer {
	return func(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
		w.Header().Set("Content-Type", kind)
		_, err := io.WriteString(w, begin)
		for block := strings.Repeat(part, 1+(1<<16)/len(part)); err == nil && r.Context().Err() == nil; {
			_, err = io.WriteString(w, block)
		}
	}
}

// notification is an event with so many bytes of data.
func notification(size int) string {
	return `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", size) + `"}}` + "\n\n"
}

// trickle sends a notification ten times a second until the client is gone.
func trickle(w http.ResponseWriter, r *http.Request, _ json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, notification(1))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
		}
	}
}

// openStream answers with a result on a stream that it does not end.
func openStream(result string) badAnswer {
	return func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, result)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

// hostile answers as a tool that asks once does, except to one method, or in the
// parts that are set.
type hostile struct {
	method           string
	answer           badAnswer
	tools, asks, end string
	sweeps           bool   // it also shakes hands, and asks nothing
	unknown          string // a method that it refuses
}

const (
	plainTool  = `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
	plainForm  = `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`
	plainReply = `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`
)

func asking(question string) string {
	return `{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":` + question + `}}},"requestState":"s"}`
}

func (h hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Responses json.RawMessage `json:"inputResponses"`
		}
	}
	body, _ := io.ReadAll(r.Body)
	if json.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	or := func(text, otherwise string) string {
		if text == "" {
			return otherwise
		}
		return text
	}
	switch {
	case request.Method == h.method || h.method == "answered" && request.Params.Responses != nil:
		h.answer(w, r, request.ID)
	case h.unknown != "" && request.Method == h.unknown:
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, request.ID)
	case request.Method == "tools/list":
		respond(w, request.ID, `{"resultType":"complete","tools":`+or(h.tools, "["+plainTool+"]")+`}`)
	case h.sweeps && request.Method == "initialize":
		respond(w, request.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	case h.sweeps && request.Method == "tools/call":
		respond(w, request.ID, `{"resultType":"complete","content":[],"structuredContent":{"a":1}}`)
	case h.sweeps:
		w.WriteHeader(http.StatusAccepted)
	case request.Method == "tools/call" && request.Params.Responses == nil:
		respond(w, request.ID, or(h.asks, asking(plainForm)))
	case request.Method == "tools/call":
		respond(w, request.ID, or(h.end, plainReply))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// overPipes serves HTTP over pipes in memory, so that the server and its client can
// stand in one bubble of testing/synctest. The transport reaches the server under any URL.
func overPipes(t *testing.T, handler http.Handler) *http.Transport {
	l := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(l) }() // it returns when the server is closed
	transport := &http.Transport{DialContext: l.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close() // a pipe closes without an error
	})
	return transport
}

// dialPipes is the way to such a server.
func dialPipes(t *testing.T, handler http.Handler) prove.Dial {
	return prove.HTTP("http://s", &http.Client{Transport: overPipes(t, handler)})
}

type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l pipes) Close() error   { close(l.closed); return nil }
func (l pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
