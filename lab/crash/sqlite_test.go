//go:build unix

package crash

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/store/storetest"
)

var sqlite = &Backend{
	Name: "sqlite",
	// A file for each call: the processes of many calls would wait for one another.
	Addresses: func(t *testing.T) func() string {
		return func() string { return filepath.Join(t.TempDir(), "rounds.db") }
	},
	Open:    func(ctx context.Context, path string) (store.Store, error) { return sqlitestore.Open(ctx, path, nil) },
	Dump:    sqliteDump,
	Subject: sqliteSubject,
	Lacks: map[string]string{
		"answers clogged":          noNetwork,
		"clogged after the effect": noNetwork,
	},
	Outcomes: true,
}

// sqliteDump is the bytes of the file and of its log, which is emptied into the file first.
func sqliteDump(t *testing.T, path string) (all []byte) {
	file, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = file.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, errors.Join(err, file.Close()))
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		all = append(all, text...)
	}
	return all
}

const noNetwork = "a file has no network between a request and its answer"

func TestSQLite(t *testing.T) { sqlite.Run(t) }

// sqliteSubject is clogged while another process keeps the file locked, which stops
// writers alone. It is wiped by emptying the file: its handles keep a removed one open.
func sqliteSubject(t *testing.T) *storetest.Subject {
	path := filepath.Join(t.TempDir(), "rounds.db")
	open := func() *sqlitestore.Store {
		s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{MaxBytes: 1 << 20})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	s := open()
	file, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "_txlock=immediate&_pragma=busy_timeout(30000)"}).String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return &storetest.Subject{
		Store:   s,
		Another: func() store.Store { return open() },
		Wipe: func() store.Store {
			_, err := file.Exec("DELETE FROM rounds")
			require.NoError(t, err)
			return s
		},
		HoldRequests: func() (release func()) {
			tx, err := file.Begin()
			require.NoError(t, err)
			return func() { require.NoError(t, tx.Rollback()) }
		},
		Cut: func() { require.NoError(t, s.Close()) },
	}
}
