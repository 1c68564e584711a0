package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Revisions of the protocol, before and after input-required results.
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

// Capabilities is what a client declares, as JSON.
type Capabilities string

// Sets of capabilities that tests need often.
const (
	Everything Capabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`
	FormOnly   Capabilities = `{"elicitation":{"form":{}}}`
	URLOnly    Capabilities = `{"elicitation":{"url":{}}}`
	Nothing    Capabilities = `{}`
)

// Options describe the client. Nil, and the zero value, are a modern client
// that declares everything.
type Options struct {
	// Version is the revision the client speaks; Modern if empty.
	Version string
	// Capabilities are what it declares; Everything if empty.
	Capabilities Capabilities
	// Handshake makes a modern client send initialize, as an old one would, and
	// leave out the _meta of its requests.
	Handshake bool
}

// Client is one connection. Its methods may be used from several goroutines,
// except that the questions of concurrent Calls of an old client cannot be told
// apart.
type Client struct {
	opts Options
	conn mcp.Connection
	gone chan struct{} // closed when the connection is

	mu       sync.Mutex
	nextID   int64
	waiting  map[string]chan *jsonrpc.Response
	frames   []Frame
	requests map[string]int
	asked    []Question
	script   Answers
}

// Frame is one message, as it was on the wire.
type Frame struct {
	Sent    bool // by the client
	Message json.RawMessage
}

// Connect dials a server in memory.
func Connect(ctx context.Context, server *mcp.Server, opts *Options) (*Client, error) {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		return nil, err
	}
	return Dial(ctx, clientSide, opts)
}

// Dial connects over a transport, and shakes hands where the revision has
// that. The connection lasts until [Client.Close].
func Dial(ctx context.Context, transport mcp.Transport, opts *Options) (*Client, error) {
	c := &Client{
		gone:     make(chan struct{}),
		waiting:  map[string]chan *jsonrpc.Response{},
		requests: map[string]int{},
	}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Version == "" {
		c.opts.Version = Modern
	}
	if c.opts.Capabilities == "" {
		c.opts.Capabilities = Everything
	}
	c.opts.Handshake = c.opts.Handshake || c.opts.Version < Modern
	var err error
	if c.conn, err = transport.Connect(ctx); err != nil {
		return nil, err
	}
	go c.read(context.WithoutCancel(ctx))
	if c.opts.Handshake {
		if err := c.initialize(ctx); err != nil {
			_ = c.conn.Close()
			return nil, err
		}
	}
	return c, nil
}

// Close hangs up, and returns when the last frame has been read.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.gone
	return err
}

// Frames is everything that went over the wire so far, in order.
func (c *Client) Frames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Frame(nil), c.frames...)
}

// Requests counts the requests that the client sent with this method.
func (c *Client) Requests(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[method]
}

// Asked is what the server asked over the connection, which it may only do
// with an old client.
func (c *Client) Asked() []Question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Question(nil), c.asked...)
}

func (c *Client) initialize(ctx context.Context) error {
	res, err := c.request(ctx, "initialize", map[string]any{
		"protocolVersion": c.opts.Version,
		"capabilities":    json.RawMessage(c.opts.Capabilities),
		"clientInfo":      clientInfo,
	})
	if err != nil {
		return err
	}
	if res.Error != nil {
		return res.Error
	}
	return c.write(ctx, &jsonrpc.Request{Method: "notifications/initialized", Params: json.RawMessage(`{}`)})
}

var clientInfo = map[string]any{"name": "client", "version": "1"}

// meta is what a modern client puts into every request.
func (c *Client) meta() map[string]any {
	if c.opts.Handshake {
		return nil
	}
	return map[string]any{
		mcp.MetaKeyProtocolVersion:    c.opts.Version,
		mcp.MetaKeyClientInfo:         clientInfo,
		mcp.MetaKeyClientCapabilities: json.RawMessage(c.opts.Capabilities),
	}
}

// request sends a request and waits for its response.
func (c *Client) request(ctx context.Context, method string, params any) (*jsonrpc.Response, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.nextID++
	c.requests[method]++
	id, err := jsonrpc.MakeID(float64(c.nextID))
	response := make(chan *jsonrpc.Response, 1)
	c.waiting[fmt.Sprint(id.Raw())] = response
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := c.write(ctx, &jsonrpc.Request{ID: id, Method: method, Params: raw}); err != nil {
		return nil, err
	}
	select {
	case r := <-response:
		return r, nil
	case <-c.gone:
		return nil, errors.New("wire: the connection is gone")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) write(ctx context.Context, m jsonrpc.Message) error {
	c.record(true, m)
	return c.conn.Write(ctx, m)
}

func (c *Client) record(sent bool, m jsonrpc.Message) {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return // then it cannot be written either, which is reported
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames = append(c.frames, Frame{Sent: sent, Message: raw})
}

func (c *Client) read(ctx context.Context) {
	defer close(c.gone)
	for {
		m, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		c.record(false, m)
		switch m := m.(type) {
		case *jsonrpc.Response:
			c.mu.Lock()
			id := fmt.Sprint(m.ID.Raw())
			response := c.waiting[id]
			delete(c.waiting, id)
			c.mu.Unlock()
			if response != nil {
				response <- m
			}
		case *jsonrpc.Request:
			if m.IsCall() {
				go c.respond(ctx, m)
			}
		}
	}
}

// respond answers a question that came over the connection.
func (c *Client) respond(ctx context.Context, m *jsonrpc.Request) {
	q := askedOver(m)
	c.mu.Lock()
	c.asked = append(c.asked, q)
	script := c.script
	c.mu.Unlock()
	response := &jsonrpc.Response{ID: m.ID}
	answer, err := script.answer(q)
	switch {
	case err != nil:
		response.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	case answer == nil:
		response.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "no answer"}
	default:
		response.Result = answer
	}
	_ = c.write(ctx, response) // the connection may be gone, and the asker with it
}
