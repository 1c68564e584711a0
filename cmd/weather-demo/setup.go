package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/statecodec"
)

// connection is a client of a server in memory that has a runtime of its own.
type connection struct {
	*wire.Client
	runtime *mrtr.Runtime
}

// connect makes a runtime, a server with the tools that register adds, and a client. Its
// transport goes through within, if that is not nil.
func connect(ctx context.Context, opts *mrtr.Options, client *wire.Options, register func(*mrtr.Runtime, *mcp.Server) error, within func(mcp.Transport) mcp.Transport) (_ *connection, err error) {
	c := &connection{}
	if c.runtime, err = mrtr.New(opts); err != nil {
		return nil, err
	}
	server := mcp.NewServer(weather.Implementation, nil)
	serverSide, inMemory := mcp.NewInMemoryTransports()
	var clientSide mcp.Transport = inMemory
	if within != nil {
		clientSide = within(clientSide)
	}
	if err = register(c.runtime, server); err == nil {
		_, err = server.Connect(ctx, serverSide, nil)
	}
	if err == nil {
		c.Client, err = wire.Dial(ctx, clientSide, client)
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

// sharing are the options of a runtime whose key others have too.
func sharing(key statecodec.Key) *mrtr.Options {
	return &mrtr.Options{State: &statecodec.Options{Keys: []statecodec.Key{key}}}
}

// answering is the request after a reply that asks one question.
func answering(request wire.Request, reply *wire.Reply, answer wire.Answer) wire.Request {
	q := reply.Asks[0]
	request.State, request.Responses = reply.State, map[string]any{q.Key: answer(q)}
	return request
}

// setup is a server with a boundary and a client, to provoke a mistake with.
type setup struct {
	runtime  mrtr.Options
	boundary boundary.Options
	client   wire.Options
	instead  weatherMaker // replaces weather_steps, if it is set
}

// act is the client's part: it makes requests, and returns the last reply.
type act func(context.Context, *wire.Client) (*wire.Reply, error)

// play has the client act.
func (s setup) play(ctx context.Context, a act) (*wire.Reply, error) {
	client, err := connect(ctx, &s.runtime, &s.client, func(rt *mrtr.Runtime, server *mcp.Server) error {
		addTools(server, rt, &options.Audit{}, false)
		addBrokenTools(server)
		if s.instead != nil {
			mrtr.AddTool(server, &mcp.Tool{Name: "weather_steps", Annotations: weather.ReadOnly}, s.instead(rt, &options.Audit{}))
		}
		if s.boundary.Logger == nil {
			s.boundary.Logger = slog.New(slog.DiscardHandler)
		}
		return boundary.Install(server, &s.boundary)
	}, nil)
	if err != nil {
		return nil, err
	}
	defer client.close()
	return a(ctx, client.Client)
}

// whole makes a call with all of its rounds.
func whole(tool, arguments string, answers wire.Answers) act {
	return func(ctx context.Context, c *wire.Client) (*wire.Reply, error) {
		out, err := c.Call(ctx, tool, json.RawMessage(arguments), answers)
		if err != nil {
			return nil, err
		}
		return &out.Reply, nil
	}
}

// only makes the first request of a call.
func only(tool, arguments string) act {
	return func(ctx context.Context, c *wire.Client) (*wire.Reply, error) {
		return c.Send(ctx, wire.Request{Name: tool, Arguments: json.RawMessage(arguments)})
	}
}

// twice begins a call and, while that waits for its user, another one.
func twice(tool, arguments string) act {
	return func(ctx context.Context, c *wire.Client) (*wire.Reply, error) {
		if _, err := only(tool, arguments)(ctx, c); err != nil {
			return nil, err
		}
		return only(tool, arguments)(ctx, c)
	}
}

// second makes a call of two rounds, whose second request change may alter.
func second(tool, arguments string, change func(*wire.Request)) act {
	return func(ctx context.Context, c *wire.Client) (*wire.Reply, error) {
		first, err := only(tool, arguments)(ctx, c)
		if err != nil {
			return nil, err
		}
		if !first.Incomplete() {
			return nil, errors.New("nothing was asked")
		}
		request := wire.Request{Name: tool, Arguments: json.RawMessage(arguments)}
		request = answering(request, first, firstChoices[first.Asks[0].Key])
		change(&request)
		return c.Send(ctx, request)
	}
}

type anything struct {
	Value float64 `json:"value"`
}

// addBrokenTools adds a tool that panics, one whose result is no JSON, and one
// that never returns.
func addBrokenTools(server *mcp.Server) {
	broken := func(name string, h mcp.ToolHandlerFor[struct{}, anything]) {
		mrtr.AddTool(server, &mcp.Tool{Name: name, Annotations: weather.ReadOnly}, h)
	}
	broken("panics", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, anything, error) {
		panic("a secret that belongs in the log")
	})
	broken("unsendable", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, anything, error) {
		return nil, anything{math.NaN()}, nil
	})
	broken("hangs", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, anything, error) {
		select {} // not even when its context ends
	})
}
