//go:build unix

package redisstore_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/redisstore"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

var backend = crashtest.Backend{
	Addresses: func(t *testing.T) func() string { return crashtest.At(server.Shared(t)) },
	Open: func(ctx context.Context, addr string) (store.Store, error) {
		return redisstore.Open(ctx, redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}), nil)
	},
	Subject: newSubject,
	// The store has no limit of its own. The server has.
	Fill: func(t *testing.T, _ *storetest.Subject) (drain func()) {
		client := connect(t, server.Shared(t), 0)
		limit := func(size string) { require.NoError(t, client.ConfigSet(context.Background(), "maxmemory", size).Err()) }
		limit("1mb")
		t.Cleanup(func() { limit("0") })
		return func() { limit("0") }
	},
}

func TestMain(m *testing.M) { backend.Main(m) }

func TestCrashes(t *testing.T) { backend.Run(t) }
