package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/mrtr-go/sdk/store"
)

const (
	firstPause  = time.Millisecond
	lastPause   = 20 * time.Millisecond
	longestLock = 10 * time.Second // for a caller without a deadline
)

// unlessBusy repeats op while another process has the file locked. SQLite then
// has done nothing. Its own way of waiting goes on after the context has ended,
// so it is switched off.
func unlessBusy(ctx context.Context, op func() error) error {
	for began, pause := time.Now(), firstPause; ; pause = min(2*pause, lastPause) {
		err := op()
		var code *sqlite.Error
		if !errors.As(err, &code) || code.Code()&0xff != lib.SQLITE_BUSY || time.Since(began) > longestLock {
			return err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// failed wraps an error of the library. A disk without room is a verdict: SQLite
// has rolled the write back.
func failed(op string, err error) error {
	var code *sqlite.Error
	if errors.As(err, &code) && code.Code()&0xff == lib.SQLITE_FULL {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return fmt.Errorf("sqlitestore: %s: %w", op, err)
}
