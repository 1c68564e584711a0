package probe

import (
	"context"
	"errors"
	"os/exec"
	"strings"

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

// Dial reaches the server that target names: a streamable HTTP endpoint if it is
// a URL, else a command that speaks over stdio. The client's input is
// bounded, and ctx bounds the handshake.
func Dial(ctx context.Context, target string, era Era) (*wire.Client, error) {
	return dial(ctx, target, As(era))
}

func dial(ctx context.Context, target string, as *wire.Options) (*wire.Client, error) {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return shook(wire.DialHTTP(ctx, target, BoundedHTTP(nil), as))
	}
	fields := strings.Fields(target)
	if len(fields) == 0 {
		return nil, errors.New("probe: nothing to probe: give a URL or a command")
	}
	transport := &boundedTransport{Transport: &mcp.CommandTransport{Command: exec.Command(fields[0], fields[1:]...)}}
	client, err := wire.Dial(ctx, transport, as)
	if !transport.connected {
		return client, err
	}
	return shook(client, err)
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
