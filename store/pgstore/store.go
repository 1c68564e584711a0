// Package pgstore remembers rounds in a table of PostgreSQL, for a fleet of
// processes.
//
// Each operation is one statement. A write is acknowledged when the server has it on disk, and
// on the standby that it waits for. A promotion, and a recovery from a backup, begin another
// epoch, because acknowledged writes may be missing: a call that began before is told what is
// found, and whatever is not found is in doubt.
package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mrtr-go/sdk/store"
)

// Options says where rounds are remembered. The zero value is good for most.
type Options struct {
	// Table names the table, with its schema if it needs one ("mrtr.rounds").
	// Lower-case letters, digits and underscores. Empty means "mrtr_rounds". Open
	// makes it if it is not there, which takes the right to create a table.
	Table string
	// MaxValue bounds a value. Zero means [store.DefaultMaxValue].
	MaxValue int
	// AcceptLoss lets Open take a server that acknowledges writes which a crash
	// may undo: fsync is off, synchronous_commit is off or local, or the server waits for a
	// standby and the pool does not hear when it did not ([Watch]). A round that ran may
	// then run again after a crash.
	AcceptLoss bool
}

// Store is a [store.Store] in one table. It holds nothing that needs closing;
// the pool is the caller's.
type Store struct {
	pool     *pgxpool.Pool
	table    string
	maxValue int
	texts    statements
	mode     pgx.QueryExecMode
	settings store.Settings
	high     store.HighWater
	clock    store.Clock
}

const (
	defaultTable = "mrtr_rounds"
	sweepAtOnce  = 256
	contentsLen  = 13 // of a random text: enough to tell one table from another
)

var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,40}\.)?[a-z_][a-z0-9_]{0,40}$`)

// Open finds the table, or makes it. It refuses a server that cannot keep what it
// acknowledges, and the store looks again once a minute.
func Open(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{pool: pool, table: opts.Table, clock: store.NewClock()}
	if s.table == "" {
		s.table = defaultTable
	}
	var err error
	if s.maxValue, err = store.MaxValue(opts.MaxValue); err != nil {
		return nil, err
	}
	switch {
	case pool == nil:
		return nil, store.Misuse("pgstore: the pool is nil")
	case !tableName.MatchString(s.table):
		return nil, store.Misuse("pgstore: %q is no name of a table: up to 41 of a-z 0-9 _, and a schema before a dot", s.table)
	}
	s.texts = statementsOn(s.table)
	if err := s.findPooler(ctx); err != nil {
		return nil, err
	}
	if !opts.AcceptLoss {
		if err := s.settings.Hold(ctx, s.checkDurable); err != nil {
			return nil, err
		}
	}
	if _, err := s.Epoch(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Scope is [store.Cluster].
func (s *Store) Scope() store.Scope { return store.Cluster }

// Epoch implements [store.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	var epoch string
	err := s.pool.QueryRow(ctx, s.texts.epoch, s.mode).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) || has(err, undefinedTable, undefinedColumn) {
		if err = s.begin(ctx); err == nil {
			// The transaction that wrote the row is a part of it.
			err = s.pool.QueryRow(ctx, s.texts.epoch, s.mode).Scan(&epoch)
		}
	}
	if err != nil {
		return "", failed("epoch", err)
	}
	return epoch, nil
}

// begin makes the table and chooses an epoch. Whoever is second finds the epoch
// of the first.
func (s *Store) begin(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Two that make one table at once would hinder each other.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", s.mode, s.table); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, s.texts.schema, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, s.texts.epoch, s.mode).Scan(new(string))
		if errors.Is(err, pgx.ErrNoRows) {
			_, err = tx.Exec(ctx, s.texts.begin, s.mode, rand.Text()[:contentsLen])
		}
		return err
	})
}

// Reached implements [store.Marker].
func (s *Store) Reached(epoch string) store.Revision { return s.high.Reached(epoch) }

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, key, s.texts.create, store.ErrExists, value, ttl, time.Time{})
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, key, s.texts.update, store.ErrConflict, value, ttl, time.Time{}, int64(at))
}

// Schedule implements [store.Scheduler].
func (s *Store) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if at == 0 {
		return s.write(ctx, key, s.texts.create, store.ErrExists, value, ttl, due)
	}
	return s.write(ctx, key, s.texts.update, store.ErrConflict, value, ttl, due, int64(at))
}

// write runs a statement, of which lost is the verdict where it finds another record than it
// is for.
func (s *Store) write(ctx context.Context, key store.Key, statement string, lost error, value []byte, ttl time.Duration, due time.Time, at ...any) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	if err := s.settings.Check(ctx); err != nil {
		return 0, err
	}
	var when *time.Time
	if !due.IsZero() {
		when = &due
	}
	args := append([]any{s.mode, key.Epoch, store.Contents(key.Epoch), key.Name, s.clock.Early(), s.clock.Late(), lifetime(ttl), notNil(value), when}, at...)
	now, err := s.high.Write(key, func() (now store.Revision, err error) {
		err = unlessSerialized(ctx, func() error {
			now, err = s.try(ctx, lost, statement, args)
			return err
		})
		return now, err
	}, func() error {
		_, err := s.pool.Exec(ctx, s.texts.end, s.mode, key.Epoch)
		return err
	})
	if err != nil {
		return 0, failed("write", err)
	}
	return now, nil
}

// try runs a statement that says whether the epoch is the table's, which revision it
// wrote, if any, and otherwise the record that a Create found. One that was committed
// since the statement began is not seen.
func (s *Store) try(ctx context.Context, lost error, statement string, args []any) (store.Revision, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	forget(conn)
	var known *bool // null where there is no epoch
	var at, existing *int64
	var found []byte
	err = conn.QueryRow(ctx, statement, args...).Scan(&known, &at, &found, &existing)
	switch {
	case has(err, undefinedTable):
		return 0, fmt.Errorf("%w: %w", store.ErrForgotten, err)
	case has(err, diskFull):
		return 0, fmt.Errorf("%w: %w", store.ErrFull, err)
	case err != nil: // a lock timeout, too, says nothing about the record
		return 0, err
	case known == nil || !*known:
		return 0, store.ErrForgotten
	case at == nil && existing != nil:
		return 0, &store.ExistsError{Value: found, At: store.Revision(*existing)}
	case at == nil:
		return 0, lost
	}
	if warning := heard(conn); warning != nil {
		return 0, fmt.Errorf("%w: %w", errUnsettled, warning)
	}
	return store.Revision(*at), nil
}

// Get implements [store.Store]. It lags if the pool is connected to a standby.
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil {
		return nil, 0, err
	}
	var value []byte
	var at int64
	err := s.pool.QueryRow(ctx, s.texts.get, s.mode, key.Epoch, store.Contents(key.Epoch), key.Name, s.clock.Early()).Scan(&value, &at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, 0, store.ErrNotFound
	case has(err, undefinedTable):
		return nil, 0, failed("get", fmt.Errorf("%w: %w", store.ErrForgotten, err))
	case err != nil:
		return nil, 0, failed("get", err)
	}
	return value, store.Revision(at), nil
}

// Sweep implements [store.Sweeper].
func (s *Store) Sweep(ctx context.Context) (left bool, err error) {
	for swept := int64(sweepAtOnce); err == nil && swept == sweepAtOnce; {
		err = unlessSerialized(ctx, func() error {
			tag, err := s.pool.Exec(ctx, s.texts.sweep, s.mode, s.clock.Early(), sweepAtOnce)
			swept = tag.RowsAffected()
			return err
		})
	}
	if err == nil {
		err = s.pool.QueryRow(ctx, s.texts.any, s.mode).Scan(&left)
	}
	switch {
	case has(err, undefinedTable):
		return false, nil
	case err != nil:
		return true, failed("sweep", err)
	}
	return left, nil
}

// Due implements [store.Scheduler].
func (s *Store) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	rows, err := s.pool.Query(ctx, s.texts.due, s.mode, before, s.clock.Early(), n)
	if err == nil {
		var keys []store.Key
		if keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (key store.Key, err error) {
			err = row.Scan(&key.Epoch, &key.Name)
			return key, err
		}); err == nil {
			return keys, nil
		}
	}
	if has(err, undefinedTable) {
		return nil, nil
	}
	return nil, failed("due", err)
}

// Conditions of the server that mean something here.
const (
	undefinedTable       = "42P01"
	undefinedColumn      = "42703"
	diskFull             = "53100"
	serializationFailure = "40001"
	deadlock             = "40P01"
)

// has reports whether the server refused with one of these conditions.
func has(err error, codes ...string) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && slices.Contains(codes, refusal.Code)
}

// unlessSerialized repeats a statement that the server has rolled back because
// of another one. That happens if the database's default isolation is stricter than
// read committed, and leaves nothing behind.
func unlessSerialized(ctx context.Context, run func() error) error {
	for {
		if err := run(); !has(err, serializationFailure, deadlock) || ctx.Err() != nil {
			return err
		}
	}
}

func failed(op string, err error) error { return fmt.Errorf("pgstore: %s: %w", op, err) }

// lifetime is rounded up to the server's unit: a record must not go
// early.
func lifetime(ttl time.Duration) time.Duration {
	return (ttl + time.Microsecond - 1).Truncate(time.Microsecond)
}

// notNil keeps an empty value from being NULL.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}
