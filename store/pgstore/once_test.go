//go:build unix

package pgstore_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/pgstore/pgonce"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

var journalPgonce = crashtest.Row{Name: "journal + pgonce", Paid: paidInTable, Style: func(till *crashtest.Till) mrtr.Style[crashtest.Order, crashtest.Receipt] {
	return mrtr.Journal(crashtest.Linear(till, payInTransaction(till)))
}}

const payments = "CREATE TABLE payments (buyer text, receipt text)"

func payInTransaction(till *crashtest.Till) func(context.Context, *mrtr.Call, string) (crashtest.Receipt, error) {
	return func(ctx context.Context, c *mrtr.Call, order string) (crashtest.Receipt, error) {
		pool, err := database()
		if err != nil {
			return crashtest.Receipt{}, err
		}
		return pgonce.Do(ctx, c, pool, "pay", func(ctx context.Context, tx pgx.Tx) (crashtest.Receipt, error) {
			till.Begins()
			receipt, err := enter(ctx, tx, order)
			till.Happened()
			return receipt, err
		})
	}
}

// enter is the effect. Its receipts differ, so that a second one shows.
func enter(ctx context.Context, tx pgx.Tx, order string) (crashtest.Receipt, error) {
	receipt := crashtest.Receipt{Order: order, Idem: rand.Text()}
	_, err := tx.Exec(ctx, "INSERT INTO payments VALUES ($1, $2)", receipt.Order, receipt.Idem)
	return receipt, err
}

// database is that of a server process, which the test names by this variable.
var database = sync.OnceValues(func() (*pgxpool.Pool, error) {
	return pgxpool.New(context.Background(), os.Getenv(databaseVariable))
})

const databaseVariable = "PGSTORE_DATABASE"

func paidInTable(ctx context.Context, _, order string) (paid []crashtest.Receipt, err error) {
	conn, err := pgx.Connect(ctx, os.Getenv(databaseVariable))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SELECT buyer, receipt FROM payments WHERE buyer = $1", order)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[crashtest.Receipt])
}

// One row at every point, though nobody remembers the rounds.
func TestPgOnceWithoutAStore(t *testing.T) {
	newDatabase(t)
	points := []crashtest.Point{crashtest.Started, crashtest.AfterEffect, crashtest.AfterRecord, crashtest.AfterResult}
	lines := crashtest.Kill(t, crashtest.At(nowhere), []crashtest.Row{journalPgonce}, points)
	require.Equal(t, []string{"| journal + pgonce | 1 ok | 1 ok | 1 ok | 1 ok |"}, lines)
}

// All who send one request at once get one receipt, whatever the isolation of the
// transactions.
func TestPgOnceOfManyRequests(t *testing.T) {
	for _, settings := range []string{"", " default_transaction_isolation=serializable", " default_transaction_isolation='repeatable read'"} {
		t.Run(settings, func(t *testing.T) {
			shop := newShop(t, settings)
			one, other := shop.start(t, shop.pool, enter), shop.start(t, shop.pool, enter)
			request, err := one.Ask(t.Context(), "tea")
			require.NoError(t, err)
			const senders = 10
			answers := make([]crashtest.Answer, senders)
			errs := make([]error, senders)
			var wg sync.WaitGroup
			for i := range senders {
				wg.Go(func() { answers[i], errs[i] = []*crashtest.Client{one, other}[i%2].Send(t.Context(), request) })
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			paid := shop.paid(t, "tea")
			require.Len(t, paid, 1)
			for _, a := range answers {
				require.Equal(t, crashtest.Answer{Class: "ok", Receipt: paid[0]}, a)
			}
		})
	}
}

func TestPgOnceUndoesAnError(t *testing.T) {
	shop := newShop(t, "")
	attempts := 0
	server := shop.start(t, shop.pool, func(ctx context.Context, tx pgx.Tx, order string) (crashtest.Receipt, error) {
		receipt, err := enter(ctx, tx, order)
		if attempts++; attempts == 1 {
			return receipt, errors.New("the card was refused")
		}
		return receipt, err
	})
	request, err := server.Ask(t.Context(), "tea")
	require.NoError(t, err)
	refused, err := server.Send(t.Context(), request)
	require.NoError(t, err)
	require.Contains(t, refused.Text, "the card was refused")
	require.Empty(t, shop.paid(t, "tea"))
	a, err := server.Send(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, []crashtest.Receipt{a.Receipt}, shop.paid(t, "tea"))
}

// A commit whose answer is lost has happened or not. Either way it is settled before
// the effect is answered.
func TestPgOnceSettlesACommitWithoutAnAnswer(t *testing.T) {
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprintf("happened=%t", happened), func(t *testing.T) {
			shop := newShop(t, "")
			flaky := &losesAnswer{DB: shop.pool, happened: happened}
			runs := 0
			server := shop.start(t, flaky, func(ctx context.Context, tx pgx.Tx, order string) (crashtest.Receipt, error) {
				runs++
				return enter(ctx, tx, order)
			})
			a := pay(t, server)
			require.Equal(t, "ok", a.Class)
			require.Equal(t, []crashtest.Receipt{a.Receipt}, shop.paid(t, "tea"))
			require.Equal(t, happened, runs == 1)
			require.True(t, flaky.lost)
		})
	}
}

// losesAnswer loses the answer to its first commit.
type losesAnswer struct {
	pgonce.DB
	happened, lost bool
}

func (db *losesAnswer) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := db.DB.Begin(ctx)
	return &losingTx{tx, db}, err
}

type losingTx struct {
	pgx.Tx
	db *losesAnswer
}

func (tx *losingTx) Commit(ctx context.Context) error {
	if tx.db.lost {
		return tx.Tx.Commit(ctx)
	}
	tx.db.lost = true
	if tx.db.happened {
		if err := tx.Tx.Commit(ctx); err != nil {
			return err
		}
	} else if err := tx.Tx.Rollback(ctx); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

func TestPgOnceMisuse(t *testing.T) {
	shop := newShop(t, "")
	tx, err := shop.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	empty := connect(t, server.Shared(t), "")
	for _, c := range []struct {
		db          pgonce.DB
		pay         payment
		explanation string
	}{
		{nil, enter, "the database is nil"},
		{tx, enter, "a transaction is no database"},
		{empty, enter, "call Prepare"},
		{shop.pool, func(ctx context.Context, tx pgx.Tx, _ string) (crashtest.Receipt, error) {
			return crashtest.Receipt{}, tx.Commit(ctx)
		}, "Do commits when the function has returned"},
		{shop.pool, func(ctx context.Context, tx pgx.Tx, _ string) (crashtest.Receipt, error) {
			return crashtest.Receipt{}, tx.Rollback(ctx)
		}, "to roll back, return an error"},
	} {
		server := shop.start(t, c.db, c.pay)
		a := pay(t, server)
		require.Contains(t, a.Text, c.explanation)
	}
	require.Empty(t, shop.paid(t, "tea"))
	var usage *store.UsageError
	require.ErrorAs(t, pgonce.Prepare(t.Context(), nil, nil), &usage)
	_, err = pgonce.Forget(t.Context(), shop.pool, 0)
	require.ErrorAs(t, err, &usage)
}

func TestPgOnceForgets(t *testing.T) {
	shop := newShop(t, "")
	server := shop.start(t, shop.pool, enter)
	pay(t, server)
	removed, err := pgonce.Forget(t.Context(), shop.pool, time.Hour)
	require.NoError(t, err)
	require.Zero(t, removed)
	_, err = shop.pool.Exec(t.Context(), "UPDATE mrtr_once SET began = now() - interval '61 minutes'")
	require.NoError(t, err)
	removed, err = pgonce.Forget(t.Context(), shop.pool, time.Hour)
	require.NoError(t, err)
	require.EqualValues(t, 1, removed)
}

// shop is a database with the tables, and the servers of this process on it.
type shop struct {
	pool *pgxpool.Pool
	all  *crashtest.Instances
}

type payment func(ctx context.Context, tx pgx.Tx, order string) (crashtest.Receipt, error)

func newShop(t *testing.T, settings string) *shop {
	return &shop{connectTo(t, newDatabase(t)+settings), crashtest.NewInstances(t)}
}

func (s *shop) start(t *testing.T, db pgonce.DB, pay payment) *crashtest.Client {
	t.Helper()
	return s.all.Start(nil, crashtest.Row{Style: func(till *crashtest.Till) mrtr.Style[crashtest.Order, crashtest.Receipt] {
		return mrtr.Journal(crashtest.Linear(till, func(ctx context.Context, c *mrtr.Call, order string) (crashtest.Receipt, error) {
			return pgonce.Do(ctx, c, db, "pay", func(ctx context.Context, tx pgx.Tx) (crashtest.Receipt, error) {
				return pay(ctx, tx, order)
			})
		}))
	}}, nil)
}

func (s *shop) paid(t *testing.T, order string) []crashtest.Receipt {
	t.Helper()
	paid, err := paidInTable(t.Context(), "", order)
	require.NoError(t, err)
	return paid
}

// pay makes a whole call.
func pay(t *testing.T, server *crashtest.Client) crashtest.Answer {
	t.Helper()
	request, err := server.Ask(t.Context(), "tea")
	require.NoError(t, err)
	a, err := server.Send(t.Context(), request)
	require.NoError(t, err)
	return a
}

// newDatabase makes a database with the tables, and returns its address.
func newDatabase(t *testing.T) string {
	addr, name := server.Shared(t), "once_"+tableName(t)
	_, err := connect(t, addr, "").Exec(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	t.Setenv(databaseVariable, address(addr, name))
	pool := connectTo(t, address(addr, name))
	require.NoError(t, pgonce.Prepare(t.Context(), pool, nil))
	require.NoError(t, pgonce.Prepare(t.Context(), pool, nil), "the table is there")
	_, err = pool.Exec(t.Context(), payments)
	require.NoError(t, err)
	return address(addr, name)
}
