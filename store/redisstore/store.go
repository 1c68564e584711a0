// Package redisstore remembers rounds in Redis or Valkey, for a fleet of
// processes. One server holds them: Redis Cluster is not supported.
//
// Redis must neither evict records nor forget them in a crash, and Open checks
// that: maxmemory-policy noeviction, appendonly yes, appendfsync always. A
// replica that is promoted may lack the last writes, and a backup that is
// restored does: delete the keys of the store then. A round that ran and is not
// remembered would run again.
package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mrtr-go/sdk/store"
)

// Options says where rounds are remembered. The zero value is good for most.
type Options struct {
	// Prefix begins every key: letters, digits, hyphens, underscores and colons.
	// Empty means "mrtr:rounds:".
	Prefix string
	// MaxValue bounds a value. Zero means [store.DefaultMaxValue].
	MaxValue int
	// AcceptLoss lets Open take a server that may lose acknowledged writes, or
	// that does not say. A round that ran may then run again after a crash.
	AcceptLoss bool
}

// Store is a [store.Store] in one Redis. It holds nothing that needs closing;
// the client is the caller's.
type Store struct {
	client   *redis.Client
	prefix   string
	epochKey string
	maxValue int
}

const defaultPrefix = "mrtr:rounds:"

var prefixes = regexp.MustCompile(`^[A-Za-z0-9:_-]{1,100}$`)

// Open finds the store's keys, or begins them.
//
// The client must have ContextTimeoutEnabled, without which go-redis goes on
// when a context has ended.
func Open(ctx context.Context, client *redis.Client, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{client: client, prefix: opts.Prefix}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	// No name of a record has a colon, nor has an epoch.
	s.epochKey = s.prefix + "epoch:"
	var err error
	if s.maxValue, err = store.MaxValue(opts.MaxValue); err != nil {
		return nil, err
	}
	switch {
	case client == nil:
		return nil, store.Misuse("redisstore: the client is nil")
	case !client.Options().ContextTimeoutEnabled:
		return nil, store.Misuse("redisstore: the client ignores contexts: set ContextTimeoutEnabled in its options")
	case !prefixes.MatchString(s.prefix):
		return nil, store.Misuse("redisstore: %q is no prefix: 1 to 100 of A-Z a-z 0-9 : _ -", s.prefix)
	}
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
	for _, setting := range []struct{ name, safe string }{
		{"maxmemory-policy", "noeviction"}, {"appendonly", "yes"}, {"appendfsync", "always"},
	} {
		values, err := s.client.ConfigGet(ctx, setting.name).Result()
		var refusal redis.Error
		if err != nil && !errors.As(err, &refusal) {
			return failed("open", err)
		}
		if now := values[setting.name]; now != setting.safe {
			if now == "" {
				now = "not known"
			}
			return store.Misuse("redisstore: the server may lose records: its %s is %s and not %s. Change it, or set AcceptLoss", setting.name, now, setting.safe)
		}
	}
	return nil
}

// Scope is [store.Cluster].
func (s *Store) Scope() store.Scope { return store.Cluster }

// Epoch implements [store.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	epoch, err := epochScript.run(ctx, s.client, []string{s.epochKey}, rand.Text()).Text()
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
	return s.write(ctx, createScript, key, value, milliseconds(ttl))
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	return s.write(ctx, updateScript, key, value, milliseconds(ttl), strconv.FormatUint(uint64(at), 10))
}

func (s *Store) write(ctx context.Context, script *script, key store.Key, value []byte, args ...any) (store.Revision, error) {
	args = append([]any{key.Epoch, value}, args...)
	reply := script.run(ctx, s.client, []string{s.epochKey, s.record(key)}, args...)
	if fields, exists := reply.Val().([]any); exists {
		value, at, err := recordOf(fields)
		if err != nil {
			return 0, failed("write", err)
		}
		return 0, failed("write", &store.ExistsError{Value: value, At: at})
	}
	at, err := reply.Int64()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "OOM "):
		// The script has not begun: Redis looks at its memory before that.
		return 0, failed("write", fmt.Errorf("%w: %w", store.ErrFull, err))
	case err != nil:
		return 0, failed("write", err)
	case at == forgotten:
		return 0, failed("write", store.ErrForgotten)
	case at == lost:
		return 0, failed("write", store.ErrConflict)
	}
	return store.Revision(at), nil
}

// Get implements [store.Store]. It asks for the record and the epoch in one round trip.
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil {
		return nil, 0, err
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, failed("get", err)
	}
	// The record comes first. A lost epoch never returns, so if the epoch is still the
	// key's afterwards, it was when the record was read.
	pipe := s.client.Pipeline()
	record := pipe.HMGet(ctx, s.record(key), "revision", "value")
	epoch := pipe.HGet(ctx, s.epochKey, "epoch")
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return nil, 0, failed("get", err)
	}
	if epoch.Val() != key.Epoch {
		return nil, 0, failed("get", store.ErrForgotten)
	}
	value, at, err := recordOf(record.Val())
	if err != nil {
		return nil, 0, failed("get", err)
	}
	return value, at, nil
}

// recordOf reads the fields of a record: its revision and its value.
func recordOf(fields []any) ([]byte, store.Revision, error) {
	if len(fields) != 2 {
		return nil, 0, fmt.Errorf("a record has 2 fields, and this reply %d", len(fields))
	}
	revision, there := fields[0].(string)
	value, whole := fields[1].(string)
	if !there || !whole {
		return nil, 0, store.ErrNotFound
	}
	at, err := strconv.ParseUint(revision, 10, 64)
	return []byte(value), store.Revision(at), err
}

// record is the key of a record in Redis. The epoch is part of it, so records that
// an epoch has left behind never meet those of the next.
func (s *Store) record(key store.Key) string { return s.prefix + key.Epoch + ":" + key.Name }

// milliseconds is rounded up: a record must not go early.
func milliseconds(ttl time.Duration) int64 {
	return int64((ttl + time.Millisecond - 1) / time.Millisecond)
}

func failed(op string, err error) error { return fmt.Errorf("redisstore: %s: %w", op, err) }
