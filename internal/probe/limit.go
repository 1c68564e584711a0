package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxBody     = 16 << 20  // bytes of one HTTP response
	maxReceived = 128 << 20 // bytes of a connection that carries everything
	maxMessages = 100_000   // on such a connection
)

var (
	errLargeBody = fmt.Errorf("the response is larger than %d bytes", maxBody)
	errTalkative = fmt.Errorf("the server sent more than %d messages or %d bytes", maxMessages, maxReceived)
)

// BoundedHTTP is a client that reads no more than 16 MiB of a response. A nil
// base means one of its own.
func BoundedHTTP(base http.RoundTripper) *http.Client {
	if base == nil {
		base = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &http.Client{Transport: boundedRoundTripper{base}}
}

type boundedRoundTripper struct{ base http.RoundTripper }

func (b boundedRoundTripper) CloseIdleConnections() {
	if c, ok := b.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (b boundedRoundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.base.RoundTrip(r)
	if err == nil {
		res.Body = &boundedBody{ReadCloser: res.Body, left: maxBody}
	}
	return res, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLargeBody
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Bounded is a transport that ends a connection on which the server never stops
// talking.
func Bounded(t mcp.Transport) mcp.Transport { return &boundedTransport{Transport: t} }

// boundedTransport ends a connection on which the server never stops talking.
// go-sdk bounds a single line.
type boundedTransport struct {
	mcp.Transport
	connected bool
}

func (b *boundedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := b.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	b.connected = true
	return &boundedConn{Connection: conn}, nil
}

type boundedConn struct {
	mcp.Connection
	messages, bytes int // of one reader
}

func (b *boundedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := b.Connection.Read(ctx)
	if err != nil {
		return nil, err
	}
	b.messages++
	switch m := m.(type) {
	case *jsonrpc.Request:
		b.bytes += len(m.Params)
	case *jsonrpc.Response:
		b.bytes += len(m.Result)
	}
	if b.messages > maxMessages || b.bytes > maxReceived {
		return nil, errTalkative
	}
	return m, nil
}

// unreachable reports whether nothing listens where the server should be.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
