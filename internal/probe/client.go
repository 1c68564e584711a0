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
// form in the modern era and not at all in the legacy one, and answers nothing.
func As(era Era) *wire.Options {
	if era == Legacy {
		return &wire.Options{Name: "probe", Version: wire.Legacy, Capabilities: wire.Nothing}
	}
	return &wire.Options{Name: "probe", Capabilities: wire.FormOnly}
}

// Dial reaches the server that target names: a streamable HTTP endpoint if it is
// a URL, else a command that speaks over stdio.
func Dial(ctx context.Context, target string, era Era) (*wire.Client, error) {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return wire.DialHTTP(ctx, target, nil, As(era))
	}
	fields := strings.Fields(target)
	if len(fields) == 0 {
		return nil, errors.New("probe: nothing to probe: give a URL or a command")
	}
	return wire.Dial(ctx, &mcp.CommandTransport{Command: exec.Command(fields[0], fields[1:]...)}, As(era))
}

func eraOf(client *wire.Client) Era {
	if client.Handshaken() {
		return Legacy
	}
	return Modern
}
