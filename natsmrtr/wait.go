package natsmrtr

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mrtr-go/sdk/store"
)

const (
	soon = 5 * time.Millisecond
	// late is how long a change may go unnoticed whose message did not come: the
	// servers spread the news of a subscription, a record that expires sends
	// none, and a connection may be replaced.
	late = 500 * time.Millisecond
)

// Wait implements [store.Watcher]. It subscribes to the record's own subject,
// so it needs no consumer, and looks when a message comes by. A message is not
// the change yet: a publish that is refused comes by as well, and the replica
// that answers may not have it.
func (s *Store) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	if err := key.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed("wait", err)
	}
	published := make(chan struct{}, 1)
	subscription, err := s.nc.Subscribe(subject(key), func(*nats.Msg) {
		select {
		case published <- struct{}{}:
		default: // one look serves them all
		}
	})
	if err != nil {
		return failed("wait", err)
	}
	defer func() { _ = subscription.Unsubscribe() }()
	pause := late
	for {
		_, now, err := s.Get(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil
		case err != nil:
			return err
		case now > at:
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return failed("wait", ctx.Err())
		case <-published:
			timer.Stop()
			pause = soon
		case <-timer.C:
			pause = min(2*pause, late)
		}
	}
}
