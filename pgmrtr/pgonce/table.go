package pgonce

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mrtr-go/sdk/store"
)

// Prepare makes the table mrtr_once if it is not there, in the first schema of the
// connection's search_path. A program calls it when it starts, or has its own
// migrations make the table.
func Prepare(ctx context.Context, db DB) error {
	if err := check(db); err != nil {
		return err
	}
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		// Two that make one table at once would hinder each other.
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('mrtr_once'))"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `
CREATE TABLE IF NOT EXISTS mrtr_once (
	idem  text COLLATE "C" PRIMARY KEY,
	value json,
	began timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS mrtr_once_began ON mrtr_once (began);`)
		return err
	})
	if err != nil {
		return failed("prepare", err)
	}
	return nil
}

// Forget removes the rows of effects that are older than age, and returns how many.
// A state that comes back after that runs its effect again, so age is longer than
// the calls of the server live: as many lifetimes of a state (statecodec.Options
// TTL) as a call may have rounds.
func Forget(ctx context.Context, db DB, age time.Duration) (removed int64, err error) {
	if err := check(db); err != nil {
		return 0, err
	}
	if age <= 0 {
		return 0, store.Misuse("pgonce: effects cannot be forgotten after %v", age)
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, "DELETE FROM mrtr_once WHERE began < now() - $1::interval", age)
		removed = done.RowsAffected()
		return err
	})
	if err != nil {
		return 0, failed("forget", err)
	}
	return removed, nil
}
