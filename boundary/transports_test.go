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
)

// A transport puts a server behind a wire.
type transport struct {
	name string
	open func(ctx context.Context, era probe.Era, server *mcp.Server) (w probe.Wire, shut func(), err error)
}

var transports = []transport{
	{"memory", openMemory},
	{"http", openHTTP},
	{"stdio", openStdio},
	{"websocket", openWebSocket},
}

func openMemory(ctx context.Context, _ probe.Era, server *mcp.Server) (probe.Wire, func(), error) {
	there, here := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, there, nil)
	if err != nil {
		return nil, nil, err
	}
	w, err := probe.NewWire(ctx, here)
	return w, func() { w.Close(); session.Close() }, err
}

// openHTTP serves the modern era without sessions and the legacy era with them, since
// go-sdk can ask each era's clients in only one of the two ways.
func openHTTP(_ context.Context, era probe.Era, server *mcp.Server) (probe.Wire, func(), error) {
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: era == probe.Modern, Logger: quiet}))
	w := probe.NewHTTPWire(front.URL, front.Client())
	return w, func() { w.Close(); front.CloseClientConnections(); front.Close() }, nil
}

// serveVariable makes this test binary serve the misbehaving tools over stdio.
const serveVariable = "BOUNDARY_TEST_SERVE"

// openStdio starts this test binary again, as a server of the same tools.
func openStdio(ctx context.Context, _ probe.Era, _ *mcp.Server) (probe.Wire, func(), error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveVariable+"=1")
	w, err := probe.NewWire(ctx, &mcp.CommandTransport{Command: cmd})
	if err != nil {
		return nil, nil, err
	}
	return w, func() {
		cmd.Process.Kill() // some of its tools hang
		w.Close()
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
