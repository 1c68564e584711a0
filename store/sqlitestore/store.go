// Package sqlitestore remembers rounds in an SQLite file: for the processes of
// one machine, such as two stdio servers of one user, and across restarts.
// Nothing has to be installed or started.
//
// A process that is stopped in the middle of a write keeps the file locked until it wakes.
// Until then the requests of the others end in -31001.
//
// The file is in WAL mode, which needs a local disk: a network file system will
// not do. Every write is on disk before it is acknowledged. Beside it lies a file with the
// suffix -mark, which holds the last revision: records that were restored from a copy are
// behind it, and begin another epoch when they are opened. So restore the file of the records
// alone, while no process uses it. A call that began before is told what is found, and
// whatever is not found is in doubt.
//
// It uses modernc.org/sqlite, which is SQLite's own C source translated to Go.
// So no C compiler is needed, and the file format, the locking and the recovery
// are SQLite's.
package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"math"
	"os"
	"time"

	"github.com/mrtr-go/sdk/store"
)

const (
	// DefaultMaxBytes is how large the records may get together unless the
	// options say otherwise.
	DefaultMaxBytes = 1 << 30

	minBytes    = 64 << 10
	readers     = 4
	sweepAtOnce = 256

	contentsLen    = 13 // of a random text: enough to tell one file from another
	incarnationLen = 8

	// checkpointPages bounds the log, by a MiB: one that fills the disk before it is
	// written back can never be.
	checkpointPages = 256
)

// Options bounds a [Store]. The zero value is good for most.
type Options struct {
	// MaxValue bounds a value. Zero means [store.DefaultMaxValue].
	MaxValue int
	// MaxBytes bounds the pages of the file that are in use. Once they are so
	// many, a Create is refused with [store.ErrFull]; an Update is not, so that a
	// round that runs can say how it ended. Zero means [DefaultMaxBytes].
	MaxBytes int64
}

// Store is a [store.Store] in one file. Close it when it is not used any more.
type Store struct {
	maxValue int
	maxPages int64
	mark     *mark
	settings store.Settings
	high     store.HighWater
	clock    store.Clock

	// The writer is one connection: writers of this process queue in Go, where a
	// context ends the wait, and not at the file's lock.
	writer, reader                                                    *sql.DB
	number, create, existing, update, get, used, sweep, sweepEnd, due *sql.Stmt
}

// Open opens the file, and makes it if there is none. Unlike the stores of a fleet, which
// use a connection of the caller's, the Store it returns has to be closed.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if path == "" {
		return nil, store.Misuse("sqlitestore: the path is empty")
	}
	maxValue, err := store.MaxValue(opts.MaxValue)
	if err != nil {
		return nil, err
	}
	maxBytes := opts.MaxBytes
	switch {
	case maxBytes == 0:
		maxBytes = DefaultMaxBytes
	case maxBytes < minBytes:
		return nil, store.Misuse("sqlitestore: MaxBytes is %d: it is %d or more", maxBytes, minBytes)
	}
	s := &Store{maxValue: maxValue, clock: store.NewClock()}
	if err := s.open(ctx, path, maxBytes); err != nil {
		return nil, errors.Join(failed("open", err), s.Close())
	}
	return s, nil
}

// Close releases the file. Operations under way fail, or are done.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.mark != nil {
		if err := s.mark.file.Close(); !errors.Is(err, os.ErrClosed) { // as the others, it may be closed twice
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Scope is [store.Machine].
func (s *Store) Scope() store.Scope { return store.Machine }

// Epoch implements [store.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	var epoch string
	// Every process asks when it starts, and then there is an epoch almost always: to
	// read it they need not queue for the file's lock.
	err := unlessBusy(ctx, func() error {
		return s.reader.QueryRowContext(ctx, epochSQL).Scan(&epoch)
	})
	if err == nil {
		return epoch, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", failed("epoch", err)
	}
	err = s.transact(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, epochSQL).Scan(&epoch)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		// Records without an epoch are what somebody left of another one.
		if _, err = tx.ExecContext(ctx, `DELETE FROM rounds`); err != nil {
			return err
		}
		epoch = store.EpochOf(rand.Text()[:contentsLen], rand.Text()[:incarnationLen])
		if _, err = tx.ExecContext(ctx, beginSQL, []byte(epoch), int64(math.MaxInt64)); err != nil {
			return err
		}
		return s.mark.set(0)
	})
	if err != nil {
		return "", failed("epoch", err)
	}
	return epoch, nil
}

// Reached implements [store.Marker].
func (s *Store) Reached(epoch string) store.Revision { return s.high.Reached(epoch) }

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.Schedule(ctx, key, 0, value, ttl, time.Time{})
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if at == 0 { // which no record has, and Create takes for none
		at = math.MaxInt64
	}
	return s.Schedule(ctx, key, at, value, ttl, time.Time{})
}

// Schedule implements [store.Scheduler].
func (s *Store) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	if err := s.settings.Check(ctx); err != nil {
		return 0, err
	}
	var when *int64
	if !due.IsZero() {
		ms := due.UnixMilli()
		when = &ms
	}
	put := func(tx *sql.Tx, next int64) error {
		return s.put(ctx, tx, at, key.Name, notNil(value), next, expiry(s.clock.Late(), ttl), s.clock.Early().UnixMilli(), when)
	}
	now, err := s.write(ctx, key, put)
	if errors.Is(err, store.ErrFull) {
		if s.makeRoom(ctx) {
			now, err = s.write(ctx, key, put)
		}
	}
	if err != nil {
		return 0, failed("write", err)
	}
	return now, nil
}

// put creates a record, or updates one.
func (s *Store) put(ctx context.Context, tx *sql.Tx, at store.Revision, name string, args ...any) error {
	args = append([]any{name}, args...)
	if at != 0 {
		result, err := tx.StmtContext(ctx, s.update).ExecContext(ctx, append(args, int64(at))...)
		return oneRow(result, err, store.ErrConflict)
	}
	result, err := tx.StmtContext(ctx, s.create).ExecContext(ctx, args...)
	err = oneRow(result, err, store.ErrExists)
	if errors.Is(err, store.ErrExists) {
		var is store.ExistsError
		if err := tx.StmtContext(ctx, s.existing).QueryRowContext(ctx, name).Scan(&is.Value, &is.At); err != nil {
			return err
		}
		return &is
	}
	if err != nil {
		return err
	}
	// The record's own pages count. It goes again if they are too many.
	var used int64
	if err := tx.StmtContext(ctx, s.used).QueryRowContext(ctx).Scan(&used); err != nil {
		return err
	}
	if used > s.maxPages {
		return store.ErrFull
	}
	return nil
}

// makeRoom removes what has expired, and writes the log back, which may have filled the disk.
// It reports whether that changed anything.
func (s *Store) makeRoom(ctx context.Context) bool {
	var busy, log, back int
	err := s.writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &back)
	removed, swept := s.sweepUpTo(ctx, "", lastName)
	return err == nil && busy == 0 || swept == nil && removed > 0
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil {
		return nil, 0, err
	}
	var value []byte
	var at int64
	err := unlessBusy(ctx, func() error {
		return s.get.QueryRowContext(ctx, []byte(key.Epoch), key.Name, s.clock.Early().UnixMilli()).Scan(&value, &at)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, 0, store.ErrNotFound
	}
	if err != nil {
		return nil, 0, failed("get", err)
	}
	return value, store.Revision(at), nil
}

// write takes the next revision, if the key's epoch is the file's, and lets put
// use it. If put fails, the revision is not used either.
func (s *Store) write(ctx context.Context, key store.Key, put func(tx *sql.Tx, at int64) error) (store.Revision, error) {
	return s.high.Write(key, func() (store.Revision, error) {
		var at int64
		err := s.transact(ctx, func(tx *sql.Tx) error {
			err := tx.StmtContext(ctx, s.number).QueryRowContext(ctx, []byte(key.Epoch)).Scan(&at)
			if errors.Is(err, sql.ErrNoRows) {
				return store.ErrForgotten
			}
			if err != nil {
				return err
			}
			return put(tx, at)
		})
		if err == nil {
			err = s.mark.raise(store.Revision(at))
		}
		return store.Revision(at), fullDisk(err)
	}, func() error { return s.transact(ctx, func(tx *sql.Tx) error { return end(ctx, tx, key.Epoch) }) })
}

// transact locks the file for writing, and commits unless do fails.
func (s *Store) transact(ctx context.Context, do func(tx *sql.Tx) error) error {
	return unlessBusy(ctx, func() error {
		tx, err := s.writer.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			_ = tx.Rollback()
			return err
		}
		return tx.Commit()
	})
}

// Sweep implements [store.Sweeper]. It looks at a few records at a time, so that the file
// is never locked for long.
func (s *Store) Sweep(ctx context.Context) (left bool, err error) {
	for from, end := "", ""; end != lastName; from = end {
		err := s.sweepEnd.QueryRowContext(ctx, from, sweepAtOnce-1).Scan(&end)
		if errors.Is(err, sql.ErrNoRows) {
			end, err = lastName, nil
		}
		if err == nil {
			_, err = s.sweepUpTo(ctx, from, end)
		}
		if err != nil {
			return true, failed("sweep", err)
		}
	}
	err = s.sweepEnd.QueryRowContext(ctx, "", 0).Scan(new(string))
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		err = failed("sweep", err)
	}
	return true, err
}

func (s *Store) sweepUpTo(ctx context.Context, from, end string) (removed int64, err error) {
	err = unlessBusy(ctx, func() error {
		result, err := s.sweep.ExecContext(ctx, s.clock.Early().UnixMilli(), from, end)
		if err == nil {
			removed, err = result.RowsAffected()
		}
		return err
	})
	return removed, err
}

// Due implements [store.Scheduler].
func (s *Store) Due(ctx context.Context, before time.Time, n int) (keys []store.Key, err error) {
	err = unlessBusy(ctx, func() error {
		keys = nil
		rows, err := s.due.QueryContext(ctx, before.UnixMilli(), s.clock.Early().UnixMilli(), n)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var key store.Key
			if err := rows.Scan(&key.Name, &key.Epoch); err != nil {
				return err
			}
			keys = append(keys, key)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, failed("due", err)
	}
	return keys, nil
}

// oneRow returns the verdict if a statement found nothing to write to.
func oneRow(result sql.Result, err, verdict error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = verdict
	}
	return err
}

// expiry is rounded up: a record must not go early.
func expiry(now time.Time, ttl time.Duration) int64 {
	return now.Add(ttl + time.Millisecond - 1).UnixMilli()
}

// notNil keeps an empty value from being NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
