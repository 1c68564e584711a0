package wstransport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// The read limits where [Limits.ReadLimit] is zero. A client reads results,
// which may hold images, from a server it chose; a server reads requests from
// anybody.
const (
	serverReadLimit = 4 << 20
	clientReadLimit = 16 << 20
)

// The timings where those of [Limits] are zero.
const (
	defaultPingInterval = 15 * time.Second
	defaultPongWait     = 40 * time.Second
	defaultWriteTimeout = 30 * time.Second
	defaultCloseGrace   = time.Second
)

// Limits bound the memory that a peer can take of this end, and the time that it
// can make it wait. Zero fields take the defaults; negative ones are an error.
type Limits struct {
	// ReadLimit is the size in bytes of the largest message that is read; if zero
	// 4 MiB for a server, 16 MiB for a client.
	ReadLimit int64
	// PingInterval is the time between two pings sent to the peer; 15 seconds if
	// zero.
	PingInterval time.Duration
	// PongWait is how long a peer may be silent, pongs included, before it is
	// taken for dead; 40 seconds if zero. It must be longer than PingInterval.
	PongWait time.Duration
	// WriteTimeout is how long the peer may take to accept one message; 30 seconds
	// if zero. A writer waits that long at most; then the connection is dropped.
	WriteTimeout time.Duration

	closeGrace time.Duration // how long the peer may take to answer a close frame; tests shorten it
}

func (l Limits) withDefaults(readLimit int64) (Limits, error) {
	if l.ReadLimit < 0 || l.PingInterval < 0 || l.PongWait < 0 || l.WriteTimeout < 0 {
		return l, errors.New("wstransport: a limit is negative")
	}
	l.ReadLimit = orDefault(l.ReadLimit, readLimit)
	l.PingInterval = orDefault(l.PingInterval, defaultPingInterval)
	l.PongWait = orDefault(l.PongWait, defaultPongWait)
	l.WriteTimeout = orDefault(l.WriteTimeout, defaultWriteTimeout)
	l.closeGrace = orDefault(l.closeGrace, defaultCloseGrace)
	if l.PongWait <= l.PingInterval {
		return l, fmt.Errorf("wstransport: PongWait %v must be longer than PingInterval %v", l.PongWait, l.PingInterval)
	}
	return l, nil
}

func orDefault[T int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// HandlerOptions configure the server's side, a [Handler] or [Accept]. Nil, and
// the zero value, mean the defaults.
type HandlerOptions struct {
	Limits

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
