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
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		return newSubject(t, filepath.Join(t.TempDir(), "rounds of a %41 #1?.db"))
	}, &storetest.Options{Synctest: true})
}

func newSubject(t *testing.T, path string) *storetest.Subject {
	const limit = 100_000
	opts := &sqlitestore.Options{MaxValue: limit, MaxBytes: 1 << 20}
	s := open(t, path, opts)
	return &storetest.Subject{
		Store:    s,
		MaxValue: limit,
		Another:  func() store.Store { return open(t, path, opts) },
		Wipe: func() store.Store {
			require.NoError(t, s.Close())
			for _, suffix := range []string{"", "-wal", "-shm"} {
				if err := os.Remove(path + suffix); !errors.Is(err, os.ErrNotExist) {
					require.NoError(t, err)
				}
			}
			return open(t, path, opts)
		},
		Rewind: func() func() store.Store {
			execute(t, path, "PRAGMA wal_checkpoint(TRUNCATE)")
			copied, err := os.ReadFile(path)
			require.NoError(t, err)
			return func() store.Store {
				require.NoError(t, s.Close())
				require.NoError(t, os.WriteFile(path, copied, 0o600))
				return open(t, path, opts)
			}
		},
		Small: func() store.Store {
			return open(t, filepath.Join(t.TempDir(), "small.db"), &sqlitestore.Options{MaxBytes: 64 << 10})
		},
		Cut: func() { require.NoError(t, s.Close()) },
	}
}

// Readers go on while another process writes. Writers wait for it, and no
// longer than their context.
func TestWritersWaitForTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := open(t, path, nil)
	key := storetest.KeyOf(t, s, "record")
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

// Processes that start while another one holds the file's lock learn the epoch at once.
func TestAnEpochIsReadWhileTheFileIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	stores := []*sqlitestore.Store{open(t, path, nil)}
	epoch := storetest.KeyOf(t, stores[0], "any").Epoch
	for range 12 {
		stores = append(stores, open(t, path, nil))
	}
	defer lock(t, path)()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	errs := make([]error, len(stores))
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() {
			for n := 0; n < 20 && errs[i] == nil; n++ {
				var found string
				if found, errs[i] = s.Epoch(ctx); errs[i] == nil && found != epoch {
					errs[i] = fmt.Errorf("the epoch is %s", found)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
}

func TestExpiredRecordsAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rounds.db")
		s := open(t, path, nil)
		create := func(n int, name string, ttl time.Duration) {
			for i := range n {
				_, err := s.Create(t.Context(), storetest.KeyOf(t, s, fmt.Sprintf(name, i)), nil, ttl)
				require.NoError(t, err)
			}
		}
		create(600, "long.%d", time.Hour) // more than are looked at at once
		create(200, "old.%d", time.Minute)
		time.Sleep(time.Minute)
		left, err := s.Sweep(t.Context())
		require.NoError(t, err)
		require.True(t, left)
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		var old, all int
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM rounds WHERE name LIKE 'old.%'`).Scan(&old))
		require.NoError(t, db.QueryRow(`SELECT count(*) FROM rounds`).Scan(&all))
		require.Zero(t, old)
		require.Equal(t, 600+1, all, "the others and the epoch")
	})
}

// Somebody may empty the table and leave the file.
func TestRowsThatAreDeletedAreForgotten(t *testing.T) {
	for _, statement := range []string{`DELETE FROM rounds`, `DELETE FROM rounds WHERE name = ''`} {
		path := filepath.Join(t.TempDir(), "rounds.db")
		storetest.Lose(t, open(t, path, nil), func() { execute(t, path, statement) })
	}
}

func TestFileIsNotForOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := open(t, path, nil)
	storetest.KeyOf(t, s, "record")
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Len(t, files, 4, "the file, its log, the log's index and the mark")
	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}

// The log does not grow without end: on a disk that it fills it could never be written back.
func TestTheLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := open(t, path, nil)
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, nil, time.Minute)
	require.NoError(t, err)
	for range 400 {
		at, err = s.Update(t.Context(), key, at, make([]byte, 10_000), time.Minute)
		require.NoError(t, err)
	}
	log, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.Less(t, log.Size(), int64(2<<20))
}

// Records that were copied elsewhere without the mark may be any copy, and so may be those
// that were put in the place of a file in use.
func TestAFileThatWasReplacedIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := open(t, path, nil)
	key := storetest.KeyOf(t, s, "record")
	at, err := s.Create(t.Context(), key, []byte("one"), time.Minute)
	require.NoError(t, err)
	again := open(t, path, nil)
	require.Equal(t, key.Epoch, storetest.KeyOf(t, again, "record").Epoch)
	require.NoError(t, os.Remove(path+"-mark"))
	moved := open(t, path, nil)
	now := storetest.KeyOf(t, moved, "record")
	require.NotEqual(t, key.Epoch, now.Epoch)
	require.True(t, store.Kin(key.Epoch, now.Epoch))
	_, err = moved.Update(t.Context(), now, at, []byte("two"), time.Minute)
	require.NoError(t, err)
	require.Equal(t, now.Epoch, storetest.KeyOf(t, open(t, path, nil), "record").Epoch, "once")

	require.NoError(t, os.Rename(path, path+".old"))
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	s.LookAgain()
	_, err = s.Create(t.Context(), now, nil, time.Minute)
	require.ErrorAs(t, err, new(*store.UsageError))
	require.ErrorContains(t, err, "replaced")
}

// A file that an earlier release has made is opened, and begins an epoch.
func TestAFileOfAnEarlierRelease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	execute(t, path, `CREATE TABLE rounds (name TEXT PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID`)
	execute(t, path, `INSERT INTO rounds VALUES ('', x'414243', 7, 9223372036854775807), ('record', x'00', 7, 9223372036854775807)`)
	s := open(t, path, nil)
	key := storetest.KeyOf(t, s, "record")
	require.True(t, store.Kin("ABC", key.Epoch))
	_, at, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	_, err = s.Schedule(t.Context(), key, at, nil, time.Minute, time.Now())
	require.NoError(t, err)
}

func TestOptionsAreChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rounds.db")
	var usage *store.UsageError
	for _, opts := range []sqlitestore.Options{{MaxValue: -1}, {MaxBytes: -1}, {MaxBytes: 1000}} {
		_, err := sqlitestore.Open(t.Context(), path, &opts)
		require.ErrorAs(t, err, &usage)
	}
	_, err := sqlitestore.Open(t.Context(), "", nil)
	require.ErrorAs(t, err, &usage)
	require.NoFileExists(t, path)
	_, err = sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "missing", "rounds.db"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	notOurs := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(notOurs, bytes.Repeat([]byte("not a database\n"), 1000), 0o600))
	_, err = sqlitestore.Open(t.Context(), notOurs, nil)
	require.Error(t, err)
}

func open(t testing.TB, path string, opts *sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// execute runs a statement on the file, as another program does.
func execute(t testing.TB, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path}).String())
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(statement)
	require.NoError(t, err)
}

// lock takes the file's write lock, as another process does while it writes.
func lock(t testing.TB, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "_txlock=immediate&_pragma=busy_timeout(30000)"}).String())
	require.NoError(t, err)
	tx, err := db.Begin()
	require.NoError(t, err)
	return func() {
		require.NoError(t, tx.Rollback())
		require.NoError(t, db.Close())
	}
}
