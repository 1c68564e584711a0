package boundary_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/wstransport"
)

func openWebSocket(ctx context.Context, era probe.Era, server *mcp.Server) (*wire.Client, func(), error) {
	handler, err := wstransport.NewHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if err != nil {
		return nil, nil, err
	}
	front := httptest.NewServer(handler)
	dialled, err := wstransport.Dial(ctx, "ws"+strings.TrimPrefix(front.URL, "http"),
		&wstransport.DialOptions{Limits: wstransport.Limits{MaxMessageBytes: 64 << 20}})
	if err != nil {
		return nil, nil, err
	}
	client, err := wire.Dial(ctx, dialled, probe.As(era))
	return client, func() { client.Close(); front.CloseClientConnections(); front.Close() }, err
}
