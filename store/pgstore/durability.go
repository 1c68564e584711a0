package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mrtr-go/sdk/store"
)

// noticed is where a connection notes the last warning that it got.
const noticed = "pgstore.notice"

// Watch lets the connections of a pool hear the server's warnings. It is called on the pool's
// ConnConfig before the pool is made, and needed where a server waits for a standby: the
// commit of a write that is cancelled in that wait succeeds, with a warning, and may be lost.
// [Open] refuses a pool there that does not hear it.
func Watch(config *pgx.ConnConfig) {
	next := config.OnNotice
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" {
			conn.CustomData()[noticed] = n
		}
		if next != nil {
			next(conn, n)
		}
	}
}

// heard is the warning of the last statement, with which it was committed here and perhaps
// nowhere else.
func heard(conn *pgxpool.Conn) error {
	if n, warned := conn.Conn().PgConn().CustomData()[noticed].(*pgconn.Notice); warned {
		return (*pgconn.PgError)(n)
	}
	return nil
}

func forget(conn *pgxpool.Conn) { delete(conn.Conn().PgConn().CustomData(), noticed) }

// checkDurable refuses a server that acknowledges what it may lose.
func (s *Store) checkDurable(ctx context.Context) error {
	var fsync, commit, standbys string
	err := s.pool.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('synchronous_standby_names')`,
		s.mode).Scan(&fsync, &commit, &standbys)
	switch {
	case err != nil:
		return failed("open", err)
	case fsync == "off":
		return store.Misuse("pgstore: fsync is off, so a crash may undo what was acknowledged: switch it on, or set AcceptLoss")
	case commit == "off" || commit == "local":
		return store.Misuse("pgstore: synchronous_commit is %s, so a crash may undo what was acknowledged: switch it on, or set AcceptLoss", commit)
	case standbys == "":
		return nil
	}
	return s.checkWatched(ctx)
}

// checkWatched has the server give a warning, and sees whether it is heard.
func (s *Store) checkWatched(ctx context.Context) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return failed("open", err)
	}
	defer conn.Release()
	forget(conn)
	defer forget(conn)
	if _, err := conn.Exec(ctx, `DO $$ BEGIN RAISE WARNING 'pgstore asks whether a warning is heard'; END $$`, s.mode); err != nil {
		return failed("open", err)
	}
	if heard(conn) == nil {
		return store.Misuse("pgstore: the server waits for a standby, and the pool does not hear when a write was not waited for: call pgstore.Watch on its ConnConfig, let client_min_messages be warning, or set AcceptLoss")
	}
	return nil
}

// findPooler sets the mode of statements. Behind a pooler such as pgbouncer in transaction
// mode, another connection does not know the statements that this one has prepared.
func (s *Store) findPooler(ctx context.Context) error {
	s.mode = s.pool.Config().ConnConfig.DefaultQueryExecMode
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return failed("open", err)
	}
	defer conn.Release()
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return failed("open", err)
	}
	if pid != conn.Conn().PgConn().PID() && (s.mode == pgx.QueryExecModeCacheStatement || s.mode == pgx.QueryExecModeDescribeExec) {
		s.mode = pgx.QueryExecModeExec
	}
	return nil
}

// errUnsettled is a write of which the server says itself that it may be lost.
var errUnsettled = errors.New("the write is committed, and perhaps not on the standby")
