// Package redisstore remembers rounds in Redis or Valkey, for a fleet of
// processes. One server holds them: Redis Cluster is not supported.
//
// Redis must neither evict records nor forget them in a crash, and Open checks
// that: maxmemory-policy noeviction, appendonly yes, appendfsync always, no replicas, because
// one that is promoted may lack the last writes. A server that was promoted, restarted or
// restored begins another epoch: a call that began before is told what is found, and whatever
// is not found is in doubt.
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
	// AcceptLoss lets Open take a server that may lose acknowledged writes, by its settings
	// or because it has replicas, or that does not say. A round that ran may then run again after a crash.
	AcceptLoss bool
}

// Store is a [store.Store] in one Redis. It holds nothing that needs closing;
// the client is the caller's.
type Store struct {
	client   *redis.Client
	prefix   string
	epochKey string
	maxValue int
	settings store.Settings
	high     store.HighWater
	clock    store.Clock
}

const (
	defaultPrefix = "mrtr:rounds:"
	sweepAtOnce   = 256
	contentsLen   = 13 // of a random text: enough to tell one store from another
)

var prefixes = regexp.MustCompile(`^[A-Za-z0-9:_-]{1,100}$`)

// Open finds the store's keys, or begins them.
//
// It refuses Redis Cluster, and a server that may lose what it acknowledges; the store looks
// again once a minute. The client must have ContextTimeoutEnabled, without which go-redis goes on
// when a context has ended.
func Open(ctx context.Context, client *redis.Client, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{client: client, prefix: opts.Prefix, clock: store.NewClock()}
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
	if mode, err := s.info(ctx, "cluster", "cluster_enabled"); err != nil || mode == "1" {
		if err == nil {
			err = store.Misuse("redisstore: the server is part of a Redis Cluster, which may promote a replica that lacks writes: take one server")
		}
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
	role, err := s.info(ctx, "replication", "role")
	if err != nil {
		return err
	}
	replicas, err := s.info(ctx, "replication", "connected_slaves")
	if err == nil && (role != "master" || replicas != "0") {
		err = store.Misuse("redisstore: the server may lose records: its role is %s and it has %s replicas, of which one may be promoted that lacks the last writes. Take one server, or set AcceptLoss", role, replicas)
	}
	return err
}

// info is a field of what the server says of itself.
func (s *Store) info(ctx context.Context, section, field string) (string, error) {
	text, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return "", failed("open", err)
	}
	_, rest, _ := strings.Cut(text, "\n"+field+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value, nil
}

// Scope is [store.Cluster].
func (s *Store) Scope() store.Scope { return store.Cluster }

// Epoch implements [store.Store].
func (s *Store) Epoch(ctx context.Context) (string, error) {
	epoch, err := epochScript.run(ctx, s.client, []string{s.epochKey}, rand.Text()[:contentsLen]).Text()
	if err != nil {
		return "", failed("epoch", err)
	}
	return epoch, nil
}

// Reached implements [store.Marker].
func (s *Store) Reached(epoch string) store.Revision { return s.high.Reached(epoch) }

// Create implements [store.Store].
func (s *Store) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, createScript, key, value, ttl, time.Time{})
}

// Update implements [store.Store].
func (s *Store) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	return s.write(ctx, updateScript, key, value, ttl, time.Time{}, strconv.FormatUint(uint64(at), 10))
}

// Schedule implements [store.Scheduler].
func (s *Store) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	if at == 0 {
		return s.write(ctx, createScript, key, value, ttl, due)
	}
	return s.write(ctx, updateScript, key, value, ttl, due, strconv.FormatUint(uint64(at), 10))
}

func (s *Store) write(ctx context.Context, script *script, key store.Key, value []byte, ttl time.Duration, due time.Time, at ...any) (store.Revision, error) {
	if err := store.CheckWrite(key, value, s.maxValue, ttl); err != nil {
		return 0, err
	}
	if err := s.settings.Check(ctx); err != nil {
		return 0, err
	}
	when := ""
	if !due.IsZero() {
		when = strconv.FormatInt(due.UnixMilli(), 10)
	}
	args := append([]any{key.Epoch, value, milliseconds(ttl), s.clock.Early().UnixMilli(), s.clock.Late().UnixMilli(), key.Name, when}, at...)
	keys := s.keys(key)
	now, err := s.high.Write(key, func() (store.Revision, error) {
		_, now, err := settle(script.run(ctx, s.client, keys, args...), true)
		return now, err
	}, func() error { return endScript.run(ctx, s.client, keys[:1], key.Epoch).Err() })
	if err != nil {
		return 0, failed("write", err)
	}
	return now, nil
}

// settle reads the answer of a script that writes a record or gets one.
func settle(reply *redis.Cmd, writes bool) ([]byte, store.Revision, error) {
	if fields, found := reply.Val().([]any); found {
		value, at, err := recordOf(fields)
		if err == nil && writes {
			err = &store.ExistsError{Value: value, At: at}
		}
		return value, at, err
	}
	at, err := reply.Int64()
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "OOM "):
		// Nothing was written: Redis looks at its memory before the script begins.
		return nil, 0, fmt.Errorf("%w: %w", store.ErrFull, err)
	case err != nil:
		return nil, 0, err
	case at == forgotten:
		return nil, 0, store.ErrForgotten
	case at == lost && writes:
		return nil, 0, store.ErrConflict
	case at == lost:
		return nil, 0, store.ErrNotFound
	}
	return nil, store.Revision(at), nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := key.Check(); err != nil {
		return nil, 0, err
	}
	reply := getScript.run(ctx, s.client, s.keys(key), key.Epoch, s.clock.Early().UnixMilli())
	value, at, err := settle(reply, false)
	if err != nil {
		return nil, 0, failed("get", err)
	}
	return value, at, nil
}

// Sweep implements [store.Sweeper].
func (s *Store) Sweep(ctx context.Context) (left bool, err error) {
	epoch, err := s.Epoch(ctx)
	if err != nil {
		return true, err
	}
	for {
		n, err := sweepScript.run(ctx, s.client, s.keys(store.Key{Epoch: epoch}), s.clock.Early().UnixMilli(), sweepAtOnce, s.records(epoch)).Int64Slice()
		if err != nil {
			return true, failed("sweep", err)
		}
		if n[0] < sweepAtOnce {
			return n[1] > 0, nil
		}
	}
}

// Due implements [store.Scheduler].
func (s *Store) Due(ctx context.Context, before time.Time, n int) ([]store.Key, error) {
	epoch, err := s.Epoch(ctx)
	if err != nil {
		return nil, err
	}
	found, err := dueScript.run(ctx, s.client, s.keys(store.Key{Epoch: epoch}), s.clock.Early().UnixMilli(), before.UnixMilli(), n, s.records(epoch)).StringSlice()
	if err != nil {
		return nil, failed("due", err)
	}
	due := make([]store.Key, len(found)-1)
	for i, name := range found[1:] {
		due[i] = store.Key{Epoch: found[0], Name: name}
	}
	return due, nil
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

// records begins the keys of the records in Redis. The contents are part of it, so records
// that a wipe has left behind never meet those that come after it.
func (s *Store) records(epoch string) string { return s.prefix + store.Contents(epoch) + ":" }

// keys are what scripts get as KEYS. No contents have the names of the indexes.
func (s *Store) keys(key store.Key) []string {
	contents := store.Contents(key.Epoch)
	return []string{s.epochKey, s.records(key.Epoch) + key.Name, s.prefix + "expires:" + contents, s.prefix + "due:" + contents}
}

// milliseconds is rounded up: a record must not go early.
func milliseconds(ttl time.Duration) int64 {
	return int64((ttl + time.Millisecond - 1) / time.Millisecond)
}

func failed(op string, err error) error { return fmt.Errorf("redisstore: %s: %w", op, err) }
