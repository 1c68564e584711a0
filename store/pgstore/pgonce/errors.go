package pgonce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// The conditions of the server that mean something here.
var (
	undone  = []string{"40001", "40P01"}                            // for the sake of another transaction
	goes    = []string{"57P01", "57P02", "57P03", "08006", "08003"} // the server, or the connection
	crowded = "53300"                                               // too many connections
	noTable = "42P01"
)

// refusal is the error of the author's function. It undid the transaction.
type refusal struct {
	error
	hidden bool // its text may hold what the driver or the server said
}

func (e *refusal) Unwrap() error { return e.error }

// failure is an error of the database as clients see it: nothing of its cause is in the
// text, since that names addresses, users and statements. [errors.Is], [errors.As] and an
// observer find the cause.
type failure struct {
	text      string
	retryable bool
	cause     error
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() error { return e.cause }

// ToolErrorType has a boundary pass the text on, which is written for clients.
func (e *failure) ToolErrorType() string { return "execution" }

// ToolErrorRetryable says that the same request may be sent again, so that a store does
// not keep the failure as its outcome: the row settles it.
func (e *failure) ToolErrorRetryable() bool { return e.retryable }

// told is the error of an effect after its last attempt.
func (a *attempt[T]) told(ctx context.Context, err error) error {
	own := (*refusal)(nil)
	misuse := (*store.UsageError)(nil)
	refused := (*pgconn.PgError)(nil)
	switch {
	case a.undecided:
		return &failure{"The database did not answer a commit, so nobody knows whether the effect happened.", true, fmt.Errorf("%w: %w", mrtr.ErrIndeterminate, err)}
	case errors.As(err, &misuse):
		return err
	case errors.As(err, &own) && !own.hidden:
		return own.error
	case ctx.Err() != nil:
		return &failure{"The effect was cut off before it happened.", true, err}
	case isUndone(err):
		return &failure{"The effect did not happen: the database undid it time and again for the sake of others.", true, err}
	case isLost(err):
		return &failure{"The effect did not happen: the database could not be reached.", true, err}
	case errors.As(err, &refused):
		return &failure{"The effect did not happen: the database refused it (SQLSTATE " + refused.Code + ").", false, err}
	}
	return &failure{"The effect did not happen: the database failed.", false, err}
}

// isOwn reports whether an error describes itself to agents, so that its author has
// written it for them.
func isOwn(err error) bool {
	var described interface{ ToolErrorType() string }
	return errors.As(err, &described)
}

// isDriver reports whether an error is one of the driver's or the server's.
func isDriver(err error) bool {
	refused, dial := (*pgconn.PgError)(nil), (*pgconn.ConnectError)(nil)
	return errors.As(err, &refused) || errors.As(err, &dial) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pgconn.ErrConnClosed)
}

func has(err error, codes ...string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code)
}

// isUndone reports whether the server undid the transaction because of another one.
func isUndone(err error) bool { return has(err, undone...) }

// isLost reports whether a connection was lost, or could not be made.
func isLost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return has(err, goes...) || has(err, crowded)
	}
	var dial *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &dial) || errors.As(err, &network) || pgconn.SafeToRetry(err) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isClosed reports whether the connection of a transaction is gone, and the transaction
// with it.
func isClosed(tx pgx.Tx) bool {
	conn := tx.Conn()
	return conn != nil && conn.IsClosed()
}

// isDecided reports whether the error of a commit says that it did not happen:
// the server refused it, or did not get it. A server that ends the session may have
// committed before.
func isDecided(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR" ||
		errors.Is(err, pgx.ErrTxCommitRollback) || pgconn.SafeToRetry(err)
}

// missingTable explains the error of a statement about a table that is not there.
func missingTable(err error) error {
	if has(err, noTable) {
		return store.Misuse("pgonce: there is no table mrtr_once: call Prepare when the program starts")
	}
	return err
}
