package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/mrtr-go/sdk/store"
)

// Open opens the file, and makes it if there is none.
func Open(path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if path == "" {
		return nil, store.Misuse("sqlitestore: the path is empty")
	}
	maxValue, err := store.MaxValue(opts.MaxValue)
	if err != nil {
		return nil, err
	}
	maxBytes := opts.MaxBytes
	switch {
	case maxBytes == 0:
		maxBytes = DefaultMaxBytes
	case maxBytes < minBytes:
		return nil, store.Misuse("sqlitestore: MaxBytes is %d: it is %d or more", maxBytes, minBytes)
	}
	s := &Store{maxValue: maxValue}
	if err := s.open(context.Background(), path, maxBytes); err != nil {
		return nil, errors.Join(failed("open", err), s.Close())
	}
	return s, nil
}

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
		{&s.number, s.writer, numberSQL}, {&s.create, s.writer, createSQL}, {&s.update, s.writer, updateSQL},
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
