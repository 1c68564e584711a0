package store

import (
	"context"
	"errors"
	"time"
)

const (
	firstLook = 5 * time.Millisecond
	lastPause = 250 * time.Millisecond
)

// Wait waits, with any store, until the record is no longer at revision at. It
// is the store's own Wait if it is a [Watcher]. Otherwise it looks with Get,
// at first soon and then every quarter of a second. Its errors are
// Watcher's.
func Wait(ctx context.Context, s Store, key Key, at Revision) error {
	if watcher, ok := s.(Watcher); ok {
		return watcher.Wait(ctx, key, at)
	}
	for pause := firstLook; ; pause = min(2*pause, lastPause) {
		_, now, err := s.Get(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound):
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
			return ctx.Err()
		case <-timer.C:
		}
	}
}
