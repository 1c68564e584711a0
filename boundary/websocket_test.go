package boundary_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/wstransport"
)

func openWebSocket(ctx context.Context, _ probe.Era, server *mcp.Server) (probe.Wire, func(), error) {
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return nil, nil, err
	}
	front := httptest.NewServer(handler)
	dialled, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(front.URL, "http"),
		&wstransport.DialOptions{Limits: wstransport.Limits{ReadLimit: 64 << 20}})
	if err != nil {
		return nil, nil, err
	}
	w, err := probe.NewWire(ctx, dialled)
	return w, func() { w.Close(); front.CloseClientConnections(); front.Close() }, err
}
