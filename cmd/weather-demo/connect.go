package main

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

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
