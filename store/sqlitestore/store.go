// Package sqlitestore remembers rounds in an SQLite file: for the processes of
// one machine, such as two stdio servers of one user, and across restarts.
// Nothing has to be installed or started.
//
// A process that is stopped in the middle of a write keeps the file locked until it wakes.
// Until then the requests of the others end in -31001.
//
// The file is in WAL mode, which needs a local disk: a network file system will
// not do. Every write is on disk before it is acknowledged. A file that was restored
// from a backup must be deleted, because an older copy does not know of the rounds that
// ran since.
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

	// The writer is one connection: writers of this process queue in Go, where a
	// context ends the wait, and not at the file's lock.
	writer, reader                                               *sql.DB
	number, create, existing, update, get, used, sweep, sweepEnd *sql.Stmt
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
	s := &Store{maxValue: maxValue}
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
		epoch = rand.Text()
		_, err = tx.ExecContext(ctx, `INSERT INTO rounds VALUES ('', ?, 0, ?)`, []byte(epoch), int64(math.MaxInt64))
		return err
	})
	if err != nil {
		return "", failed("epoch", err)
	}
	return epoch, nil
}

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	at, err := s.tryCreate(ctx, key, value, ttl)
	if errors.Is(err, store.ErrFull) {
		if n, swept := s.sweepUpTo(ctx, "", lastName); swept == nil && n > 0 {
			return s.tryCreate(ctx, key, value, ttl)
		}
	}
	return at, err
}

func (s *Store) tryCreate(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, key, func(tx *sql.Tx, at int64) error {
		now := time.Now()
		result, err := tx.StmtContext(ctx, s.create).ExecContext(ctx, key.Name, notNil(value), at, expiry(now, ttl), now.UnixMilli())
		err = oneRow(result, err, store.ErrExists)
		if errors.Is(err, store.ErrExists) {
			var is store.ExistsError
			if err := tx.StmtContext(ctx, s.existing).QueryRowContext(ctx, key.Name).Scan(&is.Value, &is.At); err != nil {
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
	})
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	return s.write(ctx, key, func(tx *sql.Tx, next int64) error {
		now := time.Now()
		result, err := tx.StmtContext(ctx, s.update).ExecContext(ctx, key.Name, notNil(value), next, expiry(now, ttl), now.UnixMilli(), int64(at))
		return oneRow(result, err, store.ErrConflict)
	})
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil {
		return nil, 0, err
	}
	var value []byte
	var at int64
	err := unlessBusy(ctx, func() error {
		return s.get.QueryRowContext(ctx, []byte(key.Epoch), key.Name, time.Now().UnixMilli()).Scan(&value, &at)
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
	if err != nil {
		return 0, failed("write", err)
	}
	return store.Revision(at), nil
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
		result, err := s.sweep.ExecContext(ctx, time.Now().UnixMilli(), from, end)
		if err == nil {
			removed, err = result.RowsAffected()
		}
		return err
	})
	return removed, err
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
