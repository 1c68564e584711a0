package pgmrtr_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/killed"
	"github.com/mrtr-go/sdk/pgmrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// openStore opens the store in a process that a test starts; without a database it
// remembers nothing.
func openStore(ctx context.Context, where string) (store.Store, error) {
	if where == nowhere {
		return nil, nil
	}
	pool, err := pgxpool.New(ctx, where)
	if err != nil {
		return nil, err
	}
	return pgmrtr.Open(ctx, pool, nil)
}

func TestKillTable(t *testing.T) {
	rows := slices.Concat(killed.Rows, []killed.Row{journalPgonce})
	killed.CheckDocs(t, docs, killed.Table(t, killed.At(prepare(t)), rows, killed.Points))
}

func TestFrozen(t *testing.T) {
	killed.CheckDocs(t, docs, killed.Frozen(t, killed.At(prepare(t)), killed.Rows))
}

func TestFleet(t *testing.T) { killed.CheckFleet(t, prepare(t)) }

// How a server that has no room is taken is not played here: its disk would have to be
// full.
func TestOutage(t *testing.T) {
	addr := runServer(t)
	played := killed.Outages(t, func(t *testing.T) *killed.Outside {
		opts := &pgmrtr.Options{Table: tableName(t)}
		proxy := storetest.NewProxy(t, addr)
		direct := connect(t, addr, "")
		return &killed.Outside{
			Store: open(t, connect(t, proxy.Addr(), ""), opts), Direct: open(t, direct, opts),
			HoldRequests: proxy.HoldRequests, HoldAnswers: proxy.HoldAnswers, Cut: proxy.Cut,
			Wipe: func() {
				_, err := direct.Exec(t.Context(), "DROP TABLE "+opts.Table)
				require.NoError(t, err)
			},
		}
	})
	require.Equal(t, killed.AllOutages-1, played)
}

const docs = "../docs/with-a-store.md"
