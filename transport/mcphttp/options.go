package mcphttp

import (
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/usage"
)

// UsageError is a mistake in the options of this package. [NewHandler] and [NewRouter]
// return it.
type UsageError = usage.Error

// HandlerOptions configure a [Handler]. Nil, and the zero value, mean the
// defaults. Negative limits are an error.
type HandlerOptions struct {
	// Stateless serves legacy clients without sessions too. Such a server holds
	// no stream, so these clients cannot be asked anything; they still list
	// everything and use every tool that asks nothing.
	Stateless bool
	// AllowedHosts are the lower-case names, without port, that a request's Host
	// header may carry. A loopback name is fine besides, on a connection to a
	// loopback address. If AllowedHosts is empty any name is fine on a
	// connection to another address, and only a loopback name on a connection to a
	// loopback address: a page whose name was rebound to 127.0.0.1 is refused. A
	// server behind a proxy on the same machine lists its public names here.
	AllowedHosts []string
	// AllowedOrigins are the browser origins, as scheme://host or
	// scheme://host:port, that may call besides the server's own. A request that
	// does not come from a web page has no origin and is let through. Pages of these
	// origins get the headers of the CORS protocol; see [Handler.WithCORS].
	AllowedOrigins []string
	// MaxMessageBytes bounds a request's body; 4 MiB if zero. The bodies that are on their way
	// may have 64 times that together, and 16 times for one client: one more is refused with
	// 503, or 429.
	MaxMessageBytes int64
	// MaxCalls bounds the calls that are in flight, subscriptions included; 10,000 if
	// zero. One more is refused with 503. A call is in flight until its handler has
	// returned, whether or not anybody waits for it. The callers without a token share
	// three quarters of the places, and no principal has more: however many connections
	// they open, the others find room.
	MaxCalls int
	// MaxCallsPerPrincipal bounds those of one UserID of an auth.TokenInfo, or of one
	// connection if a request has no token; 1,000 if zero. One more is refused
	// with 429.
	MaxCallsPerPrincipal int
	// StockFront hands every request to go-sdk's HTTP layer. Otherwise modern
	// tools/call, prompts/get and resources/read requests go past it to the server's
	// middleware, for about a third of the CPU time. The only other differences are
	// that an answer may have a Content-Length, and that the session of a call whose
	// client is gone stays open until its handler returns.
	StockFront bool
	// Refused is called with the reason when a request is refused before its call begins:
	// "host", "origin", "size", "slow", "malformed", "ambiguous", "version", "overload", "share"
	// (too much of the load is this client's) or "shutdown". It must be quick. The Refused of
	// an otelmrtr.Observer counts them.
	Refused func(reason string)
	// Logger is handed to go-sdk; nothing is logged if it is nil.
	Logger *slog.Logger
}

func (o *HandlerOptions) resolve() (HandlerOptions, error) {
	var r HandlerOptions
	if o != nil {
		r = *o
	}
	u := usage.Of("mcphttp", "HandlerOptions")
	usage.Default(u, "MaxMessageBytes", &r.MaxMessageBytes, mcp.DefaultMaxRequestBodyBytes)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 10_000)
	usage.Default(u, "MaxCallsPerPrincipal", &r.MaxCallsPerPrincipal, 1_000)
	return r, u.Err()
}

// limits are the bounds that no option sets.
type limits struct {
	initialize    int64         // bytes of an initialize message, which go-sdk keeps as long as its session
	sessions      int           // legacy ones; the one that is idle longest makes room for the next
	sessionsOfOne int           // of one UserID of an auth.TokenInfo
	callsOfOne    int           // in flight in one session
	silence       time.Duration // before a session without a call in flight ends
	body          time.Duration // for a client to send a body
	write         time.Duration // for a client to read one message
	heartbeat     time.Duration // of silence, before a stream carries a comment
}

var usual = limits{
	initialize: 64 << 10, sessions: 10_000, sessionsOfOne: 1_000, callsOfOne: 100,
	silence: 30 * time.Minute, body: time.Minute, write: 30 * time.Second, heartbeat: 15 * time.Second,
}
