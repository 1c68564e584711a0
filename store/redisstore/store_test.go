//go:build unix

package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/redisstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	storetest.StopShared()
	os.Exit(code)
}

func TestStore(t *testing.T) { storetest.Run(t, newSubject, nil) }

func newSubject(t *testing.T) *storetest.Subject {
	const limit = 100_000
	opts := &redisstore.Options{MaxValue: limit}
	addr := storetest.Redis.Shared(t)
	proxy := storetest.NewProxy(t, addr)
	db := nextDB()
	direct := connect(t, addr, db)
	s := open(t, connect(t, proxy.Addr(), db), opts)
	return &storetest.Subject{
		Store:    s,
		MaxValue: limit,
		Another:  func() store.Store { return open(t, direct, opts) },
		Wipe: func() store.Store {
			require.NoError(t, direct.FlushDB(t.Context()).Err())
			return s
		},
		Rewind: func() func() store.Store { return rewind(t, direct, s) },
		Ahead: func(by time.Duration) store.Store {
			wrong := open(t, direct, opts)
			wrong.MoveClock(by)
			return wrong
		},
		HoldRequests: proxy.HoldRequests,
		HoldAnswers:  proxy.HoldAnswers,
		Cut:          proxy.Cut,
		Slack:        100 * time.Millisecond, // it counts in milliseconds of a clock it reads now and then
	}
}

// rewind takes a copy of every key, and puts them back.
func rewind(t *testing.T, client *redis.Client, s store.Store) (back func() store.Store) {
	ctx, dumps := t.Context(), map[string]string{}
	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		dumps[key], err = client.Dump(ctx, key).Result()
		require.NoError(t, err)
	}
	return func() store.Store {
		require.NoError(t, client.FlushDB(ctx).Err())
		for key, dump := range dumps {
			require.NoError(t, client.Restore(ctx, key, 0, dump).Err())
		}
		return s
	}
}

// Somebody may delete the store's own key, or a field of it, and leave the records.
func TestAnEpochThatIsDeletedIsForgotten(t *testing.T) {
	for _, command := range [][]any{{"DEL", "mrtr:rounds:epoch:"}, {"HDEL", "mrtr:rounds:epoch:", "epoch"}} {
		client := connect(t, storetest.Redis.Shared(t), nextDB())
		storetest.Lose(t, open(t, client, nil), func() { require.NoError(t, client.Do(t.Context(), command...).Err()) })
	}
}

// A Redis that has forgotten the scripts is told them again.
func TestScriptsAreFlushed(t *testing.T) {
	client := connect(t, storetest.Redis.Start(t), 0)
	s := open(t, client, nil)
	for i := range 3 {
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		at, err := s.Create(t.Context(), storetest.KeyOf(t, s, fmt.Sprintf("record.%d", i)), nil, time.Minute)
		require.NoError(t, err)
		require.NoError(t, client.ScriptFlush(t.Context()).Err())
		_, err = s.Update(t.Context(), storetest.KeyOf(t, s, fmt.Sprintf("record.%d", i)), at, nil, time.Minute)
		require.NoError(t, err)
	}
}

func TestServerWithoutMemoryIsFull(t *testing.T) {
	client := connect(t, storetest.Redis.Start(t), 0)
	s := open(t, client, nil)
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1mb").Err())
	_, err = s.Create(t.Context(), storetest.KeyOf(t, s, "other"), make([]byte, 1<<10), time.Minute)
	require.ErrorIs(t, err, store.ErrFull)
	_, err = s.Update(t.Context(), key, at, []byte("two"), time.Minute)
	require.ErrorIs(t, err, store.ErrFull)
	value, now, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "one", string(value))
	require.Equal(t, at, now)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	_, err = s.Create(t.Context(), storetest.KeyOf(t, s, "other"), nil, time.Minute)
	require.NoError(t, err, "the refused record is not there")
}

// A server that may lose acknowledged writes is refused, unless the program
// says that it knows.
func TestForgetfulServersAreRefused(t *testing.T) {
	client := connect(t, storetest.Redis.Start(t), 0)
	open(t, client, nil)
	var usage *store.UsageError
	for _, c := range []struct{ setting, bad, good string }{
		{"maxmemory-policy", "allkeys-lru", "noeviction"},
		{"maxmemory-policy", "volatile-ttl", "noeviction"},
		{"appendfsync", "everysec", "always"},
		{"appendonly", "no", "yes"},
	} {
		require.NoError(t, client.ConfigSet(t.Context(), c.setting, c.bad).Err())
		_, err := redisstore.Open(t.Context(), client, nil)
		require.ErrorAs(t, err, &usage, c.bad)
		require.ErrorContains(t, err, fmt.Sprintf("its %s is %s and not %s", c.setting, c.bad, c.good))
		open(t, client, &redisstore.Options{AcceptLoss: true})
		require.NoError(t, client.ConfigSet(t.Context(), c.setting, c.good).Err())
	}
	s := open(t, client, nil)
	key := storetest.KeyOf(t, s, "record")
	require.NoError(t, client.ConfigSet(t.Context(), "appendfsync", "no").Err())
	_, err := s.Create(t.Context(), key, nil, time.Minute)
	require.NoError(t, err, "the look of the minute is to come")
	s.LookAgain()
	_, err = s.Create(t.Context(), key, nil, time.Minute)
	require.ErrorAs(t, err, &usage)
	require.NoError(t, client.ConfigSet(t.Context(), "appendfsync", "always").Err())

	master := storetest.Redis.Start(t)
	host, port, _ := net.SplitHostPort(master)
	for _, words := range [][]any{{"REPLICAOF", host, port}, {"REPLICAOF", "NO", "ONE"}} {
		require.NoError(t, client.Do(t.Context(), words...).Err())
		if len(words[2].(string)) > 3 {
			require.Eventually(t, func() bool {
				_, err := redisstore.Open(t.Context(), connect(t, master, 0), nil)
				return errors.As(err, &usage) && strings.Contains(err.Error(), "it has 1 replicas")
			}, 10*time.Second, 50*time.Millisecond)
			_, err = redisstore.Open(t.Context(), client, nil)
			require.ErrorContains(t, err, "its role is slave")
		}
	}

	// Redis does not stop while it begins its log anew.
	require.Eventually(t, func() bool {
		info, err := client.Info(t.Context(), "persistence").Result()
		return err == nil && strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0")
	}, 10*time.Second, 20*time.Millisecond)
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "default", "-config").Err())
	_, err = redisstore.Open(t.Context(), client, nil)
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "not known")
	open(t, client, &redisstore.Options{AcceptLoss: true})
}

func TestAClusterIsRefused(t *testing.T) {
	client := connect(t, storetest.Redis.With("--cluster-enabled", "yes", "--databases", "1").Start(t), 0)
	var usage *store.UsageError
	_, err := redisstore.Open(t.Context(), client, &redisstore.Options{AcceptLoss: true})
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "Redis Cluster")
}

// A record that Redis has evicted may be any: none of the epoch is believed to be there.
func TestAnEvictionEndsTheEpoch(t *testing.T) {
	client := connect(t, storetest.Redis.Start(t), 0)
	s := open(t, client, nil)
	key := storetest.KeyOf(t, s, "record")
	require.NoError(t, client.Set(t.Context(), "others", "data", 0).Err())
	for _, setting := range [][2]string{{"maxmemory-policy", "allkeys-random"}, {"maxmemory", "1"}, {"maxmemory", "0"}} {
		require.NoError(t, client.ConfigSet(t.Context(), setting[0], setting[1]).Err())
		_ = client.Set(t.Context(), "others", "data", 0) // for which it looks for room
	}
	_, err := s.Create(t.Context(), key, nil, time.Minute)
	require.ErrorIs(t, err, store.ErrForgotten)
}

// The client may be set to repeat commands. A write is not repeated: its second
// attempt would take the first for somebody else's.
func TestWritesAreNotRepeated(t *testing.T) {
	addr := storetest.Redis.Shared(t)
	proxy := storetest.NewProxy(t, addr)
	client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), DB: nextDB(), ContextTimeoutEnabled: true, MaxRetries: 5, ReadTimeout: 100 * time.Millisecond})
	defer client.Close()
	s := open(t, client, nil)
	key := storetest.KeyOf(t, s, "record")
	_, err := s.Create(t.Context(), storetest.KeyOf(t, s, "first"), nil, time.Minute)
	require.NoError(t, err, "now the server knows the script")
	release := proxy.HoldAnswers()
	time.AfterFunc(200*time.Millisecond, release) // when the first attempt has failed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err = s.Create(ctx, key, []byte("one"), time.Minute)
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "the read timeout came first")
	require.False(t, store.IsVerdict(err), err)
	require.Eventually(t, func() bool {
		value, _, err := s.Get(t.Context(), key)
		return err == nil && string(value) == "one"
	}, 10*time.Second, 20*time.Millisecond, "the write was done")
}

func TestOptionsAreChecked(t *testing.T) {
	addr := storetest.Redis.Shared(t)
	var usage *store.UsageError
	for _, opts := range []*redisstore.Options{{MaxValue: -1}, {Prefix: "a b"}, {Prefix: "a*"}} {
		_, err := redisstore.Open(t.Context(), connect(t, addr, 0), opts)
		require.ErrorAs(t, err, &usage)
	}
	_, err := redisstore.Open(t.Context(), nil, nil)
	require.ErrorAs(t, err, &usage)
	deaf := redis.NewClient(&redis.Options{Addr: addr})
	defer deaf.Close()
	_, err = redisstore.Open(t.Context(), deaf, nil)
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "ContextTimeoutEnabled")
}

func open(t testing.TB, client *redis.Client, opts *redisstore.Options) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), client, opts)
	require.NoError(t, err)
	return s
}

func connect(t testing.TB, addr string, db int) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, DB: db, ContextTimeoutEnabled: true, PoolSize: 20})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

var lastDB atomic.Int64

// nextDB returns a database of the shared server that nobody has used.
func nextDB() int { return int(lastDB.Add(1)) % storetest.RedisDatabases }
