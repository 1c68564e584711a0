package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mrtr-go/sdk/lab/fleet"
)

// tapHTTP puts a counting proxy in front of the server and returns its URL.
func tapHTTP(t *testing.T, w *counter, target string) string {
	t.Helper()
	upstream := fleet.Must(url.Parse(target))(t)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		ModifyResponse: func(r *http.Response) error {
			r.Body = &tappedBody{body: r.Body, lines: bufio.NewReader(r.Body), counter: w}
			return nil
		},
		// A client that hangs up on its event stream is no news.
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.fromClient(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// tappedBody passes a response on line by line: a message is one line, with
// `data: ` before it in an event stream.
type tappedBody struct {
	body    io.Closer
	lines   *bufio.Reader
	counter *counter
	pending []byte
}

func (b *tappedBody) Read(p []byte) (int, error) {
	if len(b.pending) == 0 {
		line, err := b.lines.ReadBytes('\n')
		if len(line) == 0 {
			return 0, err
		}
		b.counter.fromServer([]byte(strings.TrimPrefix(string(line), "data: ")))
		b.pending = line
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

func (b *tappedBody) Close() error { return b.body.Close() }

// stdioTap is the command line that a stdio client starts in the server's
// place, and the file where the relay notes each message.
type stdioTap struct {
	argv []string
	file string
	read int64
}

func newStdioTap(t *testing.T, server ...string) *stdioTap {
	t.Helper()
	self := fleet.Must(os.Executable())(t)
	file := filepath.Join(t.TempDir(), "wire")
	return &stdioTap{argv: append([]string{self, tapCommand, file}, server...), file: file}
}

// drain counts into w the messages that the relay noted since the last drain.
func (s *stdioTap) drain(t *testing.T, w *counter) {
	t.Helper()
	file := fleet.Must(os.Open(s.file))(t)
	defer file.Close()
	fleet.Must(file.Seek(s.read, io.SeekStart))(t)
	noted := fleet.Must(io.ReadAll(file))(t)
	s.read += int64(len(noted))
	for line := range bytes.Lines(noted) {
		if line[0] == '>' {
			w.fromClient(line[1:])
		} else {
			w.fromServer(line[1:])
		}
	}
}

// relayStdio runs the server between the client's pipes. It returns when the
// server has ended, which a server does once its stdin is closed.
func relayStdio(file string, server []string) error {
	notes, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer notes.Close()
	process, err := fleet.Run(exec.Command(server[0], server[1:]...))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	pass := func(mark byte, to io.Writer, from io.Reader) error {
		for lines := bufio.NewReader(from); ; {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			mu.Lock()
			_, noted := notes.Write(append([]byte{mark}, line...))
			mu.Unlock()
			if _, err := to.Write(line); err != nil || noted != nil {
				return errors.Join(err, noted)
			}
		}
	}
	// Nobody waits for this one: it reads the client's pipe, which may stay open
	// after the server has ended.
	go func() {
		defer process.In.Close()
		_ = pass('>', process.In, os.Stdin)
	}()
	return errors.Join(pass('<', os.Stdout, process.Out), process.Wait())
}

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

const modernRevision = "2026-07-28"

// traffic is what passed between a client and the server during one call, as
// counted outside both.
type traffic struct {
	Calls         int // tools/call, prompts/get and resources/read requests
	ModernCalls   int // those among them that name the modern revision in _meta
	Elicitations  int // elicitation/create requests from the server
	InputRequired int // results of type input_required
	Leaked        int // results with questions or state and another type, or none
}

// counter counts the JSON-RPC messages of one connection. A tap hands over each
// message before it passes it on, so that a client that has its result finds
// everything that led to it counted.
type counter struct {
	mu   sync.Mutex
	seen traffic
}

func (w *counter) fromClient(message []byte) {
	var request struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &request) != nil {
		return
	}
	switch request.Method {
	case "tools/call", "prompts/get", "resources/read":
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen.Calls++
	if request.Params.Meta["io.modelcontextprotocol/protocolVersion"] == modernRevision {
		w.seen.ModernCalls++
	}
}

func (w *counter) fromServer(message []byte) {
	var sent struct {
		Method string `json:"method"`
		Result struct {
			Type      string          `json:"resultType"`
			Questions json.RawMessage `json:"inputRequests"`
			State     string          `json:"requestState"`
		} `json:"result"`
	}
	if json.Unmarshal(message, &sent) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case sent.Method == "elicitation/create":
		w.seen.Elicitations++
	case sent.Result.Type == "input_required":
		w.seen.InputRequired++
	case sent.Result.Questions != nil || sent.Result.State != "":
		w.seen.Leaked++
	}
}

// take returns the counts since the last take.
func (w *counter) take() traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = traffic{}
	return seen
}
