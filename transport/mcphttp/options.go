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
	// MaxMessageBytes bounds a request's body; 4 MiB if zero.
	MaxMessageBytes int64
	// MaxInitializeBytes bounds the initialize message of a legacy client, which is
	// kept as long as its session and takes many times its size; 64 KiB if zero. The
	// initialize messages of all sessions together are bounded by 2 KiB for each
	// session of MaxSessions.
	MaxInitializeBytes int64
	// MaxSessions bounds the legacy sessions; 10,000 if zero. The one that is idle
	// longest makes room for the next. Those without a token share three quarters of
	// them, and no principal has more.
	MaxSessions int
	// MaxSessionsPerPrincipal bounds those of one UserID of an auth.TokenInfo; 1,000 if
	// zero. Requests without a token count towards MaxSessions alone.
	MaxSessionsPerPrincipal int
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
	// MaxCallsPerSession bounds those of one legacy session; 100 if zero. One more is
	// refused with 429. Answers to questions and cancellations always pass.
	MaxCallsPerSession int
	// SessionTimeout ends a legacy session in which the client sent nothing for
	// that long; 30 minutes if zero. A session with a call in flight is not idle.
	SessionTimeout time.Duration
	// BodyTimeout bounds the time that a client may take to send a body; 1 minute if
	// zero.
	BodyTimeout time.Duration
	// WriteTimeout bounds the time that a client may take to read one message; 30
	// seconds if zero. After that its connection is dropped. A stream may stay open
	// and silent for any time, so leave [http.Server.WriteTimeout] at zero.
	WriteTimeout time.Duration
	// Heartbeat is how long a stream is silent before it carries a comment, which
	// keeps proxies from closing it; 15 seconds if zero.
	Heartbeat time.Duration
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
	usage.Default(u, "MaxInitializeBytes", &r.MaxInitializeBytes, 64<<10)
	usage.Default(u, "MaxSessions", &r.MaxSessions, 10_000)
	usage.Default(u, "MaxSessionsPerPrincipal", &r.MaxSessionsPerPrincipal, 1_000)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 10_000)
	usage.Default(u, "MaxCallsPerPrincipal", &r.MaxCallsPerPrincipal, 1_000)
	usage.Default(u, "MaxCallsPerSession", &r.MaxCallsPerSession, 100)
	usage.Default(u, "BodyTimeout", &r.BodyTimeout, time.Minute)
	usage.Default(u, "WriteTimeout", &r.WriteTimeout, 30*time.Second)
	usage.Default(u, "Heartbeat", &r.Heartbeat, 15*time.Second)
	usage.Default(u, "SessionTimeout", &r.SessionTimeout, 30*time.Minute)
	return r, u.Err()
}
