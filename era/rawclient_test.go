package era_test

import (
	"bufio"
	"bytes"
	"context"
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

// rawClient speaks JSON-RPC and nothing more. go-sdk's own client retries on
// inputRequests in any era and so hides what a server leaks; this one takes every
// result as it comes, answers what it is asked, and keeps count.
type rawClient struct {
	version string
	answer  func(question) reply
	post    func(context.Context, jsonrpc.Message) error
	hangUp  func()

	mu      sync.Mutex
	nextID  int64
	waiting map[string]chan *jsonrpc.Response
	asked   []question
	notices []notice
	calls   int
}

// question is a request that the server made of the client.
type question struct {
	Method string
	Params map[string]any
}

func (q question) message() string { s, _ := q.Params["message"].(string); return s }

// reply is what the client's user does. The zero reply never comes.
type reply struct {
	result any
	err    *jsonrpc.Error
}

type notice struct {
	Method string
	Params map[string]any
}

func accept(content map[string]any) reply {
	return reply{result: map[string]any{"action": "accept", "content": content}}
}

func act(action string) reply { return reply{result: map[string]any{"action": action}} }

// dial connects in memory and, unless version is modern, does the handshake.
func dial(ctx context.Context, server *mcp.Server, version string, caps any, answer func(question) reply) (*rawClient, error) {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		return nil, err
	}
	conn, err := clientSide.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := newRawClient(version, answer)
	c.post = conn.Write
	c.hangUp = func() { _ = conn.Close() }
	go func() {
		for {
			msg, err := conn.Read(ctx)
			if err != nil {
				c.lost()
				return
			}
			c.receive(ctx, msg)
		}
	}()
	return c, c.handshake(ctx, caps)
}

// dialHTTP does the same over streamable HTTP. sessionless clients get no
// handshake, as a server without sessions remembers none.
func dialHTTP(ctx context.Context, url, version string, caps any, answer func(question) reply) (*rawClient, error) {
	c := newRawClient(version, answer)
	var session string
	ctx, cancel := context.WithCancel(ctx)
	c.hangUp = cancel
	c.post = func(callCtx context.Context, msg jsonrpc.Message) error {
		body, err := jsonrpc.EncodeMessage(msg)
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if req, ok := msg.(*jsonrpc.Request); !ok || req.Method != "initialize" {
			c.mu.Lock()
			r.Header.Set("Mcp-Session-Id", session)
			c.mu.Unlock()
			r.Header.Set("Mcp-Protocol-Version", c.version)
			if ok && c.version >= "2026-07-28" {
				var named struct{ Name, URI string }
				_ = json.Unmarshal(req.Params, &named)
				r.Header.Set("Mcp-Method", req.Method)
				r.Header.Set("Mcp-Name", named.Name+named.URI)
			}
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			c.mu.Lock()
			session = id
			c.mu.Unlock()
		}
		if res.StatusCode == http.StatusAccepted {
			return res.Body.Close()
		}
		if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body)
			if msg, err := jsonrpc.DecodeMessage(text); err == nil {
				c.receive(ctx, msg)
				return nil
			}
			return fmt.Errorf("status %d: %s", res.StatusCode, text)
		}
		go func() {
			defer res.Body.Close()
			lines := bufio.NewScanner(res.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				if msg, err := jsonrpc.DecodeMessage([]byte(data)); err == nil {
					c.receive(ctx, msg)
				}
			}
		}()
		return nil
	}
	return c, c.handshake(ctx, caps)
}

func newRawClient(version string, answer func(question) reply) *rawClient {
	return &rawClient{version: version, answer: answer, waiting: map[string]chan *jsonrpc.Response{}}
}

func (c *rawClient) handshake(ctx context.Context, caps any) error {
	if c.version >= "2026-07-28" {
		return nil
	}
	return c.initialize(ctx, c.version, caps)
}

func (c *rawClient) initialize(ctx context.Context, version string, caps any) error {
	params := map[string]any{"protocolVersion": version, "clientInfo": map[string]any{"name": "raw", "version": "1"}}
	if caps != nil {
		params["capabilities"] = caps
	}
	res, err := c.request(ctx, "initialize", params)
	if err != nil {
		return err
	}
	var negotiated struct{ ProtocolVersion string }
	if err := json.Unmarshal(res, &negotiated); err != nil {
		return err
	}
	c.version = negotiated.ProtocolVersion
	return c.post(ctx, &jsonrpc.Request{Method: "notifications/initialized", Params: json.RawMessage(`{}`)})
}

// callTool sends one tools/call and returns its result as it was on the wire.
func (c *rawClient) callTool(ctx context.Context, name string, args, meta map[string]any) (map[string]any, error) {
	return c.call(ctx, "tools/call", map[string]any{"name": name, "arguments": args}, meta)
}

func (c *rawClient) call(ctx context.Context, method string, params, meta map[string]any) (map[string]any, error) {
	if meta != nil {
		params["_meta"] = meta
	}
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	raw, err := c.request(ctx, method, params)
	if err != nil {
		return nil, err
	}
	var res map[string]any
	return res, json.Unmarshal(raw, &res)
}

func (c *rawClient) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	_, ended, err := c.start(ctx, method, params)
	if err != nil {
		return nil, err
	}
	select {
	case res, ok := <-ended:
		if !ok {
			return nil, errors.New("connection lost")
		}
		return res.Result, res.Error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start sends a request and does not wait.
func (c *rawClient) start(ctx context.Context, method string, params any) (jsonrpc.ID, <-chan *jsonrpc.Response, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return jsonrpc.ID{}, nil, err
	}
	c.mu.Lock()
	c.nextID++
	id, _ := jsonrpc.MakeID(float64(c.nextID))
	ended := make(chan *jsonrpc.Response, 1)
	c.waiting[fmt.Sprint(id.Raw())] = ended
	c.mu.Unlock()
	return id, ended, c.post(ctx, &jsonrpc.Request{ID: id, Method: method, Params: raw})
}

func (c *rawClient) cancel(ctx context.Context, id jsonrpc.ID) error {
	params, _ := json.Marshal(map[string]any{"requestId": id.Raw()})
	return c.post(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
}

func (c *rawClient) receive(ctx context.Context, msg jsonrpc.Message) {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		c.mu.Lock()
		defer c.mu.Unlock()
		key := fmt.Sprint(m.ID.Raw())
		if ended, ok := c.waiting[key]; ok {
			delete(c.waiting, key)
			ended <- m
		}
	case *jsonrpc.Request:
		var params map[string]any
		_ = json.Unmarshal(m.Params, &params)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !m.IsCall() {
			c.notices = append(c.notices, notice{m.Method, params})
			return
		}
		q := question{m.Method, params}
		c.asked = append(c.asked, q)
		go func() {
			r := c.answer(q)
			res := &jsonrpc.Response{ID: m.ID}
			switch {
			case r.err != nil:
				res.Error = r.err
			case r.result != nil:
				res.Result, _ = json.Marshal(r.result)
			default:
				return
			}
			_ = c.post(ctx, res)
		}()
	}
}

func (c *rawClient) lost() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, ended := range c.waiting {
		delete(c.waiting, key)
		close(ended)
	}
}

func (c *rawClient) questions() []question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]question(nil), c.asked...)
}

func (c *rawClient) heard(method string) []notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []notice
	for _, n := range c.notices {
		if n.Method == method {
			out = append(out, n)
		}
	}
	return out
}

func (c *rawClient) callsMade() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls
}

// text is the text content of a tool result.
func text(res map[string]any) string {
	var b strings.Builder
	contents, _ := res["content"].([]any)
	for _, c := range contents {
		if m, ok := c.(map[string]any); ok {
			s, _ := m["text"].(string)
			b.WriteString(s)
		}
	}
	return b.String()
}

// modernMeta is what a modern client puts into every request.
func modernMeta(caps map[string]any) map[string]any {
	return map[string]any{
		mcp.MetaKeyProtocolVersion:    "2026-07-28",
		mcp.MetaKeyClientInfo:         map[string]any{"name": "raw", "version": "1"},
		mcp.MetaKeyClientCapabilities: caps,
	}
}
