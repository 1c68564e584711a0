package redisstore_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/killed"
	"github.com/mrtr-go/sdk/internal/testserver"
	"github.com/mrtr-go/sdk/redisstore"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// TestMain runs this binary as a server of a call too.
func TestMain(m *testing.M) {
	killed.Serve(killed.Backend{Open: openStore})
	testserver.Main(m)
}

// openStore opens the store in a process that a test starts.
func openStore(ctx context.Context, addr string) (store.Store, error) {
	return redisstore.Open(ctx, redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true}), nil)
}

func TestKillTable(t *testing.T) {
	killed.CheckDocs(t, docs, killed.Table(t, killed.At(runServer(t)), killed.Rows, killed.Points))
}

func TestFrozen(t *testing.T) {
	killed.CheckDocs(t, docs, killed.Frozen(t, killed.At(runServer(t)), killed.Rows))
}

func TestFleet(t *testing.T) {
	killed.CheckFleet(t, runServer(t))
}

func TestOutage(t *testing.T) {
	addr := runServer(t)
	played := killed.Outages(t, func(t *testing.T) *killed.Outside {
		proxy := storetest.NewProxy(t, addr)
		db := nextDB()
		direct := connect(t, addr, db)
		limit := func(size string) { require.NoError(t, direct.ConfigSet(context.Background(), "maxmemory", size).Err()) }
		t.Cleanup(func() { limit("0") })
		return &killed.Outside{
			Store: open(t, connect(t, proxy.Addr(), db), nil), Direct: open(t, direct, nil),
			HoldRequests: proxy.HoldRequests, HoldAnswers: proxy.HoldAnswers, Cut: proxy.Cut,
			Wipe: func() { require.NoError(t, direct.FlushDB(t.Context()).Err()) },
			Fill: func() func() { limit("1mb"); return func() { limit("0") } },
		}
	})
	require.Equal(t, killed.AllOutages, played)
}

const docs = "../docs/with-a-store.md"
