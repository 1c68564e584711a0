package wstransport

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
)

// The largest messages if [Limits.MaxMessageBytes] is zero. A client reads results,
// which may hold images, from a server it chose; a server reads requests from
// anybody.
const (
	serverMaxMessage = 4 << 20
	clientMaxMessage = 16 << 20
)

// The timings if those of [Limits] are zero.
const (
	defaultPongWait       = 40 * time.Second
	defaultWriteTimeout   = 30 * time.Second
	defaultMessageTimeout = time.Minute
	defaultFirstRequest   = 30 * time.Second
	defaultCloseGrace     = time.Second
)

// bytesPerConnection times MaxConnections bounds the initialize messages of all
// connections together, and maxInitialized bounds the notification that
// follows each. go-sdk keeps both, decoded, until the session ends.
const (
	bytesPerConnection = 2 << 10
	maxInitialized     = 4 << 10
)

// Limits bound the memory that a peer can take of this end, and the time that it
// can make it wait. Zero fields take the defaults; negative ones are an error.
type Limits struct {
	// MaxMessageBytes is the size in bytes of the largest message that is read; if zero
	// 4 MiB for a server, 16 MiB for a client.
	MaxMessageBytes int64
	// PingInterval is the time between two pings sent to the peer; 15 seconds if
	// zero.
	PingInterval time.Duration
	// PongWait is how long a peer may be silent, pongs included, before it is
	// taken for dead; 40 seconds if zero. It must be longer than PingInterval.
	PongWait time.Duration
	// WriteTimeout is how long the peer may take to accept one message; 30 seconds
	// if zero. A writer waits that long at most; then the connection is dropped.
	WriteTimeout time.Duration
	// MessageTimeout is how long the peer may take to send one message, from its
	// first frame on; 1 minute if zero.
	MessageTimeout time.Duration
	// MaxUnreadBytes bounds what waits to be written because the peer does not read;
	// 64 MiB if zero. A single message may be larger. A peer with more is dropped.
	MaxUnreadBytes int64

	closeGrace time.Duration // how long the peer may take to answer a close frame; tests shorten it
}

func (l Limits) withDefaults(maxMessage int64) (Limits, error) {
	u := usage.Of("wstransport", "Limits")
	usage.Default(u, "MaxMessageBytes", &l.MaxMessageBytes, maxMessage)
	usage.Default(u, "PingInterval", &l.PingInterval, 15*time.Second)
	usage.Default(u, "PongWait", &l.PongWait, defaultPongWait)
	usage.Default(u, "WriteTimeout", &l.WriteTimeout, defaultWriteTimeout)
	usage.Default(u, "MessageTimeout", &l.MessageTimeout, defaultMessageTimeout)
	usage.Default(u, "MaxUnreadBytes", &l.MaxUnreadBytes, 64<<20)
	usage.Default(u, "closeGrace", &l.closeGrace, defaultCloseGrace)
	if err := u.Err(); err != nil {
		return l, err
	}
	if l.PongWait <= l.PingInterval {
		return l, usage.New("wstransport", "PongWait %v must be longer than PingInterval %v", l.PongWait, l.PingInterval)
	}
	return l, nil
}

// resolve checks the options and fills in the defaults.
func (o *HandlerOptions) resolve() (HandlerOptions, error) {
	var r HandlerOptions
	if o != nil {
		r = *o
	}
	limits, err := r.withDefaults(serverMaxMessage)
	if err != nil {
		return r, err
	}
	r.Limits = limits
	u := usage.Of("wstransport", "HandlerOptions")
	usage.Default(u, "FirstRequestTimeout", &r.FirstRequestTimeout, defaultFirstRequest)
	usage.Default(u, "MaxInitializeBytes", &r.MaxInitializeBytes, 64<<10)
	usage.Default(u, "MaxConnections", &r.MaxConnections, 10_000)
	usage.Default(u, "MaxConnectionsPerPrincipal", &r.MaxConnectionsPerPrincipal, 1_000)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 10_000)
	usage.Default(u, "MaxCallsPerPrincipal", &r.MaxCallsPerPrincipal, 1_000)
	usage.Default(u, "MaxCallsPerConnection", &r.MaxCallsPerConnection, 100)
	return r, u.Err()
}

// HandlerOptions configure the server's side, a [Handler] or [Accept]. Nil, and
// the zero value, mean the defaults.
type HandlerOptions struct {
	Limits

	// AllowedHosts are the lower-case names, without port, that a request's Host
	// header may carry. A loopback name is fine besides, on a connection to a
	// loopback address. If AllowedHosts is empty any name is fine on a
	// connection to another address, and only a loopback name on a connection to a
	// loopback address: a page whose name was rebound to 127.0.0.1 is refused. A
	// server behind a proxy on the same machine lists its public names here.
	AllowedHosts []string
	// AllowedOrigins are the browser origins, as scheme://host or
	// scheme://host:port, that may call besides the server's own. A request that
	// does not come from a web page has no origin and is let through.
	AllowedOrigins []string
	// FirstRequestTimeout is how long a connection may live without a request other
	// than ping; 30 seconds if zero. It is then closed with 1008.
	FirstRequestTimeout time.Duration
	// MaxInitializeBytes bounds the initialize message of a legacy client, which is
	// kept as long as its connection and takes many times its size; 64 KiB if zero. The
	// initialize messages of all connections of a [Handler] together are bounded by
	// 2 KiB for each of MaxConnections. One more is refused by its id.
	MaxInitializeBytes int64
	// MaxConnections bounds the connections of a [Handler]; 10,000 if zero. One more
	// is refused with 503. The connections without a token share three quarters of them,
	// and no principal has more. [Accept] does not count connections.
	MaxConnections int
	// MaxConnectionsPerPrincipal bounds those of one UserID of an auth.TokenInfo;
	// 1,000 if zero. One more is refused with 429. A connection without a token
	// counts towards MaxConnections alone.
	MaxConnectionsPerPrincipal int
	// MaxCalls bounds the calls that are in flight on all connections of a
	// [Handler]; 10,000 if zero. One more is answered with a JSON-RPC error with the
	// code -31000, as those are beyond the next two limits. Subscriptions count. A call
	// is in flight until its handler has returned, whether or not it was cancelled. The
	// calls without a token share three quarters of the places, and no principal has more.
	MaxCalls int
	// MaxCallsPerPrincipal bounds those on the connections of one UserID; 1,000 if
	// zero.
	MaxCallsPerPrincipal int
	// MaxCallsPerConnection bounds those on one connection; 100 if zero.
	MaxCallsPerConnection int
	// Refused is called with the reason when a connection or a call is refused: "host",
	// "origin", "handshake", "ambiguous", "overload", "share" (too much of the load is this
	// client's) or "shutdown". It must be quick. The Refused of an otelmrtr.Observer counts them.
	Refused func(reason string)
	// Logger hears who was refused and why connections ended. Nil is silent.
	Logger *slog.Logger
}

// DialOptions configure the client's side. Nil, and the zero value, mean the
// defaults.
type DialOptions struct {
	Limits

	// Header is sent with the handshake, for instance Authorization.
	Header http.Header
	// TLSConfig is for wss addresses; nil is the default configuration.
	TLSConfig *tls.Config
}
