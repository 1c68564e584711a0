//go:build unix

package crash

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/sqlitestore"
)

// sqliteScene is a file in a folder, and what closes it at all instances.
func sqliteScene(t *testing.T, path string) (scene Scene, closeAll func()) {
	var stores []*sqlitestore.Store
	closeAll = func() {
		for _, s := range stores {
			require.NoError(t, s.Close())
		}
	}
	t.Cleanup(closeAll)
	return Scene{Open: func(int) store.Store {
		s, err := sqlitestore.Open(t.Context(), path, nil)
		require.NoError(t, err)
		stores = append(stores, s)
		return s
	}}, closeAll
}

var sqliteEvents = []Event{
	{Name: "restored from a copy", Daily: true, Set: func(t *testing.T) Scene {
		path := filepath.Join(t.TempDir(), "rounds.db")
		copied := filepath.Join(t.TempDir(), "copy.db")
		s, closeAll := sqliteScene(t, path)
		s.Restarts = true
		s.Before = func() {
			file, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(30000)"}).String())
			require.NoError(t, err)
			_, err = file.Exec("VACUUM INTO ?", copied)
			require.NoError(t, errors.Join(err, file.Close()))
		}
		s.At = func() {
			closeAll()
			text, err := os.ReadFile(copied)
			require.NoError(t, err)
			for _, suffix := range []string{"-wal", "-shm"} {
				require.NoError(t, os.RemoveAll(path+suffix))
			}
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}
		return s
	}},
	// Nothing is lost, but an effect whose end cannot be written for a lease may be taken for cut off.
	{Name: "the disk is full for a while", Set: func(t *testing.T) Scene {
		dir := t.TempDir()
		if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", dir).CombinedOutput(); err != nil {
			if os.Getenv("MRTR_CI") == "1" {
				t.Fatalf("no disk of its own: %s", said)
			}
			t.Skipf("be root, to mount a disk of its own: %s", said)
		}
		t.Cleanup(func() { require.NoError(t, exec.Command("umount", "-l", dir).Run()) })
		s, _ := sqliteScene(t, filepath.Join(dir, "rounds.db"))
		s.At = func() {
			ballast := filepath.Join(dir, "ballast")
			_ = os.WriteFile(ballast, make([]byte, 16<<20), 0o600) // as much of it as there is room for
			require.NoError(t, fleet.Pause(t.Context(), time.Second))
			require.NoError(t, os.Remove(ballast))
		}
		return s
	}},
}

func TestSQLiteEvents(t *testing.T) { RunEvents(t, "SQLite", append(sqliteEvents, clockEvent(sqlite))) }
