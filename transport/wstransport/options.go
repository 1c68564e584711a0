package wstransport

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
)

// The time that a peer has. A message may take longer than silence, and silence longer than
// two pings.
const (
	pingInterval   = 15 * time.Second
	pongWait       = 40 * time.Second
	messageTimeout = time.Minute
	writeTimeout   = 30 * time.Second
	firstRequest   = 30 * time.Second
	closeGrace     = time.Second
)

// The memory that a peer can take. go-sdk keeps the two messages that open a session until
// it ends; bytesPerConnection bounds the initialize messages of all connections together.
const (
	maxCalls           = 100 // in flight on one connection
	maxUnread          = 64 << 20
	maxInitialize      = 64 << 10
	maxInitialized     = 4 << 10
	bytesPerConnection = 2 << 10
)

// HandlerOptions configure a [Handler]. Nil, and the zero value, mean the defaults.
// Negative limits are an error.
type HandlerOptions struct {
	// AllowedHosts are the lower-case names, without port, that a request's Host header may
	// carry. Loopback names are fine besides on a connection to a loopback address, and if
	// AllowedHosts is empty no others are: a page whose name was rebound to 127.0.0.1 is
	// refused, and a server behind a proxy on the same machine lists its public names here.
	// On a connection to another address any name is fine if AllowedHosts is empty.
	AllowedHosts []string
	// AllowedOrigins are the browser origins, as scheme://host or scheme://host:port, that
	// may call besides the server's own. Only requests of web pages have an origin.
	AllowedOrigins []string
	// MaxMessageBytes bounds a message of a client's; 4 MiB if zero.
	MaxMessageBytes int64
	// MaxConnections bounds the connections; 10,000 if zero. One more is refused with 503.
	// Those without a token share three quarters of them. No UserID of an auth.TokenInfo
	// has more than a tenth; one more is refused with 429.
	MaxConnections int
	// MaxCalls bounds the calls in flight, subscriptions included; 10,000 if zero. One more
	// gets the JSON-RPC error -31000, like the 101st of one connection. A call is in flight
	// until its handler has returned, cancelled or not. Those without a token share three
	// quarters of the places, and no principal has more.
	MaxCalls int
	// MaxCallsPerPrincipal bounds those of one UserID; 1,000 if zero.
	MaxCallsPerPrincipal int
	// Refused is called with the reason when a connection or a call is refused: "host",
	// "origin", "handshake", "ambiguous", "overload", "share" (too much of the load is this
	// client's) or "shutdown". It must be quick. The Refused of an otelmrtr.Observer counts them.
	Refused func(reason string)
	// Logger hears who was refused and why connections ended. Nil is silent.
	Logger *slog.Logger
}

// resolve checks the options and fills in the defaults.
func (o *HandlerOptions) resolve() (HandlerOptions, error) {
	var r HandlerOptions
	if o != nil {
		r = *o
	}
	u := usage.Of("wstransport", "HandlerOptions")
	usage.Default(u, "MaxMessageBytes", &r.MaxMessageBytes, 4<<20)
	usage.Default(u, "MaxConnections", &r.MaxConnections, 10_000)
	usage.Default(u, "MaxCalls", &r.MaxCalls, 10_000)
	usage.Default(u, "MaxCallsPerPrincipal", &r.MaxCallsPerPrincipal, 1_000)
	if r.Refused == nil {
		r.Refused = func(string) {}
	}
	r.Logger = cmp.Or(r.Logger, slog.New(slog.DiscardHandler))
	return r, u.Err()
}

// DialOptions configure [Dial]. Nil, and the zero value, mean the defaults.
type DialOptions struct {
	// MaxMessageBytes bounds a message of the server's, such as a result with images;
	// 16 MiB if zero. A negative one is an error.
	MaxMessageBytes int64
	// Header is sent with the handshake, for instance Authorization.
	Header http.Header
	// TLSConfig is for wss addresses; nil is the default configuration.
	TLSConfig *tls.Config
}
