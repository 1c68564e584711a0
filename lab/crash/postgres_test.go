//go:build unix

package crash

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore"
	"github.com/mrtr-go/sdk/store/storetest"
)

var postgres = &Backend{
	Name: "postgres",
	Addresses: func(t *testing.T) func() string {
		return at(postgresAddress(storetest.PostgreSQL.Shared(t)))
	},
	Open: func(ctx context.Context, address string) (store.Store, error) {
		pool, err := pgxpool.New(ctx, address)
		if err != nil {
			return nil, err
		}
		return pgstore.Open(ctx, pool, nil)
	},
	Dump: func(t *testing.T, address string) (all []byte) {
		pool, err := pgxpool.New(t.Context(), address)
		require.NoError(t, err)
		defer pool.Close()
		rows, err := pool.Query(t.Context(), "SELECT * FROM mrtr_rounds", pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			values, err := rows.Values()
			require.NoError(t, err)
			for _, value := range values {
				all = fmt.Appendf(all, "%s ", value)
			}
		}
		require.NoError(t, rows.Err())
		return all
	},
	Subject: func(t *testing.T) *storetest.Subject {
		opts := &pgstore.Options{Table: "rounds_" + strings.ToLower(rand.Text())}
		connect := func(addr string) *pgxpool.Pool {
			pool, err := pgxpool.New(t.Context(), postgresAddress(addr)+" pool_max_conns=8")
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			return pool
		}
		open := func(pool *pgxpool.Pool) store.Store {
			s, err := pgstore.Open(t.Context(), pool, opts)
			require.NoError(t, err)
			return s
		}
		return proxied(t, storetest.PostgreSQL.Shared(t), connect, open, func(pool *pgxpool.Pool) {
			_, err := pool.Exec(t.Context(), "DROP TABLE "+opts.Table)
			require.NoError(t, err)
		})
	},
	Lacks: map[string]string{full: "the disk of its server would have to be full"},
}

func TestPostgreSQL(t *testing.T) { postgres.Run(t) }

func postgresAddress(addr string) string {
	host, port, _ := net.SplitHostPort(addr)
	return fmt.Sprintf("host=%s port=%s user=mrtr dbname=postgres sslmode=disable", host, port)
}
