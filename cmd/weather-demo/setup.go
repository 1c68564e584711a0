package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// setup is a server with a boundary and a client, to provoke a mistake with.
type setup struct {
	runtime  mrtr.Options
	boundary boundary.Options
	client   wire.Options
	answers  wire.Answers
	// instead replaces weather_steps, if it is set.
	instead func(*mrtr.Runtime, *options.Audit) options.Handler
}

// calls makes one whole call.
func (s setup) calls(tool, arguments string) func(context.Context) (*wire.Reply, error) {
	return func(ctx context.Context) (reply *wire.Reply, err error) {
		err = s.connected(ctx, func(c *wire.Client) error {
			out, err := c.Call(ctx, tool, json.RawMessage(arguments), s.answers)
			if err == nil {
				reply = &out.Reply
			}
			return err
		})
		return reply, err
	}
}

// twice begins a call and, while that waits for its user, another one.
func (s setup) twice(tool, arguments string) func(context.Context) (*wire.Reply, error) {
	return func(ctx context.Context) (reply *wire.Reply, err error) {
		err = s.connected(ctx, func(c *wire.Client) (err error) {
			request := wire.Request{Name: tool, Arguments: json.RawMessage(arguments)}
			if _, err = c.Send(ctx, request); err == nil {
				reply, err = c.Send(ctx, request)
			}
			return err
		})
		return reply, err
	}
}

// secondRound makes a call of two rounds, whose second request change may alter.
func (s setup) secondRound(ctx context.Context, tool, arguments string, change func(*wire.Request)) (reply *wire.Reply, err error) {
	err = s.connected(ctx, func(c *wire.Client) error {
		request := wire.Request{Name: tool, Arguments: json.RawMessage(arguments)}
		first, err := c.Send(ctx, request)
		if err != nil {
			return err
		}
		if !first.Incomplete() {
			return errors.New("nothing was asked")
		}
		q := first.Asks[0]
		request.State = first.State
		request.Responses = map[string]any{q.Key: firstChoices[q.Key](q)}
		change(&request)
		reply, err = c.Send(ctx, request)
		return err
	})
	return reply, err
}

// secondRoundAlone is secondRound of a call about Lisbon.
func (s setup) secondRoundAlone(ctx context.Context, change func(*wire.Request)) (*wire.Reply, error) {
	return s.secondRound(ctx, "weather_native", lisbon, change)
}

// send makes one request.
func (s setup) send(ctx context.Context, request wire.Request) (reply *wire.Reply, err error) {
	err = s.connected(ctx, func(c *wire.Client) (err error) {
		reply, err = c.Send(ctx, request)
		return err
	})
	return reply, err
}

func (s setup) connected(ctx context.Context, f func(*wire.Client) error) error {
	rt, err := mrtr.New(&s.runtime)
	if err != nil {
		return err
	}
	defer rt.Close()
	server := newServer(rt, &options.Audit{}, false)
	addBrokenTools(server)
	if s.instead != nil {
		mcp.AddTool(server, &mcp.Tool{Name: "weather_steps", Annotations: readOnly}, s.instead(rt, &options.Audit{}))
	}
	if s.boundary.Logger == nil {
		s.boundary.Logger = slog.New(slog.DiscardHandler)
	}
	if err := boundary.Install(server, &s.boundary); err != nil {
		return err
	}
	client, err := wire.Connect(ctx, server, &s.client)
	if err != nil {
		return err
	}
	defer client.Close()
	return f(client)
}

type anything struct {
	Value float64 `json:"value"`
}

// addBrokenTools adds a tool that panics, one whose result is no JSON, and one
// that never returns.
func addBrokenTools(server *mcp.Server) {
	broken := func(name string, h mcp.ToolHandlerFor[struct{}, anything]) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: readOnly}, h)
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
