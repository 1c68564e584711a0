//go:build unix

package crash

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/redisstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

var redisServer = &Backend{
	Name:      "redis",
	Addresses: func(t *testing.T) func() string { return at(storetest.Redis.Shared(t)) },
	Open: func(ctx context.Context, addr string) (store.Store, error) {
		return redisstore.Open(ctx, redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}), nil)
	},
	Dump: func(t *testing.T, addr string) (all []byte) {
		client := connectRedis(t, addr, 0)
		keys := client.Scan(t.Context(), 0, "*", 1000).Iterator()
		for keys.Next(t.Context()) {
			kind, err := client.Type(t.Context(), keys.Val()).Result()
			require.NoError(t, err)
			read := map[string][]any{"hash": {"HGETALL", keys.Val()}, "zset": {"ZRANGE", keys.Val(), 0, -1}}[kind]
			require.NotNil(t, read, kind)
			value, err := client.Do(t.Context(), read...).Result()
			require.NoError(t, err)
			all = fmt.Appendf(all, "%s %v ", keys.Val(), value)
		}
		require.NoError(t, keys.Err())
		return all
	},
	Subject: func(t *testing.T) *storetest.Subject {
		addr, db := storetest.Redis.Shared(t), int(lastDB.Add(1))%storetest.RedisDatabases
		return proxied(t, addr, func(addr string) *redis.Client { return connectRedis(t, addr, db) },
			func(client *redis.Client) store.Store { return openRedis(t, client) },
			func(client *redis.Client) { require.NoError(t, client.FlushDB(t.Context()).Err()) })
	},
	// The store has no limit of its own. The server has.
	Fill: func(t *testing.T, _ *storetest.Subject) (drain func()) {
		client := connectRedis(t, storetest.Redis.Shared(t), 0)
		limit := func(size string) { require.NoError(t, client.ConfigSet(context.Background(), "maxmemory", size).Err()) }
		limit("1mb")
		t.Cleanup(func() { limit("0") })
		return func() { limit("0") }
	},
}

var lastDB atomic.Int64

func TestRedis(t *testing.T) { redisServer.Run(t) }

// tripsIn finds the commands that a store sends, all of them scripts.
var tripsIn = regexp.MustCompile(`cmdstat_(?:eval|evalsha):calls=(\d+)`)

// Redis itself counts three commands for a round that ends with an effect in a handler
// that can run again, and one for a repeat.
func TestTripsOfARound(t *testing.T) {
	client := connectRedis(t, storetest.Redis.Start(t), 0)
	trips := func() (n int) {
		text, err := client.Info(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		for _, found := range tripsIn.FindAllStringSubmatch(text, -1) {
			calls, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			n += calls
		}
		return n
	}
	hour := durable.Options{Lease: time.Hour} // no other sign of life falls into a round
	shop := fleet.NewInstances(t).One(t, openRedis(t, client), hour, nil)
	send := func(order string, times int) (each []int) {
		request, err := shop.Ask(t.Context(), order)
		require.NoError(t, err)
		for range times {
			before := trips()
			a, err := shop.Send(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, "ok", a.Class)
			each = append(each, trips()-before)
		}
		return each
	}
	send("tea", 1) // the server learns the scripts
	require.Equal(t, []int{3, 1, 1}, send("coffee", 3))
}

func connectRedis(t *testing.T, addr string, db int) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: addr, DB: db, ContextTimeoutEnabled: true, PoolSize: 20})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func openRedis(t *testing.T, client *redis.Client) store.Store {
	s, err := redisstore.Open(t.Context(), client, nil)
	require.NoError(t, err)
	return s
}
