package boundary_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/boundary/probe"
)

// A transport puts a misbehaving server behind a wire: with a boundary or bare.
type transport struct {
	name string
	open func(ctx context.Context, era probe.Era, bare bool) (w probe.Wire, shut func(), err error)
}

var transports = []transport{
	{"memory", openMemory},
	{"http", openHTTP},
	{"stdio", openStdio},
	{"websocket", openWebSocket},
}

// build is a misbehaving server, bare or with the boundary around it.
func build(bare bool) (*mcp.Server, error) {
	s := misbehavingServer()
	if bare {
		return s, nil
	}
	return s, boundary.Install(s, tableOptions())
}

func openMemory(ctx context.Context, _ probe.Era, bare bool) (probe.Wire, func(), error) {
	server, err := build(bare)
	if err != nil {
		return nil, nil, err
	}
	there, here := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, there, nil)
	if err != nil {
		return nil, nil, err
	}
	w, err := probe.NewWire(ctx, here)
	return w, func() { w.Close(); session.Close() }, err
}

// openHTTP serves the modern era without sessions and the legacy era with them,
// since the SDK serves each era's questions in one of the two only.
func openHTTP(_ context.Context, era probe.Era, bare bool) (probe.Wire, func(), error) {
	server, err := build(bare)
	if err != nil {
		return nil, nil, err
	}
	front := httptest.NewServer(mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: era == probe.Modern, Logger: quiet}))
	w := probe.NewHTTPWire(front.URL, front.Client())
	return w, func() { w.Close(); front.CloseClientConnections(); front.Close() }, nil
}

const (
	serveVariable = "BOUNDARY_TEST_SERVE" // "bare" or "bounded": serve over stdio
	deathVariable = "BOUNDARY_TEST_DEATH" // a way to die that no layer catches
)

// openStdio starts this test binary again as the server.
func openStdio(ctx context.Context, _ probe.Era, bare bool) (probe.Wire, func(), error) {
	kind := "bounded"
	if bare {
		kind = "bare"
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveVariable+"="+kind)
	w, err := probe.NewWire(ctx, &mcp.CommandTransport{Command: cmd})
	if err != nil {
		return nil, nil, err
	}
	return w, func() {
		cmd.Process.Kill() // it may hang by design
		w.Close()
	}, nil
}

// serveStdio is the other end of openStdio.
func serveStdio(kind string) error {
	server, err := build(kind == "bare")
	if err != nil {
		return err
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
