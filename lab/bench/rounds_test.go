//go:build linux

package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/natsstore"
	"github.com/mrtr-go/sdk/store/natsstore/natstest"
	"github.com/mrtr-go/sdk/store/pgstore"
	"github.com/mrtr-go/sdk/store/redisstore"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/store/storetest"
)

var stores = map[string]func(b *testing.B) (store.Store, error){
	"memory": func(*testing.B) (store.Store, error) { return store.NewMemory(nil), nil },
	"SQLite": func(b *testing.B) (store.Store, error) {
		return sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "rounds.db"), nil)
	},
	"NATS": func(b *testing.B) (store.Store, error) {
		nc, err := nats.Connect(natstest.Run(b, &server.Options{JetStream: true}).ClientURL(), nats.ReconnectBufSize(-1))
		require.NoError(b, err)
		b.Cleanup(nc.Close)
		return natsstore.Open(b.Context(), nc, nil)
	},
	"PostgreSQL": func(b *testing.B) (store.Store, error) {
		pool, err := pgxpool.New(b.Context(), "postgres://mrtr@"+storetest.PostgreSQL.Shared(b)+"/postgres?sslmode=disable")
		require.NoError(b, err)
		b.Cleanup(pool.Close)
		return pgstore.Open(b.Context(), pool, nil)
	},
	"Redis": func(b *testing.B) (store.Store, error) {
		client := redis.NewClient(&redis.Options{Addr: storetest.Redis.Shared(b), ContextTimeoutEnabled: true})
		b.Cleanup(func() { _ = client.Close() })
		return redisstore.Open(b.Context(), client, nil)
	},
}

// BenchmarkRounds makes calls of two rounds, of which the second is remembered, the same
// calls without a store, and the two writes alone that a remembered round needs at least.
func BenchmarkRounds(b *testing.B) {
	for name, open := range stores {
		b.Run("store="+name+"/work=with it", func(b *testing.B) {
			s, err := open(b)
			require.NoError(b, err)
			rounds(b, s)
		})
		b.Run("store="+name+"/work=without", func(b *testing.B) { rounds(b, nil) })
		b.Run("store="+name+"/work=two writes", func(b *testing.B) {
			s, err := open(b)
			require.NoError(b, err)
			writes(b, s)
		})
	}
}

func rounds(b *testing.B, s store.Store) {
	opts := &mrtr.Options{}
	if s != nil {
		opts.Durable = durable.In(s, nil)
	}
	if s == nil || s.Scope() != store.Process {
		opts.State = &statecodec.Options{Keys: []statecodec.Key{statecodec.GenerateKey()}}
	}
	rt, err := mrtr.New(opts)
	require.NoError(b, err)
	defer rt.Close()
	handler := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	addTools(handler, rt, 0)
	client, err := wire.Connect(context.Background(), handler, &wire.Options{Unrecorded: true})
	require.NoError(b, err)
	defer client.Close()
	l := load{tool: "weather"}
	for b.Loop() {
		require.NoError(b, l.call(b, client))
	}
}

// recordBytes is about the length of a record.
const recordBytes = 400

func writes(b *testing.B, s store.Store) {
	key := storetest.KeyOf(b, s, "")
	value := make([]byte, recordBytes)
	unique := time.Now().UnixNano() // the shared servers keep what is written
	for n := 0; b.Loop(); n++ {
		key.Name = fmt.Sprintf("bench.%d.%d", unique, n)
		at, err := s.Create(b.Context(), key, value, time.Hour)
		require.NoError(b, err)
		_, err = s.Update(b.Context(), key, at, value, time.Hour)
		require.NoError(b, err)
	}
}
