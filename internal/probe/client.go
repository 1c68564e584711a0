package probe

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
)

// An Era says which of the two protocols is spoken.
type Era string

const (
	Modern Era = "modern" // 2026-07-28: version and capabilities come with every request
	Legacy Era = "legacy" // 2025-11-25: they were settled by initialize
)

// As describes the client that the probe is in an era: one that can be asked by
// form in the modern era and not at all in the legacy one.
func As(era Era) *wire.Options {
	if era == Legacy {
		return &wire.Options{Name: "probe", Unrecorded: true, Version: wire.Legacy, Capabilities: wire.Nothing}
	}
	return &wire.Options{Name: "probe", Unrecorded: true, Capabilities: wire.FormOnly}
}

// Dialer reaches a server as a client, whose intake it bounds. ctx bounds the
// handshake.
type Dialer func(ctx context.Context, as *wire.Options) (*wire.Client, error)

// HTTP reaches a streamable HTTP endpoint. A nil base is a transport of its own.
func HTTP(url string, base http.RoundTripper) Dialer {
	return func(ctx context.Context, as *wire.Options) (*wire.Client, error) {
		return shook(wire.DialHTTP(ctx, url, BoundedHTTP(base), as))
	}
}

// Over reaches a server over a transport for one connection, such as that of a
// command.
func Over(transport mcp.Transport) Dialer {
	return func(ctx context.Context, as *wire.Options) (*wire.Client, error) {
		bounded := &boundedTransport{Transport: transport}
		client, err := wire.Dial(ctx, bounded, as)
		if !bounded.connected {
			return client, err
		}
		return shook(client, err)
	}
}

// A handshakeError is about a server that is there and does not shake hands.
type handshakeError struct{ error }

func (e *handshakeError) Error() string { return "initialize: " + e.error.Error() }
func (e *handshakeError) Unwrap() error { return e.error }

func shook(client *wire.Client, err error) (*wire.Client, error) {
	if err != nil && !unreachable(err) {
		err = &handshakeError{err}
	}
	return client, err
}

func eraOf(client *wire.Client) Era {
	if client.Handshaken() {
		return Legacy
	}
	return Modern
}
