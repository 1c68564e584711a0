// Package pgonce runs an effect on PostgreSQL exactly once: a row named by the
// effect's idempotency key is written in the effect's own transaction, so that both
// are there or neither is.
//
// It needs no store for the rounds. Whatever becomes of a process, and however
// often a client sends a state, the second attempt finds the row and returns its
// result. An effect outside the transaction, such as an email, gains nothing from it:
// use [mrtr.Once] there.
package pgonce

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// DB begins transactions: a *pgxpool.Pool or a *pgx.Conn. A pgx.Tx is refused,
// because a savepoint is not kept until the transaction around it is.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// The pauses between attempts: ten of them, ten seconds together. The server may
// undo a transaction because of another one, or a commit may get no answer.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = firstPause << 9
)

// Do is [mrtr.Once] for an effect that is a transaction: f works with tx, and its
// work is committed together with its value.
//
//		receipt, err := pgonce.Do(ctx, c, pool, "pay", func(ctx context.Context, tx pgx.Tx) (Receipt, error) {
//			_, err := tx.Exec(ctx, "INSERT INTO payments ...")
//			return Receipt{...}, err
//		})
//
//	  - An error of f undoes the transaction. The effect has not happened, and runs
//	    when it is asked for again.
//	  - f runs again where the server undid its transaction because of another one, or
//	    where its commit got no answer and turns out not to have happened. The effects
//	    of f outside tx are not undone.
//	  - f neither commits nor rolls back: tx refuses. It may begin savepoints.
//	  - While another attempt at the same effect is under way, Do waits for it, as long
//	    as ctx lasts. A process that stands still keeps its transaction open: set
//	    idle_in_transaction_session_timeout where that can happen.
//	  - The table has to be there: [Prepare].
func Do[T any](ctx context.Context, c *mrtr.Call, db DB, key string, f func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var none T
	if err := check(db); err != nil {
		return none, err
	}
	// The row decides, so nobody need be in doubt about an attempt that was cut off.
	again := &mrtr.OnceOptions[T]{Again: true}
	return mrtr.OnceWith(ctx, c, key, again, func(ctx context.Context, idem string) (T, error) {
		return settle(ctx, db, idem, f)
	})
}

func check(db DB) error {
	switch db.(type) {
	case nil:
		return store.Misuse("pgonce: the database is nil")
	case pgx.Tx:
		return store.Misuse("pgonce: a transaction is no database: give the pool or the connection it came from")
	}
	return nil
}

// settle repeats the attempt until its outcome is certain.
func settle[T any](ctx context.Context, db DB, idem string, f func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var none T
	a := attempt[T]{db: db, idem: idem, f: f}
	var err error
	for pause := firstPause; pause <= lastPause; pause *= 2 {
		if err = a.run(ctx); err == nil {
			return a.value, nil
		}
		if !a.undecided && !undone(err) {
			break
		}
		select {
		case <-ctx.Done():
			return none, a.tell(err)
		case <-time.After(pause):
		}
	}
	return none, a.tell(err)
}
