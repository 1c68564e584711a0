package sqlitestore

import (
	"context"
	random "crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/mrtr-go/sdk/store"
)

// The row without a name holds the epoch and the last revision, in the table
// that holds the records: whatever removes all rows removes it too. The rows
// are in the order of their names, so that a write changes two pages, and there
// is no index of the expiries, which would be another: a sweep looks at some
// rows, and the next one at those that follow.
const (
	schema = `
CREATE TABLE IF NOT EXISTS rounds (
	name     TEXT PRIMARY KEY,
	value    BLOB NOT NULL,
	revision INTEGER NOT NULL,
	expires  INTEGER NOT NULL, -- Unix time, in milliseconds
	due      INTEGER -- the same
) WITHOUT ROWID`
	hasDueSQL = `SELECT count(*) FROM pragma_table_info('rounds') WHERE name = 'due'`
	addDueSQL = `ALTER TABLE rounds ADD COLUMN due INTEGER` // to a file of an earlier release
	indexSQL  = `CREATE INDEX IF NOT EXISTS rounds_due ON rounds (due) WHERE due IS NOT NULL`

	numberSQL = `UPDATE rounds SET revision = revision + 1 WHERE name = '' AND value = ? RETURNING revision`
	createSQL = `INSERT INTO rounds (name, value, revision, expires, due) VALUES (?1, ?2, ?3, ?4, ?6)
		ON CONFLICT DO UPDATE SET value = ?2, revision = ?3, expires = ?4, due = ?6 WHERE expires <= ?5`
	existingSQL = `SELECT value, revision FROM rounds WHERE name = ?1`
	updateSQL   = `UPDATE rounds SET value = ?2, revision = ?3, expires = ?4, due = ?6 WHERE name = ?1 AND expires > ?5 AND revision = ?7`
	getSQL      = `SELECT value, revision FROM rounds WHERE name = ?2 AND expires > ?3
		AND EXISTS (SELECT 1 FROM rounds WHERE name = '' AND value = ?1)`
	epochSQL = `SELECT value FROM rounds WHERE name = ''`
	stateSQL = `SELECT value, revision FROM rounds WHERE name = '' AND due IS NULL`
	beginSQL = `INSERT INTO rounds (name, value, revision, expires) VALUES ('', ?, 0, ?)`
	endSQL   = `UPDATE rounds SET value = ?2 WHERE name = '' AND value = ?1`
	dueSQL   = `SELECT name, (` + epochSQL + `) FROM rounds WHERE due < ?1 AND expires > ?2 ORDER BY due LIMIT ?3`
	usedSQL  = `SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count`

	sweepSQL    = `DELETE FROM rounds WHERE name > ?2 AND name <= ?3 AND expires <= ?1`
	sweepEndSQL = `SELECT name FROM rounds WHERE name > ?1 ORDER BY name LIMIT 1 OFFSET ?2`
	lastName    = "~" // after every name there may be
)

// open makes the table if it is not there, and prepares the statements.
func (s *Store) open(ctx context.Context, path string, maxBytes int64) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// SQLite gives its other files the permissions of this one.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	opened, err := file.Stat()
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := s.settings.Hold(ctx, func(context.Context) error { return checkFile(path, opened) }); err != nil {
		return err
	}
	if s.mark, err = openMark(path); err != nil {
		return err
	}
	if s.writer, err = sql.Open("sqlite", dsn(path, "_txlock", "immediate")); err != nil {
		return err
	}
	s.writer.SetMaxOpenConns(1)
	if s.reader, err = sql.Open("sqlite", dsn(path, "_pragma", "query_only(1)")); err != nil {
		return err
	}
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	var pageSize int64
	if err := unlessBusy(ctx, func() error { return s.writer.QueryRowContext(ctx, "PRAGMA page_size").Scan(&pageSize) }); err != nil {
		return err
	}
	if ready, err := s.isReady(ctx); err != nil {
		return err
	} else if !ready {
		if err := s.transact(ctx, func(tx *sql.Tx) error { return s.prepare(ctx, tx) }); err != nil {
			return err
		}
	}
	s.maxPages = maxBytes / pageSize
	for _, p := range []struct {
		stmt **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.number, s.writer, numberSQL}, {&s.create, s.writer, createSQL}, {&s.existing, s.writer, existingSQL},
		{&s.update, s.writer, updateSQL},
		{&s.used, s.writer, usedSQL}, {&s.sweep, s.writer, sweepSQL},
		{&s.due, s.reader, dueSQL}, {&s.get, s.reader, getSQL}, {&s.sweepEnd, s.reader, sweepEndSQL},
	} {
		if err := unlessBusy(ctx, func() (err error) {
			*p.stmt, err = p.db.PrepareContext(ctx, p.text)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// isReady reports whether there is nothing to prepare, for which nobody has to wait for the
// file's lock. The mark has been there for as long as the file, unless that was restored.
func (s *Store) isReady(ctx context.Context) (bool, error) {
	var at store.Revision
	if unlessBusy(ctx, func() error { return s.reader.QueryRowContext(ctx, stateSQL).Scan(new(string), &at) }) != nil {
		return false, ctx.Err() // the table, a column or the epoch is missing
	}
	return s.mark.allows(at)
}

// prepare makes the table if it is not there, and ends the epoch of a file that was restored.
func (s *Store) prepare(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, schema); err != nil {
		return err
	}
	var hasDue bool
	if err := tx.QueryRowContext(ctx, hasDueSQL).Scan(&hasDue); err != nil {
		return err
	}
	if !hasDue {
		if _, err := tx.ExecContext(ctx, addDueSQL); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, indexSQL); err != nil {
		return err
	}
	var epoch string
	var at store.Revision
	err := tx.QueryRowContext(ctx, stateSQL).Scan(&epoch, &at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil // whoever asks for the epoch begins it
	case err != nil:
		return err
	}
	// Whoever has committed a later revision has let go of the lock since.
	if allowed, err := s.mark.allows(at); err != nil || allowed {
		return err
	}
	if err := end(ctx, tx, epoch); err != nil {
		return err
	}
	return s.mark.set(at)
}

// end ends an epoch, if it is the present one.
func end(ctx context.Context, tx *sql.Tx, epoch string) error {
	next := store.EpochOf(store.Contents(epoch), random.Text()[:incarnationLen])
	_, err := tx.ExecContext(ctx, endSQL, []byte(epoch), []byte(next))
	return err
}

func dsn(path string, more ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive's letter
		path = "/" + path
	}
	options := url.Values{"_pragma": {
		"busy_timeout(0)", "journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(" + strconv.Itoa(checkpointPages) + ")",
		"secure_delete(ON)", // what was erased is not left in the free room of a page
	}}
	for i := 0; i < len(more); i += 2 {
		options.Add(more[i], more[i+1])
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()
}

const (
	firstPause  = time.Millisecond
	lastPause   = 20 * time.Millisecond
	longestLock = 10 * time.Second // for a caller without a deadline
)

// unlessBusy repeats op while another process has the file locked. SQLite then
// has done nothing. Its own way of waiting goes on after the context has ended,
// so it is switched off.
func unlessBusy(ctx context.Context, op func() error) error {
	for began, pause := time.Now(), firstPause; ; pause = min(2*pause, lastPause) {
		err := op()
		var code *sqlite.Error
		if !errors.As(err, &code) || code.Code()&0xff != lib.SQLITE_BUSY || time.Since(began) > longestLock {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// fullDisk is the error of a write. A disk without room is a verdict: SQLite has rolled the
// write back.
func fullDisk(err error) error {
	var code *sqlite.Error
	if errors.As(err, &code) && code.Code()&0xff == lib.SQLITE_FULL {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

func failed(op string, err error) error { return fmt.Errorf("sqlitestore: %s: %w", op, err) }
