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
	DefaultAcceptReadLimit = 4 << 20
	DefaultDialReadLimit   = 16 << 20
)

// The timings where those of [Limits] are zero.
const (
	DefaultPingInterval = 15 * time.Second
	DefaultPongWait     = 40 * time.Second
	DefaultWriteTimeout = 30 * time.Second
)

// Limits bound what a peer can make this end hold, and how long it can make it
// wait. Zero fields take the defaults; negative ones are an error.
type Limits struct {
	// ReadLimit is the size in bytes of the largest message that is read.
	ReadLimit int64
	// PingInterval is the time between two pings sent to the peer.
	PingInterval time.Duration
	// PongWait is how long a peer may be silent, pongs included, before it is
	// taken for dead. It must be longer than PingInterval.
	PongWait time.Duration
	// WriteTimeout is how long the peer may take to accept one message. Whoever
	// writes waits that long at most; then the connection is dropped.
	WriteTimeout time.Duration
}

func (l Limits) withDefaults(readLimit int64) (Limits, error) {
	if l.ReadLimit < 0 || l.PingInterval < 0 || l.PongWait < 0 || l.WriteTimeout < 0 {
		return l, errors.New("wstransport: a limit is negative")
	}
	l.ReadLimit = orDefault(l.ReadLimit, readLimit)
	l.PingInterval = orDefault(l.PingInterval, DefaultPingInterval)
	l.PongWait = orDefault(l.PongWait, DefaultPongWait)
	l.WriteTimeout = orDefault(l.WriteTimeout, DefaultWriteTimeout)
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

// AcceptOptions configure the server's side. Nil means the defaults.
type AcceptOptions struct {
	Limits

	// AllowedOrigins are the web origins, besides the server's own, whose pages
	// may connect, each written scheme://host or scheme://host:port. A page of
	// any other origin is refused with 403. A request without an Origin header
	// does not come from a web page and is let through.
	AllowedOrigins []string

	// AllowedHosts are the values of the Host header that are served; a host
	// without a port stands for every port. When empty, every host is
	// served, except that a connection arriving on a loopback address must name
	// a loopback host: a web page that points its own name at 127.0.0.1 is of
	// the same origin as what it finds there, and only the name gives it away.
	// A server behind a proxy on the same machine lists its public names here.
	AllowedHosts []string

	// Logger is told who was refused and why connections ended. Nil is silent.
	Logger *slog.Logger
}

// DialOptions configure the client's side. Nil means the defaults.
type DialOptions struct {
	Limits

	// Header is sent with the handshake, for instance Authorization.
	Header http.Header
	// TLSConfig is for wss addresses; nil is the default configuration.
	TLSConfig *tls.Config
}
