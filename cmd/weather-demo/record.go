package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options"
)

// recorder puts the events of a call into one order: messages on the wire, events
// of the engine, charges.
type recorder struct {
	card    *options.Card
	watch   func(moment)                                // called with each moment, one at a time; may be nil
	inspect func(state string) (json.RawMessage, error) // opens a state, as the server does

	mu      sync.Mutex
	entered int
	charged int
}

// moment is one event. One of its first four fields is set.
type moment struct {
	toServer json.RawMessage
	toClient json.RawMessage
	event    *observe.Event
	charged  string

	inspect func(state string) (json.RawMessage, error) // opens a state, as the server does
}

// Observe records an event of the engine.
func (r *recorder) Observe(_ context.Context, e observe.Event) { r.add(moment{event: &e}) }

func (r *recorder) add(m moment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.card.Charges()[r.charged:] {
		r.charged++
		r.tell(moment{charged: line})
	}
	if m.event != nil && m.event.Kind == observe.HandlerEntered {
		r.entered++
	}
	r.tell(m)
}

func (r *recorder) tell(m moment) {
	if r.watch != nil {
		m.inspect = r.inspect
		r.watch(m)
	}
}

// recording puts a transport into one that records each message.
func (r *recorder) recording(t mcp.Transport) mcp.Transport { return recordingTransport{t, r} }

// recordingTransport is a transport that records each message.
type recordingTransport struct {
	mcp.Transport
	to *recorder
}

func (t recordingTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	return recordingConn{conn, t.to}, err
}

type recordingConn struct {
	mcp.Connection
	to *recorder
}

func (c recordingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if err == nil {
		c.to.add(moment{toClient: encode(msg)})
	}
	return msg, err
}

func (c recordingConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	c.to.add(moment{toServer: encode(msg)})
	return c.Connection.Write(ctx, msg)
}

func encode(msg jsonrpc.Message) json.RawMessage {
	raw, _ := jsonrpc.EncodeMessage(msg) // it was decoded, or is about to be encoded
	return raw
}

// connection is a client of a server in memory that has a runtime of its own.
type connection struct {
	*wire.Client
	runtime *mrtr.Runtime
}

// connect makes a runtime, a server with the tools that register adds, and a client. Its
// transport goes through within, if that is not nil.
func connect(ctx context.Context, opts *mrtr.Options, client *wire.Options, register func(*mrtr.Runtime, *mcp.Server), within func(mcp.Transport) mcp.Transport) (_ *connection, err error) {
	c := &connection{}
	if c.runtime, err = mrtr.New(opts); err != nil {
		return nil, err
	}
	server := mcp.NewServer(weather.Implementation, nil)
	register(c.runtime, server)
	serverSide, clientSide := mcp.NewInMemoryTransports()
	var transport mcp.Transport = clientSide
	if within != nil {
		transport = within(transport)
	}
	if _, err = server.Connect(ctx, serverSide, nil); err == nil {
		c.Client, err = wire.Dial(ctx, transport, client)
	}
	if err != nil {
		return nil, errors.Join(err, c.runtime.Close())
	}
	return c, nil
}

func (c *connection) close() {
	_ = c.Client.Close()
	_ = c.runtime.Close()
}

// answering is the request after a reply that asks one question.
func answering(request wire.Request, reply *wire.Reply, answer wire.Answer) wire.Request {
	q := reply.Asks[0]
	request.State, request.Responses = reply.State, map[string]any{q.Key: answer(q)}
	return request
}
