package pgonce

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mrtr-go/sdk/store"
)

// rollbackTime bounds the wait for the server when a transaction is given up.
const rollbackTime = 5 * time.Second

// attempt is an effect, and the outcome of its last run.
type attempt[T any] struct {
	db    DB
	idem  string
	f     func(ctx context.Context, tx pgx.Tx) (T, error)
	value T // written by run
	// undecided: a commit got no answer, so the transaction may have happened. Written
	// by run, read between two runs.
	undecided bool
}

// begin is the first statement of an attempt. It waits for nobody: if another attempt at
// the same effect is under way, nothing is inserted, and no row is found either. The lock
// spares the waiting and decides nothing; the row does.
const begin = `
INSERT INTO mrtr_once (idem)
SELECT $1 WHERE pg_try_advisory_xact_lock(hashtextextended('mrtr_once ' || $1::text, 0))
ON CONFLICT (idem) DO NOTHING`

// errBusy is the error of an attempt that has to wait for another one.
var errBusy = errors.New("another attempt is under way")

// run is one transaction. It inserts the row only if every other attempt that has got
// as far as that is over: one whose commit was on its way, too. So an attempt that
// inserts the row knows that no earlier one has happened.
func (a *attempt[T]) run(ctx context.Context) error {
	leave, err := enter(ctx, a.db)
	if err != nil {
		return err
	}
	defer leave()
	tx, err := a.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx) // after a commit it does nothing
	inserted, err := tx.Exec(ctx, begin, a.idem)
	if err != nil {
		return missingTable(err)
	}
	if inserted.RowsAffected() == 0 {
		return a.load(ctx, tx)
	}
	a.undecided = false
	if a.value, err = a.f(context.WithValue(ctx, inside{}, true), guarded{tx}); err != nil {
		lost := isLost(err) && isClosed(tx)
		if lost && !isOwn(err) {
			return err
		}
		return &refusal{err, !isOwn(err) && isDriver(err)}
	}
	value, err := json.Marshal(a.value)
	if err != nil {
		return store.Misuse("pgonce: the value of the effect cannot be remembered, so it was undone: %v", err)
	}
	if _, err := tx.Exec(ctx, "UPDATE mrtr_once SET value = $2 WHERE idem = $1", a.idem, value); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		a.undecided = !isDecided(err)
		return err
	}
	return nil
}

// load reads the value of an effect that has happened.
func (a *attempt[T]) load(ctx context.Context, tx pgx.Tx) error {
	var value []byte
	err := tx.QueryRow(ctx, "SELECT value FROM mrtr_once WHERE idem = $1", a.idem).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return errBusy
	}
	if err != nil {
		return err
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
