// Package pgonce runs an effect on PostgreSQL exactly once: a row named by the
// effect's idempotency key is written in the effect's own transaction, so that both
// are there or neither is.
//
// It needs no store for the rounds. Whatever becomes of a process, and however
// often a client sends a state, the second attempt finds the row and returns its
// result. An effect outside the transaction, such as an email, gains nothing from it:
// use [mrtr.Once] there.
//
// The rows hold the keys and values of effects in plain text.
package pgonce

import (
	"context"
	"errors"
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

const (
	// mostAttempts is how many may fail: with the pauses between them, which double, that
	// takes five seconds.
	mostAttempts = 10
	firstPause   = 10 * time.Millisecond
	// busyPause is the longest pause of an effect that waits for another attempt at it.
	busyPause = 160 * time.Millisecond
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
//	  - f runs again if the server undid its transaction because of another one, if the
//	    connection was lost before the commit, or if its commit got no answer and turns
//	    out not to have happened. The effects of f outside tx are not undone.
//	  - After ten such attempts Do returns an error that is retryable: the same request may
//	    come again, and the row settles it. It is [mrtr.ErrIndeterminate] if the last
//	    commit got no answer.
//	  - The text of an error of the database tells a client no address, no user and no
//	    statement. [errors.Is] and [errors.As] find the cause, and an observer gets it with
//	    [mrtr.EffectFailed]. An error of f's own keeps its text unless it wraps one of the
//	    database; one that has a ToolErrorType method always does.
//	  - f neither commits nor rolls back: tx refuses. It may begin savepoints.
//	  - While another attempt at the same effect is under way, Do waits for it, as long
//	    as ctx lasts, without a connection. A process that stands still keeps its
//	    transaction open: set idle_in_transaction_session_timeout if that can happen.
//	  - Effects take half of the connections of a *pgxpool.Pool at most, so that a store
//	    can share the pool.
//	  - The table has to be there: [Prepare].
func Do[T any](ctx context.Context, c *mrtr.Call, db DB, key string, f func(ctx context.Context, tx pgx.Tx) (T, error)) (T, error) {
	var none T
	if err := check(db); err != nil {
		return none, err
	}
	// The row decides, so nobody need be in doubt about an attempt that was cut off.
	again := &mrtr.EffectOptions[T]{Again: true}
	return mrtr.Once(ctx, c, key, func(ctx context.Context, idem string) (T, error) {
		return settle(ctx, db, idem, f)
	}, again)
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
	pause, waiting := firstPause, firstPause
	for failures := 0; ; {
		err := a.run(ctx)
		var next time.Duration
		switch {
		case err == nil:
			return a.value, nil
		case errors.Is(err, errBusy):
			next, waiting = waiting, min(2*waiting, busyPause)
		case a.undecided || a.mayRepeat(err):
			if failures++; failures == mostAttempts {
				return none, a.told(ctx, err)
			}
			next, pause = pause, 2*pause
		default:
			return none, a.told(ctx, err)
		}
		select {
		case <-ctx.Done():
			return none, a.told(ctx, err)
		case <-time.After(next):
		}
	}
}

// mayRepeat reports whether an attempt failed for a reason that another one may not meet.
func (a *attempt[T]) mayRepeat(err error) bool {
	own := (*refusal)(nil)
	if errors.As(err, &own) {
		return isUndone(err)
	}
	return isUndone(err) || isLost(err)
}
