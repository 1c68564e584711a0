//go:build unix

package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/sqlitestore"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/crashtest"
)

var backend = crashtest.Backend{
	// A file for each call: the processes of many calls would wait for one another.
	Addresses: func(t *testing.T) func() string {
		return func() string { return filepath.Join(t.TempDir(), "rounds.db") }
	},
	Open:    func(ctx context.Context, path string) (store.Store, error) { return sqlitestore.Open(ctx, path, nil) },
	Subject: newOutageSubject,
	Lacks: map[string]string{
		"answers clogged":          noNetwork,
		"clogged after the effect": noNetwork,
	},
}

const noNetwork = "a file has no network between a request and its answer"

func TestMain(m *testing.M) { backend.Main(m) }

func TestCrashes(t *testing.T) { backend.Run(t) }

// newOutageSubject is clogged while another process keeps the file locked, which stops
// writers alone. It is wiped by emptying the file: its handles keep a removed one open.
func newOutageSubject(t *testing.T) *storetest.Subject {
	path := filepath.Join(t.TempDir(), "rounds.db")
	s := newSubject(t, path)
	s.HoldRequests = func() func() { return lock(t, path) }
	s.Wipe = func() store.Store {
		execute(t, path, "DELETE FROM rounds")
		return s.Store
	}
	return s
}
