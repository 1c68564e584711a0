// Package pgstore remembers rounds in a table of PostgreSQL, for a fleet of
// processes.
//
// Each operation is one statement. A write is acknowledged when the server has
// it on disk; with a standby that lags, a failover may lose the last of them,
// so let synchronous_commit wait for the standby. After the database was
// restored from a backup, drop the table: an older copy does not know of the
// rounds that ran since.
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
	// may undo: fsync or synchronous_commit is off. A round that ran may then
	// run again after a crash.
	AcceptLoss bool
}

// Store is a [store.Store] in one table. It holds nothing that needs closing;
// the pool is the caller's.
type Store struct {
	pool     *pgxpool.Pool
	table    string
	maxValue int
	texts    statements
}

const (
	defaultTable = "mrtr_rounds"
	sweepAtOnce  = 256
)

var tableName = regexp.MustCompile(`^([a-z_][a-z0-9_]{0,40}\.)?[a-z_][a-z0-9_]{0,40}$`)

// Open finds the table, or makes it.
func Open(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{pool: pool, table: opts.Table}
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
	if !opts.AcceptLoss {
		if err := s.checkDurable(ctx); err != nil {
			return nil, err
		}
	}
	if _, err := s.Epoch(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Store) checkDurable(ctx context.Context) error {
	for _, setting := range []string{"fsync", "synchronous_commit"} {
		var value string
		if err := s.pool.QueryRow(ctx, "SELECT current_setting($1)", setting).Scan(&value); err != nil {
			return failed("open", err)
		}
		if value == "off" {
			return store.Misuse("pgstore: %s is off, so a crash may undo what was acknowledged: switch it on, or set AcceptLoss", setting)
		}
	}
	return nil
}

// Scope is [store.Cluster].
func (s *Store) Scope() store.Scope { return store.Cluster }

// Epoch implements [store.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	var epoch string
	err := s.pool.QueryRow(ctx, s.texts.epoch).Scan(&epoch)
	if errors.Is(err, pgx.ErrNoRows) || has(err, undefinedTable) {
		epoch, err = s.begin(ctx)
	}
	if err != nil {
		return "", failed("epoch", err)
	}
	return epoch, nil
}

// begin makes the table and chooses an epoch. Whoever is second finds the epoch
// of the first.
func (s *Store) begin(ctx context.Context) (epoch string, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// Two that make one table at once would hinder each other.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", s.table); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, s.texts.schema); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, s.texts.epoch).Scan(&epoch)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		epoch = rand.Text()
		_, err = tx.Exec(ctx, s.texts.begin, epoch)
		return err
	})
	return epoch, err
}

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	return s.write(ctx, store.ErrExists, s.texts.create, key.Epoch, key.Name, notNil(value), lifetime(ttl))
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	return s.write(ctx, store.ErrConflict, s.texts.update, key.Epoch, key.Name, notNil(value), lifetime(ttl), int64(at))
}

// write runs a statement that says whether the epoch is the table's, which revision it
// wrote, if any, and otherwise the record that a Create found. One that was committed
// since the statement began is not seen.
func (s *Store) write(ctx context.Context, lost error, statement string, args ...any) (store.Revision, error) {
	var known bool
	var at, existing *int64
	var found []byte
	err := unlessSerialized(ctx, func() error {
		return s.pool.QueryRow(ctx, statement, args...).Scan(&known, &at, &found, &existing)
	})
	switch {
	case has(err, undefinedTable):
		return 0, failed("write", fmt.Errorf("%w: %w", store.ErrForgotten, err))
	case has(err, diskFull):
		return 0, failed("write", fmt.Errorf("%w: %w", store.ErrFull, err))
	case err != nil: // a lock timeout, too, says nothing about the record
		return 0, failed("write", err)
	case !known:
		return 0, failed("write", store.ErrForgotten)
	case at == nil && existing != nil:
		return 0, failed("write", &store.ExistsError{Value: found, At: store.Revision(*existing)})
	case at == nil:
		return 0, failed("write", lost)
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
	err := s.pool.QueryRow(ctx, s.texts.get, key.Epoch, key.Name).Scan(&value, &at)
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
			tag, err := s.pool.Exec(ctx, s.texts.sweep, sweepAtOnce)
			swept = tag.RowsAffected()
			return err
		})
	}
	if err == nil {
		err = s.pool.QueryRow(ctx, s.texts.any).Scan(&left)
	}
	switch {
	case has(err, undefinedTable):
		return false, nil
	case err != nil:
		return true, failed("sweep", err)
	}
	return left, nil
}

// Conditions of the server that mean something here.
const (
	undefinedTable       = "42P01"
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
