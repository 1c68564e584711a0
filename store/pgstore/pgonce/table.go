package pgonce

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mrtr-go/sdk/store"
)

// Options say what [Prepare] accepts. The zero value is good for most.
type Options struct {
	// AcceptLoss lets Prepare take a server that acknowledges commits which a crash may
	// undo: fsync or synchronous_commit is off. An effect that was answered may then be
	// gone after a crash, or happen again.
	AcceptLoss bool
}

// Prepare makes the table mrtr_once if it is not there, in the first schema of the
// connection's search_path, and refuses a server that may lose a commit. A program
// calls it when it starts; its own migrations may have made the table. Nil options are
// the zero value.
func Prepare(ctx context.Context, db DB, opts *Options) error {
	if err := check(db); err != nil {
		return err
	}
	acceptLoss := opts != nil && opts.AcceptLoss
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if !acceptLoss {
			if err := checkDurable(ctx, tx); err != nil {
				return err
			}
		}
		var there bool // made by somebody who has the right to make tables
		if err := tx.QueryRow(ctx, "SELECT to_regclass('mrtr_once') IS NOT NULL").Scan(&there); err != nil || there {
			return err
		}
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
	return failed("prepare", err)
}

func checkDurable(ctx context.Context, tx pgx.Tx) error {
	for _, setting := range []string{"fsync", "synchronous_commit"} {
		var value string
		if err := tx.QueryRow(ctx, "SELECT current_setting($1)", setting).Scan(&value); err != nil {
			return err
		}
		if value == "off" {
			return store.Misuse("pgonce: %s is off, so a crash may undo what was committed: switch it on, or set AcceptLoss", setting)
		}
	}
	return nil
}

// failed is for those who start the program: its text may tell them all.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("pgonce: %s: %w", op, err)
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
	return removed, failed("forget", err)
}
