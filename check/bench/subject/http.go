package main

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/transport/mcphttp"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// serveHTTP is a server over streamable HTTP. ours is the native style behind our
// front, ours+stock the same with go-sdk's HTTP layer behind that; stock is the same
// handler behind go-sdk's own front, and bare the handler without protection there.
// floor repeats the answers of ours.
func serveHTTP(name string) (made, error) {
	if name == "mcp-go" {
		return listen(mcpGoHandler())
	}
	handlers := map[string]string{"ours": "native", "ours+boundary": "native", "ours+stock": "native", "floor": "native", "stock": "native", "bare": "bare"}
	if handlers[name] == "" {
		return unknown(name)
	}
	server, err := weatherServer(handlers[name])
	if err != nil {
		return made{}, err
	}
	if name == "ours+boundary" {
		if err := boundary.Install(server, &boundary.Options{Logger: slog.New(slog.DiscardHandler)}); err != nil {
			return made{}, err
		}
	}
	getServer := func(*http.Request) *mcp.Server { return server }
	if name == "stock" || name == "bare" {
		return listen(mcp.NewStreamableHTTPHandler(getServer, &mcp.StreamableHTTPOptions{Stateless: true}))
	}
	front, err := mcphttp.NewHandler(getServer, &mcphttp.HandlerOptions{StockFront: name == "ours+stock"})
	if err != nil {
		return made{}, err
	}
	if name == "floor" {
		return listen(&floor{server: front, answers: map[string]answer{}})
	}
	return listen(front)
}

// serveWebSocket is the native style over our WebSocket.
func serveWebSocket(name string) (made, error) {
	if name != "ours" {
		return unknown(name)
	}
	server, err := weatherServer("native")
	if err != nil {
		return made{}, err
	}
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return made{}, err
	}
	return listen(handler)
}

// listen serves on a loopback port of its own until the process ends.
func listen(handler http.Handler) (made, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return made{}, err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	go func() { panic(http.Serve(listener, mux)) }()
	return made{listener.Addr().String(), nil}, nil
}
