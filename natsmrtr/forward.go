package natsmrtr

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// Forwarder is an [mrtr.Forwarder] on NATS: each instance listens on a subject of its
// own, mrtr.fwd.FLEET.INSTANCE. It needs no JetStream. Messages are sealed, so an account
// that can publish to these subjects can neither read them nor make one.
type Forwarder struct {
	nc    *nats.Conn
	fleet string
	self  string
}

var _ mrtr.Forwarder = (*Forwarder)(nil)

// stopTime bounds how long Serve's stop waits for the messages that have arrived.
const stopTime = 5 * time.Second

// NewForwarder makes the forwarder of this process in a fleet: the instances of one
// server, with the same keys and the same store. The connection is the caller's, and is
// one for [Open]. Each Runtime needs a Forwarder of its own.
func NewForwarder(nc *nats.Conn, fleet string) (*Forwarder, error) {
	switch {
	case nc == nil:
		return nil, store.Misuse("natsmrtr: the connection is nil")
	case nc.Opts.ReconnectBufSize >= 0:
		return nil, store.Misuse("natsmrtr: the connection buffers while it has no server: connect with nats.ReconnectBufSize(-1)")
	case fleet == "" || strings.ContainsAny(fleet, ".*> \t\r\n"):
		return nil, store.Misuse("natsmrtr: %q is no name of a fleet: it has no dots, stars, angles or spaces", fleet)
	}
	return &Forwarder{nc: nc, fleet: fleet, self: rand.Text()}, nil
}

// Self is a name made up for this Forwarder.
func (f *Forwarder) Self() string { return f.self }

func (f *Forwarder) subject(instance string) string {
	return "mrtr.fwd." + f.fleet + "." + instance
}

// mostAtOnce bounds the messages that are handled at once. Whoever can publish can send
// any number, which take memory before they are found not to be sealed. The others wait
// with the subscription, which drops messages beyond its own limits.
const mostAtOnce = 256

// Serve implements [mrtr.Forwarder].
func (f *Forwarder) Serve(handle func(message []byte) []byte) (stop func(), err error) {
	places, stopped := make(chan struct{}, mostAtOnce), make(chan struct{})
	sub, err := f.nc.Subscribe(f.subject(f.self), func(m *nats.Msg) {
		select {
		case places <- struct{}{}:
		case <-stopped:
			return
		}
		go func() {
			defer func() { <-places }()
			if answer := handle(m.Data); answer != nil {
				_ = m.Respond(answer) // whoever asked gives up by itself
			}
		}()
	})
	if err != nil {
		return nil, failed("serve", err)
	}
	// The subscription must be known to the server before anybody is told the name.
	if err := f.nc.FlushTimeout(stopTime); err != nil {
		return nil, errors.Join(failed("serve", err), sub.Unsubscribe())
	}
	return func() {
		defer close(stopped)
		done := make(chan struct{})
		sub.SetClosedHandler(func(string) { close(done) })
		if sub.Drain() != nil { // the connection is closed
			return
		}
		select {
		case <-done:
		case <-time.After(stopTime):
		}
	}, nil
}

// Forward implements [mrtr.Forwarder].
func (f *Forwarder) Forward(ctx context.Context, to string, message []byte) ([]byte, error) {
	answer, err := f.nc.RequestWithContext(ctx, f.subject(to), message)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("%w: %w", mrtr.ErrNoInstance, err)
	}
	if err != nil {
		return nil, failed("forward", err)
	}
	return answer.Data, nil
}
