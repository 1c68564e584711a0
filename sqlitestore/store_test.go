package sqlitestore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/roundcost"
	"github.com/mrtr-go/sdk/sqlitestore"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		const limit = 100_000
		path := filepath.Join(t.TempDir(), "rounds of a %41 #1?.db")
		open := func() *sqlitestore.Store { return mustOpen(t, path, &sqlitestore.Options{MaxValue: limit}) }
		s := open()
		return &storetest.Subject{
			Store:    s,
			MaxValue: limit,
			Another:  func() store.Store { return open() },
			Wipe: func() store.Store {
				require.NoError(t, s.Close())
				for _, suffix := range []string{"", "-wal", "-shm"} {
					if err := os.Remove(path + suffix); !errors.Is(err, os.ErrNotExist) {
						require.NoError(t, err)
					}
				}
				return open()
			},
			Small: func() store.Store {
				return mustOpen(t, filepath.Join(t.TempDir(), "small.db"), &sqlitestore.Options{MaxBytes: 64 << 10})
			},
			Cut: func() { require.NoError(t, s.Close()) },
		}
	}, &storetest.Options{Synctest: true})
}

// Readers go on while another process writes. Writers wait for it, and no
// longer than their context.
func TestWritersWaitForTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := mustOpen(t, path, nil)
	key := keyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)

	release := lock(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = s.Update(ctx, key, at, []byte("two"), time.Minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, store.IsVerdict(err), err)
	value, _, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "one", string(value))

	done := make(chan error, 1)
	go func() {
		_, err := s.Update(t.Context(), key, at, []byte("two"), time.Minute)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	require.NoError(t, <-done)
}

func TestExpiredRecordsAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rounds.db")
		s := mustOpen(t, path, nil)
		create := func(n int, name string, ttl time.Duration) {
			for i := range n {
				_, err := s.Create(t.Context(), keyOf(t, s, fmt.Sprintf(name, i)), nil, ttl)
				require.NoError(t, err)
			}
		}
		create(600, "long.%d", time.Hour)
		create(200, "old.%d", time.Minute)
		time.Sleep(time.Minute)
		create(64*8, "new.%d", time.Hour) // the eight sweeps look at the whole table
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		var old, all int
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM rounds WHERE name LIKE 'old.%'`).Scan(&old))
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM rounds`).Scan(&all))
		require.Zero(t, old)
		require.Equal(t, 600+64*8+1, all, "the others and the epoch")
	})
}

// Somebody may empty the table and leave the file.
func TestRowsThatAreDeletedAreForgotten(t *testing.T) {
	for _, statement := range []string{`DELETE FROM rounds`, `DELETE FROM rounds WHERE name = ''`} {
		path := filepath.Join(t.TempDir(), "rounds.db")
		s := mustOpen(t, path, nil)
		key := keyOf(t, s, "record")
		at, err := s.Create(t.Context(), key, nil, time.Minute)
		require.NoError(t, err)
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.Exec(statement)
		require.NoError(t, err)
		require.NoError(t, db.Close())

		_, err = s.Create(t.Context(), key, nil, time.Minute)
		require.ErrorIs(t, err, store.ErrForgotten, statement)
		_, err = s.Update(t.Context(), key, at, nil, time.Minute)
		require.ErrorIs(t, err, store.ErrForgotten, statement)
		now := keyOf(t, s, "record")
		require.NotEqual(t, key.Epoch, now.Epoch)
		_, err = s.Create(t.Context(), now, nil, time.Minute)
		require.NoError(t, err, statement)
	}
}

func TestFileIsNotForOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := mustOpen(t, path, nil)
	keyOf(t, s, "record")
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 3, "the file, its log and the log's index")
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	var usage *store.UsageError
	for _, opts := range []sqlitestore.Options{{MaxValue: -1}, {MaxBytes: -1}, {MaxBytes: 1000}} {
		_, err := sqlitestore.Open(path, &opts)
		require.ErrorAs(t, err, &usage)
	}
	_, err := sqlitestore.Open("", nil)
	require.ErrorAs(t, err, &usage)
	require.NoFileExists(t, path)
	_, err = sqlitestore.Open(filepath.Join(t.TempDir(), "missing", "rounds.db"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	notOurs := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(notOurs, bytes.Repeat([]byte("not a database\n"), 1000), 0o600))
	_, err = sqlitestore.Open(notOurs, nil)
	require.Error(t, err)
}

// BenchmarkStore compares it with the two statements that a program of one's
// own would run, on a file with the same settings.
func BenchmarkStore(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	require.NoError(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE records (name TEXT PRIMARY KEY, value BLOB)`)
	require.NoError(b, err)
	insert, err := db.Prepare(`INSERT INTO records VALUES (?, ?)`)
	require.NoError(b, err)
	update, err := db.Prepare(`UPDATE records SET value = ?2 WHERE name = ?1`)
	require.NoError(b, err)
	storetest.Ratio(b, mustOpen(b, filepath.Join(b.TempDir(), "rounds.db"), nil), func(ctx context.Context, name string, first, second []byte) error {
		if _, err := insert.ExecContext(ctx, name, first); err != nil {
			return err
		}
		_, err := update.ExecContext(ctx, name, second)
		return err
	})
}

// BenchmarkRound is the cost of a remembered round, in bare writes.
func BenchmarkRound(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rounds.db")
	roundcost.Measure(b, func() store.Store { return mustOpen(b, path, nil) })
}

func keyOf(t testing.TB, s store.Store, name string) store.Key {
	t.Helper()
	epoch, err := s.Epoch(t.Context())
	require.NoError(t, err)
	return store.Key{Epoch: epoch, Name: name}
}

func mustOpen(t testing.TB, path string, opts *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// lock takes the file's write lock, as another process does while it writes.
func lock(t testing.TB, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "_txlock=immediate"}).String())
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	return func() {
		require.NoError(t, tx.Rollback())
		require.NoError(t, db.Close())
	}
}
