package main

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/stdio"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// register adds our tools to a server.
func register(server *mcp.Server, name string, handler mcp.ToolHandlerFor[query, report]) {
	mrtr.AddTool(server, &mcp.Tool{Name: name}, handler)
}

func ourServer(tools int) (*mcp.Server, error) {
	rt, err := mrtr.New(nil)
	if err != nil {
		return nil, err
	}
	units := mrtr.Choose("units", whichUnits, mrtr.Choices("metric", "imperial")...)
	weather := mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, q query) (*mrtr.IncompleteResult, report, error) {
		place, err := find(q)
		if err != nil {
			return nil, report{}, err
		}
		chosen, ok := mrtr.Answer(c, units)
		if !ok {
			return mrtr.Need(units), report{}, nil
		}
		place, err = place.in(chosen)
		return nil, place, err
	}), nil)
	sky := mrtr.Tool(rt, mrtr.Native(func(_ context.Context, _ *mrtr.Call, q query) (*mrtr.IncompleteResult, report, error) {
		place, err := find(q)
		return nil, place, err
	}), nil)
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	register(server, "weather", weather)
	register(server, "sky", sky)
	for _, name := range others(tools) {
		register(server, name, sky)
	}
	return server, nil
}

func ourHTTP(tools int) (http.Handler, error) {
	server, err := ourServer(tools)
	if err != nil {
		return nil, err
	}
	return mcphttp.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

// oursOnGoSDK serves legacy clients with the same handlers behind go-sdk's own front.
func oursOnGoSDK(tools int) (http.Handler, error) {
	server, err := ourServer(tools)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil), err
}

func ourWebSocket(tools int) (http.Handler, error) {
	server, err := ourServer(tools)
	if err != nil {
		return nil, err
	}
	return wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
}

func ourStdio(tools int) error {
	server, err := ourServer(tools)
	if err != nil {
		return err
	}
	transport, err := stdio.New(nil)
	if err != nil {
		return err
	}
	return server.Run(context.Background(), transport)
}
