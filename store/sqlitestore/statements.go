package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
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
	expires  INTEGER NOT NULL -- Unix time, in milliseconds
) WITHOUT ROWID`

	numberSQL = `UPDATE rounds SET revision = revision + 1 WHERE name = '' AND value = ? RETURNING revision`
	createSQL = `INSERT INTO rounds (name, value, revision, expires) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT DO UPDATE SET value = ?2, revision = ?3, expires = ?4 WHERE expires <= ?5`
	existingSQL = `SELECT value, revision FROM rounds WHERE name = ?1`
	updateSQL   = `UPDATE rounds SET value = ?2, revision = ?3, expires = ?4 WHERE name = ?1 AND expires > ?5 AND revision = ?6`
	getSQL      = `SELECT value, revision FROM rounds WHERE name = ?2 AND expires > ?3
		AND EXISTS (SELECT 1 FROM rounds WHERE name = '' AND value = ?1)`
	epochSQL = `SELECT value FROM rounds WHERE name = ''`
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
	if err := file.Close(); err != nil {
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
	if err := unlessBusy(ctx, func() error {
		if _, err := s.writer.ExecContext(ctx, schema); err != nil {
			return err
		}
		return s.writer.QueryRowContext(ctx, "PRAGMA page_size").Scan(&pageSize)
	}); err != nil {
		return err
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
		{&s.get, s.reader, getSQL}, {&s.sweepEnd, s.reader, sweepEndSQL},
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

func dsn(path string, more ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive's letter
		path = "/" + path
	}
	options := url.Values{"_pragma": {"busy_timeout(0)", "journal_mode(WAL)", "synchronous(FULL)"}}
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

// failed wraps an error of the library. A disk without room is a verdict: SQLite
// has rolled the write back.
func failed(op string, err error) error {
	var code *sqlite.Error
	if errors.As(err, &code) && code.Code()&0xff == lib.SQLITE_FULL {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return fmt.Errorf("sqlitestore: %s: %w", op, err)
}
