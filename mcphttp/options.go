package mcphttp

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HandlerOptions configure a [Handler]. Nil, and the zero value, mean the
// defaults. Negative limits are an error.
type HandlerOptions struct {
	// Stateless serves legacy clients without sessions too. Such a server holds
	// no stream, so these clients cannot be asked anything; they still list
	// everything and use every tool that asks nothing.
	Stateless bool
	// AllowedHosts are the lower-case names, without port, that a request's Host
	// header may carry. A loopback name is fine besides, on a connection to a
	// loopback address. Where AllowedHosts is empty any name is fine on a
	// connection to another address, and only a loopback name on a connection to a
	// loopback address: a page whose name was rebound to 127.0.0.1 is refused. A
	// server behind a proxy on the same machine lists its public names here.
	AllowedHosts []string
	// AllowedOrigins are the browser origins, as scheme://host or
	// scheme://host:port, that may call besides the server's own. A request that
	// does not come from a web page has no origin and is let through.
	AllowedOrigins []string
	// MaxBody bounds a request's body in bytes; 4 MiB if zero.
	MaxBody int64
	// SessionTimeout ends a legacy session in which the client sent nothing for
	// that long; 30 minutes if zero. A session with a call in flight is not idle.
	SessionTimeout time.Duration
	// Logger is handed to go-sdk; nothing is logged where it is nil.
	Logger *slog.Logger
}

func (o *HandlerOptions) resolve() (HandlerOptions, error) {
	var r HandlerOptions
	if o != nil {
		r = *o
	}
	if r.MaxBody < 0 || r.SessionTimeout < 0 {
		return r, fmt.Errorf("mcphttp: negative limit in HandlerOptions: MaxBody %d, SessionTimeout %v", r.MaxBody, r.SessionTimeout)
	}
	if r.MaxBody == 0 {
		r.MaxBody = mcp.DefaultMaxRequestBodyBytes
	}
	if r.SessionTimeout == 0 {
		r.SessionTimeout = 30 * time.Minute
	}
	return r, nil
}
