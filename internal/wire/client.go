// Package wire is a raw MCP client: JSON-RPC and no more. It retries nothing,
// repairs nothing and validates nothing. It sends each message as it was told
// to, answers a question with whatever JSON its script holds, and records every
// message in both directions. A client library hides many faults of a server,
// for instance a missing resultType, a second answer to one request, or
// questions leaked to a client that cannot answer them; this one shows them.
//
//	client, err := wire.Connect(ctx, server, nil)
//	...
//	defer client.Close()
//	out, err := client.Call(ctx, "weather", map[string]any{"location": "Lisbon"}, wire.Answers{
//		"units": wire.Value("metric"),
//	})
//	// out.Rounds, out.Questions, out.Text, out.Structured, out.IsError, out.Error
//
// # Both eras
//
// A modern client, the default, puts its version and capabilities into the _meta
// of each request. A legacy client ([Options.Version] before [Modern]) sends
// initialize first, and answers the questions that come over its connection.
//
// # Sending
//
// From the most comfortable to the rawest: [Client.Call], [Client.Run], [Client.Send],
// [Client.Exchange], [Client.Start] and [Client.Write].
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Revisions of the protocol, before and after input-required results.
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

// Capabilities are the JSON object in which a client declares the questions that
// it can be sent.
type Capabilities string

// Sets of capabilities that tests need often.
const (
	Everything Capabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`
	FormOnly   Capabilities = `{"elicitation":{"form":{}}}`
	URLOnly    Capabilities = `{"elicitation":{"url":{}}}`
	Nothing    Capabilities = `{}`
	// Omitted leaves the member out, which is not the same as declaring nothing.
	Omitted Capabilities = "omitted"
)

// Options describe the client. Nil, and the zero value, are a modern client
// that declares everything.
type Options struct {
	// Version is the revision the client asks for; Modern if empty.
	Version string
	// Capabilities are those it declares; Everything if empty.
	Capabilities Capabilities
	// TakesTasks declares the extension of tasks too, and follows a call that becomes one.
	TakesTasks bool
	// Handshake makes a modern client send initialize, as a legacy one does, and
	// leave out the _meta of its requests.
	Handshake bool
	// Name is the client's name in clientInfo; "client" if empty.
	Name string
	// Answers are the script for questions that come over the connection outside
	// of Call and Run, which bring their own.
	Answers Answers
	// Unrecorded keeps no record, so that a server which never stops talking does
	// not fill the memory: Messages, Asked and all counts are empty.
	Unrecorded bool
	// Bounded limits the intake from a server that nobody vouches for: the bytes of
	// an HTTP response, and the messages and bytes of any other connection.
	Bounded bool
}

// Client is one connection. Its methods may be used from several goroutines,
// except that concurrent Calls of a legacy client share one script of answers:
// a question over the connection does not say which call it belongs to.
type Client struct {
	opts Options
	link link
	gone chan struct{} // closed when the connection is

	mu      sync.Mutex
	version string // as negotiated
	nextID  int64
	waiting map[jsonrpc.ID]chan<- ended
	record  []recorded
	surplus int
	asked   []Question
	script  Answers
}

// link carries messages to the server, and hands those from it to
// [Client.receive].
type link interface {
	// send hands over one message. Where a request has a stream of its own, the
	// end of ctx hangs up on it, and the channel closes when the stream has ended;
	// otherwise the channel is nil.
	send(ctx context.Context, m jsonrpc.Message) (<-chan struct{}, error)
	close() error
}

// Connect dials a server in memory.
func Connect(ctx context.Context, server *mcp.Server, opts *Options) (*Client, error) {
	serverSide, clientSide := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, serverSide, nil); err != nil {
		return nil, err
	}
	return Dial(ctx, clientSide, opts)
}

// Dial connects over a transport with one connection, and shakes hands if the
// revision has that. ctx bounds only this; the connection lasts until
// [Client.Close]. An error of the handshake is a [*HandshakeError].
func Dial(ctx context.Context, transport mcp.Transport, opts *Options) (*Client, error) {
	conn, err := transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := newClient(opts)
	if c.opts.Bounded {
		conn = &boundedConn{Connection: conn}
	}
	c.link = connLink{conn}
	go c.read(context.WithoutCancel(ctx), conn)
	return c.shakeHands(ctx)
}

// DialHTTP speaks streamable HTTP with the endpoint at url, one POST a message,
// and is otherwise as [Dial]. A nil client means one of its own. A request whose
// context ends is hung up on. The standing stream of a session is not opened, so
// the client is asked only on the streams of its requests; and Close does not end
// the session, as a client that vanishes does not.
func DialHTTP(ctx context.Context, url string, client *http.Client, opts *Options) (*Client, error) {
	c := newClient(opts)
	c.link = newHTTPLink(c, url, client)
	return c.shakeHands(ctx)
}

func newClient(opts *Options) *Client {
	c := &Client{gone: make(chan struct{}), waiting: map[jsonrpc.ID]chan<- ended{}}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Version == "" {
		c.opts.Version = Modern
	}
	if c.opts.Capabilities == "" {
		c.opts.Capabilities = Everything
	}
	if c.opts.TakesTasks {
		c.opts.Capabilities = withTasks(c.opts.Capabilities)
	}
	if c.opts.Name == "" {
		c.opts.Name = "client"
	}
	c.opts.Handshake = c.opts.Handshake || c.opts.Version < Modern
	c.version = c.opts.Version
	c.script = c.opts.Answers
	return c
}

// Close hangs up, and returns when the last message has been read.
func (c *Client) Close() error {
	err := c.link.close()
	<-c.gone
	return err
}

// Gone is closed when the connection is.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Handshaken reports whether the client began with initialize, as legacy clients
// do.
func (c *Client) Handshaken() bool { return c.opts.Handshake }

func (c *Client) shakeHands(ctx context.Context) (*Client, error) {
	if !c.opts.Handshake {
		return c, nil
	}
	if err := c.initialize(ctx); err != nil {
		_ = c.Close()
		return nil, &HandshakeError{err}
	}
	return c, nil
}

// HandshakeError is the failure of initialize, at a server that may be there.
type HandshakeError struct{ Cause error }

func (e *HandshakeError) Error() string { return "initialize: " + e.Cause.Error() }
func (e *HandshakeError) Unwrap() error { return e.Cause }

func (c *Client) initialize(ctx context.Context) error {
	params := map[string]any{"protocolVersion": c.opts.Version, "clientInfo": c.info()}
	if c.opts.Capabilities != Omitted {
		params["capabilities"] = json.RawMessage(c.opts.Capabilities)
	}
	res, err := c.Exchange(ctx, Request{Method: "initialize", Params: params})
	if err != nil {
		return err
	}
	if res.Error != nil {
		return res.Error
	}
	var negotiated struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(res.Result, &negotiated); err != nil {
		return err
	}
	c.mu.Lock()
	c.version = negotiated.Version
	c.mu.Unlock()
	return c.Write(ctx, &jsonrpc.Request{Method: "notifications/initialized", Params: json.RawMessage(`{}`)})
}

// Meta is the _meta that the client puts into its requests; nil after a
// handshake.
func (c *Client) Meta() map[string]any {
	if c.opts.Handshake {
		return nil
	}
	meta := map[string]any{mcp.MetaKeyProtocolVersion: c.opts.Version, mcp.MetaKeyClientInfo: c.info()}
	if c.opts.Capabilities != Omitted {
		meta[mcp.MetaKeyClientCapabilities] = json.RawMessage(c.opts.Capabilities)
	}
	return meta
}

func (c *Client) info() map[string]any { return map[string]any{"name": c.opts.Name, "version": "1"} }

// connLink is a connection that carries everything.
type connLink struct{ conn mcp.Connection }

func (l connLink) send(ctx context.Context, m jsonrpc.Message) (<-chan struct{}, error) {
	return nil, l.conn.Write(ctx, m)
}

func (l connLink) close() error { return l.conn.Close() }

func (c *Client) read(ctx context.Context, conn mcp.Connection) {
	defer close(c.gone)
	for {
		m, err := conn.Read(ctx)
		if err != nil {
			return
		}
		c.receive(ctx, m, 0)
	}
}

var errGone = errors.New("wire: the connection is gone")
