//go:build unix

package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore/pgonce"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

// A connection that the server ends before the commit has done nothing, so the effect is
// tried again.
func TestPgOnceTriesAgainWhereAConnectionIsLost(t *testing.T) {
	for _, at := range []string{"before the transaction", "before the row", "in the effect", "after the effect", "in an effect that hides it"} {
		t.Run(at, func(t *testing.T) {
			shop := newShop(t, "")
			killer, runs := connectTo(t, newAddress(shop)), 0
			kill := func(ctx context.Context, conn *pgx.Conn) {
				_, err := killer.Exec(ctx, "SELECT pg_terminate_backend($1, 10000)", conn.PgConn().PID())
				require.NoError(t, err)
			}
			db := &losesConnection{Pool: shop.pool, at: at, kill: kill}
			server := shop.start(t, db, func(ctx context.Context, tx pgx.Tx, order string) (crashtest.Receipt, error) {
				runs++
				if runs == 1 && at == "in the effect" {
					kill(ctx, tx.Conn())
				}
				receipt, err := enter(ctx, tx, order)
				if runs == 1 && (at == "after the effect" || at == "in an effect that hides it") {
					kill(ctx, tx.Conn())
				}
				if runs == 1 && at == "in an effect that hides it" {
					_, _ = enter(ctx, tx, order)
				}
				return receipt, err
			})
			a := pay(t, server)
			require.Equal(t, []crashtest.Receipt{a.Receipt}, shop.paid(t, "tea"))
			require.Equal(t, map[bool]int{true: 1, false: 2}[at == "before the transaction" || at == "before the row"], runs)
		})
	}
}

// newAddress is the address of a shop's database.
func newAddress(s *shop) string { return s.pool.Config().ConnString() }

// losesConnection loses the connection of its first transaction before the effect.
type losesConnection struct {
	*pgxpool.Pool
	at   string
	kill func(context.Context, *pgx.Conn)
	lost bool
}

func (db *losesConnection) Begin(ctx context.Context) (pgx.Tx, error) {
	if !db.lost && db.at == "before the transaction" {
		for _, conn := range db.AcquireAllIdle(ctx) {
			db.lost = true
			db.kill(ctx, conn.Conn())
			conn.Release()
		}
	}
	tx, err := db.Pool.Begin(ctx)
	if err == nil && !db.lost && db.at == "before the row" {
		db.lost = true
		db.kill(ctx, tx.Conn())
	}
	return tx, err
}

// The text of an error of the database's is not for clients. The program finds the error.
func TestPgOnceHidesTheDatabase(t *testing.T) {
	shop := newShop(t, "")
	server := shop.start(t, shop.pool, func(ctx context.Context, tx pgx.Tx, _ string) (crashtest.Receipt, error) {
		_, err := tx.Exec(ctx, "SELECT secret FROM payments")
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		return crashtest.Receipt{}, fmt.Errorf("reading: %w", err)
	})
	a := pay(t, server)
	require.Contains(t, a.Text, "database refused it (SQLSTATE 42703)")
	require.NotContains(t, a.Text, "secret")
}

// The settings of the connection decide, as they do for a store.
func TestPgOnceRefusesAServerThatMayLoseACommit(t *testing.T) {
	forgetful := connectTo(t, newDatabase(t)+" synchronous_commit=off")
	err := pgonce.Prepare(t.Context(), forgetful, nil)
	var usage *store.UsageError
	require.ErrorAs(t, err, &usage)
	require.ErrorContains(t, err, "synchronous_commit is off")
	require.ErrorAs(t, pgonce.Prepare(t.Context(), forgetful, &pgonce.Options{}), &usage)
	require.NoError(t, pgonce.Prepare(t.Context(), forgetful, &pgonce.Options{AcceptLoss: true}))
}

// A program that may not make tables starts with one that its migrations have made.
func TestPgOncePreparesWithoutTheRightToMakeTables(t *testing.T) {
	shop := newShop(t, "")
	_, err := shop.pool.Exec(t.Context(), "REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE "+tableName(t)+" LOGIN")
	require.NoError(t, err)
	poor := connectTo(t, newAddress(shop)+" user="+tableName(t))
	require.NoError(t, pgonce.Prepare(t.Context(), poor, nil))
}

// Effects that wait for another attempt at them, and effects at work, leave connections of
// their pool to the store that shares it.
func TestPgOnceLeavesConnectionsToTheStore(t *testing.T) {
	const conns, senders = 4, 20
	for _, equal := range []bool{true, false} {
		t.Run(fmt.Sprintf("equal=%t", equal), func(t *testing.T) {
			shop := newShop(t, fmt.Sprintf(" pool_max_conns=%d", conns))
			records := open(t, shop.pool, nil)
			db := pgonce.DB(shop.pool)
			asked, began, finish := make(chan struct{}, senders), make(chan struct{}, senders), make(chan struct{})
			if equal { // so that it is their waiting, and not the bound on a pool, that leaves connections
				db = announced{shop.pool, asked}
			}
			server := shop.start(t, db, func(ctx context.Context, tx pgx.Tx, order string) (crashtest.Receipt, error) {
				began <- struct{}{}
				<-finish
				return enter(ctx, tx, order)
			})
			effects, atWork := senders, conns/2
			if equal {
				effects, atWork = 1, 1
			}
			requests := make([]wire.Request, effects)
			for i := range requests {
				var err error
				requests[i], err = server.Ask(t.Context(), fmt.Sprint("tea ", i))
				require.NoError(t, err)
			}
			key := storetest.KeyOf(t, records, "")
			var wg sync.WaitGroup
			answers, errs := make([]crashtest.Answer, senders), make([]error, senders)
			for i := range senders {
				wg.Go(func() { answers[i], errs[i] = server.Send(t.Context(), requests[i%effects]) })
			}
			if equal {
				for range senders {
					<-asked
				}
			}
			for range atWork {
				<-began
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var err error
			for i := range 200 {
				key.Name = fmt.Sprint("r", i)
				_, err = records.Create(ctx, key, nil, time.Minute)
				if err != nil {
					break
				}
			}
			more := len(began)
			close(finish)
			wg.Wait()
			require.NoError(t, err)
			require.Zero(t, more, "effects at work beyond %d", atWork)
			require.NoError(t, errors.Join(errs...))
			require.Len(t, began, effects-atWork)
			rows, err := shop.pool.Query(t.Context(), "SELECT buyer, receipt FROM payments")
			require.NoError(t, err)
			paid, err := pgx.CollectRows(rows, pgx.RowToStructByPos[crashtest.Receipt])
			require.NoError(t, err)
			require.Len(t, paid, effects)
			for i, a := range answers {
				require.Equal(t, "ok", a.Class)
				require.Equal(t, fmt.Sprint("tea ", i%effects), a.Receipt.Order)
				require.Contains(t, paid, a.Receipt)
			}
		})
	}
}

// announced tells of the transactions that are asked for, as long as somebody listens.
type announced struct {
	pgonce.DB
	asked chan<- struct{}
}

func (db announced) Begin(ctx context.Context) (pgx.Tx, error) {
	select {
	case db.asked <- struct{}{}:
	default:
	}
	return db.DB.Begin(ctx)
}
