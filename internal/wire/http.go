package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpLink posts each message by itself.
type httpLink struct {
	client *Client
	url    string
	http   *http.Client
	open   context.Context // until the client closes
	hangUp context.CancelFunc
	posts  sync.WaitGroup

	mu      sync.Mutex
	session string
	closed  bool
}

func newHTTPLink(c *Client, url string, client *http.Client) *httpLink {
	if client == nil {
		client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	}
	l := &httpLink{client: c, url: url, http: client}
	l.open, l.hangUp = context.WithCancel(context.Background())
	return l
}

// send returns once the server took a notification or a response. A request is
// posted on a goroutine, for as long as it takes; ctx and closing hang up on it.
func (l *httpLink) send(ctx context.Context, m jsonrpc.Message) (<-chan struct{}, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errGone
	}
	l.posts.Add(1)
	l.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.open, cancel)
	post := func() error {
		defer l.posts.Done()
		defer cancel()
		defer stop()
		return l.post(ctx, m)
	}
	req, ok := m.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return nil, post()
	}
	stream := make(chan struct{})
	go func() {
		defer close(stream)
		err := post()
		if err == nil {
			err = errors.New("wire: the HTTP response ended without an answer to its request")
		}
		l.client.end(req.ID, ended{err: err}) // unless it was answered
	}()
	return stream, nil
}

func (l *httpLink) close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	l.hangUp()
	l.posts.Wait()
	l.http.CloseIdleConnections()
	if !again {
		close(l.client.gone)
	}
	return nil
}

// post sends a message and takes in all that the response holds.
func (l *httpLink) post(ctx context.Context, m jsonrpc.Message) error {
	body, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	l.setHeader(r.Header, m)
	res, err := l.http.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if l.client.opts.Bounded {
		res.Body = &boundedBody{res.Body, maxBody}
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		l.mu.Lock()
		l.session = id
		l.mu.Unlock()
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	if kind == "text/event-stream" {
		return l.readEvents(res)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if len(text) == 0 && res.StatusCode == http.StatusAccepted {
		return nil
	}
	return l.take(text, res)
}

// setHeader sets the headers that the revision of the message demands.
func (l *httpLink) setHeader(h http.Header, m jsonrpc.Message) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	l.mu.Lock()
	if l.session != "" {
		h.Set("Mcp-Session-Id", l.session)
	}
	l.mu.Unlock()
	req, ok := m.(*jsonrpc.Request)
	if ok && req.Method == "initialize" {
		return // which negotiates the version
	}
	l.client.mu.Lock()
	version := l.client.version
	l.client.mu.Unlock()
	var params struct {
		Meta map[string]any `json:"_meta"`
		Name string         `json:"name"`
		URI  string         `json:"uri"`
		Task string         `json:"taskId"`
	}
	if ok {
		_ = json.Unmarshal(req.Params, &params) // other params have none of these
	}
	if own, ok := params.Meta[mcp.MetaKeyProtocolVersion].(string); ok {
		version = own
	}
	h.Set("Mcp-Protocol-Version", version)
	if ok && version >= Modern {
		h.Set("Mcp-Method", req.Method)
		if name := params.Name + params.URI + params.Task; name != "" {
			h.Set("Mcp-Name", headerValue(name))
		}
	}
}

// headerValue encodes a name that a header cannot carry, as the revision demands.
func headerValue(name string) string {
	const prefix, suffix = "=?base64?", "?="
	unfit := func(c rune) bool { return c < ' ' || c > '~' }
	if !strings.ContainsFunc(name, unfit) && strings.TrimSpace(name) == name && !(strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)) {
		return name
	}
	return prefix + base64.StdEncoding.EncodeToString([]byte(name)) + suffix
}

// readEvents takes in one message an event, until the server ends the stream.
func (l *httpLink) readEvents(res *http.Response) error {
	lines := bufio.NewReader(res.Body)
	var data [][]byte
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimRight(line, "\r\n")
		if payload, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(payload, []byte(" ")))
		} else if event := bytes.Join(data, []byte("\n")); len(line) == 0 && len(event) > 0 {
			data = nil
			if err := l.take(event, res); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *httpLink) take(text []byte, res *http.Response) error {
	m, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return &StatusError{res.StatusCode, fmt.Sprintf("wire: HTTP status %s, and no JSON-RPC message: %q", res.Status, bytes.TrimSpace(text))}
	}
	l.client.receive(l.open, m, res.StatusCode)
	return nil
}

// StatusError is an HTTP response that is no JSON-RPC message, such as one of a proxy.
type StatusError struct {
	Code int
	text string
}

func (e *StatusError) Error() string { return e.text }

// The limits of a client with [Options.Bounded].
const (
	maxBody     = 16 << 20  // bytes of one HTTP response
	maxReceived = 128 << 20 // bytes of a connection that carries everything
	maxMessages = 100_000   // on such a connection
)

var (
	errLargeBody = fmt.Errorf("the response is larger than %d bytes", maxBody)
	errTalkative = fmt.Errorf("the server sent more than %d messages or %d bytes", maxMessages, maxReceived)
)

// boundedBody is the body of a response, and refuses to be read beyond its limit.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLargeBody
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// boundedConn ends a connection on which the server never stops talking. go-sdk
// bounds a single line.
type boundedConn struct {
	mcp.Connection
	messages, bytes int // of one reader
}

func (b *boundedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := b.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	b.messages++
	switch m := m.(type) {
	case *jsonrpc.Request:
		b.bytes += len(m.Params)
	case *jsonrpc.Response:
		b.bytes += len(m.Result)
	}
	if b.messages > maxMessages || b.bytes > maxReceived {
		return nil, errTalkative
	}
	return m, nil
}
