// Package pipehttp serves HTTP over pipes in memory, so that a server and its client
// can stand in one bubble of testing/synctest, where waiting takes no time.
package pipehttp

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
)

// Serve starts a server, and returns the transport that reaches it under any URL.
// The function ends both.
func Serve(handler http.Handler) (*http.Transport, func()) {
	l := listener{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(l) }() // it returns when the server is closed
	transport := &http.Transport{DialContext: l.dial}
	return transport, func() {
		transport.CloseIdleConnections()
		_ = server.Close() // a pipe closes without an error
	}
}

type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error   { close(l.closed); return nil }
func (l listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
