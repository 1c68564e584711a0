//go:build unix

// Package crashtest judges a store by the fate of the calls that rely on it: their
// server's process is killed or frozen in mid-call, or the store fails them. Every
// store of this project passes [Backend.Run].
//
// The processes are real and so are the signals: the test binary runs itself again as
// the server, which sends itself SIGKILL or SIGSTOP at a chosen [Point] of a round.
// Effects are lines of a file, each synced to disk, and are counted there. The client
// then sends the same request to another process, as one does that got no answer.
package crashtest

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// Backend is a kind of store, for the tests of its package. The package's TestMain calls
// Main.
type Backend struct {
	// Addresses returns a function that names the records of each call: one address for
	// all of them, or one for each.
	Addresses func(t *testing.T) func() string
	// Open opens the store at an address, in a process that a test starts. A nil store
	// means that rounds are not remembered.
	Open func(ctx context.Context, address string) (store.Store, error)
	// Subject opens a store in this process, for outages to befall. Its Wipe leaves the
	// handle usable.
	Subject func(t *testing.T) *storetest.Subject
	// Fill leaves no room in a subject until drain. Nil means that records can: a
	// few MiB of them at most.
	Fill func(t *testing.T, s *storetest.Subject) (drain func())
	// Lacks names the outages that a subject cannot have, each with the reason.
	Lacks map[string]string
	// Rows are added to those that every backend has.
	Rows []Row
}

// Main runs the tests, or serves calls if a test started this process for that.
func (b *Backend) Main(m *testing.M) {
	b.serve()
	code := m.Run()
	atEnd.run()
	os.Exit(code)
}

// docs is the page with the tables, seen from a backend's folder.
const docs = "../../docs/what-can-happen-twice.md"

// Run plays every table: kills, freezes, what a client gets whatever it and its server do, a
// fleet whose processes are killed time and again, with calls and with tasks, outages of the
// store, and random schedules.
func (b *Backend) Run(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		checkDocs(t, Kill(t, b.Addresses(t), slices.Concat(Rows, b.Rows), Points))
	})
	t.Run("frozen", func(t *testing.T) { checkDocs(t, freeze(t, b.Addresses(t))) })
	t.Run("fleet", func(t *testing.T) { runFleets(t, b.Addresses(t)) })
	t.Run("storm", func(t *testing.T) { runStorms(t, b.Addresses(t)) })
	t.Run("outcomes", func(t *testing.T) { checkDocs(t, outcomes(t, b.Addresses(t))) })
	t.Run("outage", b.runOutages)
	t.Run("schedules", Schedules{Subject: b.Subject, Number: 40, AtOnce: 20, Lease: 400 * time.Millisecond}.Run)
}

// checkDocs requires that each line stands in the page, and logs the table. A row of the page
// stands for each name in its first cell.
func checkDocs(t *testing.T, lines []string) {
	t.Helper()
	t.Logf("the table:\n%s", strings.Join(lines, "\n"))
	page, err := os.ReadFile(docs)
	require.NoError(t, err)
	var stated []string
	for line := range strings.SplitSeq(string(page), "\n") {
		names, cells, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for name := range strings.SplitSeq(names, ", ") {
			stated = append(stated, "| "+name+" |"+cells)
		}
	}
	for _, line := range lines {
		require.Truef(t, slices.Contains(stated, line), "%s does not say: %s", docs, line)
	}
}

// atEnd stops the servers that outlast a test.
var atEnd cleanups

type cleanups struct {
	mu    sync.Mutex
	funcs []func() // guarded by mu
}

func (c *cleanups) add(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.funcs = append(c.funcs, f)
}

func (c *cleanups) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range slices.Backward(c.funcs) {
		f()
	}
}
