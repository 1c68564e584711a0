package sqlitestore_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/killed"
	"github.com/mrtr-go/sdk/sqlitestore"
	"github.com/mrtr-go/sdk/store"
)

// openStore opens the store in a process that a test starts.
func openStore(_ context.Context, path string) (store.Store, error) {
	return sqlitestore.Open(path, nil)
}

func TestKillTable(t *testing.T) {
	killed.CheckDocs(t, docs, killed.Table(t, files(t), killed.Rows, killed.Points))
}

func TestFrozen(t *testing.T) {
	killed.CheckDocs(t, docs, killed.Frozen(t, files(t), killed.Rows))
}

func TestFleet(t *testing.T) { killed.CheckFleet(t, roundsFile(t)) }

// A file has no network: it is clogged when another process keeps it locked, and cut
// off when its handle is closed.
func TestOutage(t *testing.T) {
	played := killed.Outages(t, func(t *testing.T) *killed.Outside {
		path := roundsFile(t)
		opts := &sqlitestore.Options{MaxBytes: 64 << 10}
		s := mustOpen(t, path, opts)
		o := &killed.Outside{
			Store: s, Direct: mustOpen(t, path, opts),
			HoldRequests: func() func() { return lock(t, path) },
			Cut:          func() { require.NoError(t, s.Close()) },
			Wipe: func() {
				db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path}).String())
				require.NoError(t, err)
				defer db.Close()
				_, err = db.Exec("DELETE FROM rounds")
				require.NoError(t, err)
			},
		}
		o.Fill = killed.Filler(t, o.Direct)
		return o
	})
	const withoutAnswers = 2 // the outages in which answers alone are held up
	require.Equal(t, killed.AllOutages-withoutAnswers, played)
}

// files are one for each call: the processes of many calls would wait for one another.
func files(t *testing.T) killed.Where { return func() string { return roundsFile(t) } }

func roundsFile(t *testing.T) string { return filepath.Join(t.TempDir(), "rounds.db") }

const docs = "../docs/with-a-store.md"
