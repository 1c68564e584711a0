package pgonce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// rollbackTime bounds the wait for the server when a transaction is given up.
const rollbackTime = 5 * time.Second

// attempt is an effect, and the outcome of its last run.
type attempt[T any] struct {
	db    DB
	idem  string
	f     func(ctx context.Context, tx pgx.Tx) (T, error)
	value T
	// undecided: a commit got no answer, so the transaction may have happened.
	undecided bool
}

// run is one transaction. Its first statement waits for every other attempt
// that has got as far as that: one whose commit is still on its way, too. So an
// attempt that may insert the row knows that no earlier one has happened.
func (a *attempt[T]) run(ctx context.Context) error {
	tx, err := a.db.Begin(ctx)
	if err != nil {
		return failed("begin", err)
	}
	defer rollback(ctx, tx) // after a commit it does nothing
	inserted, err := tx.Exec(ctx, "INSERT INTO mrtr_once (idem) VALUES ($1) ON CONFLICT (idem) DO NOTHING", a.idem)
	if err != nil {
		return failed("insert", err)
	}
	if inserted.RowsAffected() == 0 {
		return a.load(ctx, tx)
	}
	a.undecided = false
	if a.value, err = a.f(ctx, guarded{tx}); err != nil {
		return err
	}
	value, err := json.Marshal(a.value)
	if err != nil {
		return store.Misuse("pgonce: the value of the effect cannot be remembered, so it was undone: %v", err)
	}
	if _, err := tx.Exec(ctx, "UPDATE mrtr_once SET value = $2 WHERE idem = $1", a.idem, value); err != nil {
		return failed("update", err)
	}
	if err := tx.Commit(ctx); err != nil {
		a.undecided = !isDecided(err)
		return failed("commit", err)
	}
	return nil
}

// tell adds to the error of the last run whether an earlier one may have happened.
func (a *attempt[T]) tell(err error) error {
	if a.undecided {
		return unanswered(err)
	}
	return err
}

// load reads the value of an effect that has happened.
func (a *attempt[T]) load(ctx context.Context, tx pgx.Tx) error {
	var value []byte
	if err := tx.QueryRow(ctx, "SELECT value FROM mrtr_once WHERE idem = $1", a.idem).Scan(&value); err != nil {
		return failed("select", err)
	}
	a.undecided = false
	if err := json.Unmarshal(value, &a.value); err != nil {
		return store.Misuse("pgonce: the effect happened, but its value is not a %T: %v", a.value, err)
	}
	return nil
}

func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer cancel()
	_ = tx.Rollback(ctx) // the server does it by itself if it does not hear this
}

// guarded is the transaction as the author's function sees it.
type guarded struct{ pgx.Tx }

// Commit refuses: Do commits the effect together with its value.
func (guarded) Commit(context.Context) error {
	return store.Misuse("pgonce: Do commits when the function has returned")
}

// Rollback refuses: an error that the function returns undoes the transaction.
func (guarded) Rollback(context.Context) error {
	return store.Misuse("pgonce: to roll back, return an error")
}

// isDecided reports whether the error of a commit says that it did not happen:
// the server refused it. A server that ends the session may have committed before.
func isDecided(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.SeverityUnlocalized == "ERROR" || errors.Is(err, pgx.ErrTxCommitRollback)
}

// undone reports whether the server undid the transaction because of another one.
func undone(err error) bool {
	const serializationFailure, deadlock = "40001", "40P01"
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && (refusal.Code == serializationFailure || refusal.Code == deadlock)
}

// unanswered is the error of an effect that may have happened.
func unanswered(err error) error {
	return fmt.Errorf("pgonce: a commit got no answer: %w: %w", mrtr.ErrIndeterminate, err)
}

func failed(op string, err error) error {
	const undefinedTable = "42P01"
	var refusal *pgconn.PgError
	if op == "insert" && errors.As(err, &refusal) && refusal.Code == undefinedTable {
		return store.Misuse("pgonce: there is no table mrtr_once: call Prepare when the program starts")
	}
	return fmt.Errorf("pgonce: %s: %w", op, err)
}
