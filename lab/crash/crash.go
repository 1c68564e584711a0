//go:build unix

// Package crash judges a store by the fate of the calls that rely on it: their server's
// process is killed or frozen in mid-call, or the store fails them. Every store of this
// project passes [Backend.Run].
//
// The processes are real and so are the signals: the test binary runs itself again as the
// server, which sends itself SIGKILL or SIGSTOP at a chosen [fleet.Point] of a round. The client
// then sends the same request to another process, as one does that got no answer.
package crash

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// Backend is a kind of store.
type Backend struct {
	Name string
	// Addresses returns a function that names the records of each call: one address for
	// all of them, or one for each.
	Addresses func(t *testing.T) func() string
	// Open opens the store at an address, in a process that a test starts.
	Open func(ctx context.Context, address string) (store.Store, error)
	// Dump is all that the backend shows of its records to somebody who asks it for all.
	Dump func(t *testing.T, address string) []byte
	// Subject opens a store in this process, for outages to befall. Its Wipe leaves the
	// handle usable.
	Subject func(t *testing.T) *storetest.Subject
	// Fill leaves no room in a subject until drain. Nil means that records can: a
	// few MiB of them at most.
	Fill func(t *testing.T, s *storetest.Subject) (drain func())
	// Lacks names the outages that a subject cannot have, each with the reason.
	Lacks map[string]string
	// Outcomes plays by day too what clients get, and what becomes of the calls that they leave.
	Outcomes bool
}

const (
	// lease is short, as every doubtful cell waits for its end.
	lease = 2 * time.Second
	// atOnce is how many cells are played at the same time.
	atOnce = 10
	// patience bounds one cell.
	patience = 90 * time.Second
)

// Run plays every table: kills, freezes, replays, erasures, the answer to each client whatever it
// and its server do, a fleet whose processes are killed time and again, with calls and with tasks,
// outages of the store, and random schedules. By day the random and the long ones are shorter, and
// only some backends play the answers to clients.
func (b *Backend) Run(t *testing.T) {
	t.Run("killed", func(t *testing.T) { checkDocs(t, b.table(t, fleet.Rows, fleet.Points, (*cell).kill)) })
	t.Run("frozen", func(t *testing.T) { checkDocs(t, b.table(t, fleet.Rows, freezes, (*cell).freeze)) })
	t.Run("replays", b.runReplays)
	t.Run("replayed kills", b.runReplayedKills)
	t.Run("fleet", b.runFleets)
	t.Run("tasks", b.runTasks)
	t.Run("task clocks", b.runTaskClocks)
	if b.Outcomes || storm.Nightly(1, 0) == 1 {
		t.Run("outcomes", func(t *testing.T) { checkDocs(t, b.outcomes(t)) })
		t.Run("abandoned", b.runAbandoned) // which mostly waits
		t.Run("abandoned kills", b.runAbandonedKills)
	}
	t.Run("erased", b.runErasures)
	t.Run("outage", b.runOutages)
	t.Run("schedules", storm.Schedules{Subject: b.Subject, Number: storm.Nightly(40, 10), AtOnce: 20, Lease: 400 * time.Millisecond}.Run)
}

// at is one address for all calls.
func at(address string) func() string { return func() string { return address } }

// remember is how instances of this process do.
var remember = durable.Options{Lease: lease, Patience: outagePatience, Wait: 2 * lease}

// Main runs the tests, or serves calls on one of the backends if a test started this
// process for that. It returns the code to exit with.
func Main(m *testing.M, backends ...*Backend) int {
	return fleet.Main(m, func(j fleet.Job) error {
		b := backends[slices.IndexFunc(backends, func(b *Backend) bool { return b.Name == j.Backend })]
		s, err := b.Open(context.Background(), j.Address)
		if err != nil {
			return err
		}
		return j.Serve(context.Background(), s)
	})
}

func paid(t *testing.T, all *fleet.Instances) []fleet.Receipt {
	t.Helper()
	paid, err := fleet.Payments(all.Ledger)
	require.NoError(t, err)
	return paid
}

// docs is the page with the tables.
const docs = "../../docs/what-can-happen-twice.md"

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
