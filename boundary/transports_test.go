package boundary_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
	"github.com/mrtr-go/sdk/internal/probe"
	"github.com/mrtr-go/sdk/internal/wire"
)

// A transport connects a raw client to a server.
type transport struct {
	name string
	open func(ctx context.Context, era probe.Era, server *mcp.Server) (client *wire.Client, shut func(), err error)
}

var transports = []transport{
	{"memory", openMemory},
	{"http", openHTTP},
	{"stdio", openStdio},
	{"websocket", openWebSocket},
}

func openMemory(ctx context.Context, era probe.Era, server *mcp.Server) (*wire.Client, func(), error) {
	there, here := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, there, nil)
	if err != nil {
		return nil, nil, err
	}
	client, err := wire.Dial(ctx, here, probe.As(era))
	return client, func() { client.Close(); session.Close() }, err
}

// openHTTP serves the modern era without sessions and the legacy era with them, since
// go-sdk can ask each era's clients in only one of the two ways.
func openHTTP(ctx context.Context, era probe.Era, server *mcp.Server) (*wire.Client, func(), error) {
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: era == probe.Modern, Logger: quiet}))
	client, err := wire.DialHTTP(ctx, front.URL, front.Client(), probe.As(era))
	return client, func() { client.Close(); front.CloseClientConnections(); front.Close() }, err
}

// serveVariable makes this test binary serve the misbehaving tools over stdio.
const serveVariable = "BOUNDARY_TEST_SERVE"

// openStdio starts this test binary again, as a server of the same tools.
func openStdio(ctx context.Context, era probe.Era, _ *mcp.Server) (*wire.Client, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveVariable+"=1")
	client, err := wire.Dial(ctx, &mcp.CommandTransport{Command: cmd}, probe.As(era))
	if err != nil {
		return nil, nil, err
	}
	return client, func() {
		cmd.Process.Kill() // some of its tools hang
		client.Close()
	}, nil
}

// serveStdio is the other end of openStdio.
func serveStdio() error {
	server, err := misbehaving.Bounded(misbehaving.Cases(nil))
	if err != nil {
		return err
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
