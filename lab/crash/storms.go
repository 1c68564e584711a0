//go:build unix

package crash

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
)

const (
	fleetSize = 3
	killEach  = 400 * time.Millisecond
	// atWork is how many calls there are at once.
	atWork = 12
	// fleetTries is more often than any round is killed here.
	fleetTries = 1000
)

// processes is a storm over three processes, of which one is killed or drained every 0.4
// seconds and replaced.
func (b *Backend) processes(t *testing.T, of fleet.Job, started func(*storm.Instance, *fleet.Server)) *storm.Storm {
	of.Backend, of.Address, of.Key, of.Lease, of.Tries = b.Name, b.Addresses(t)(), fleet.NewKey(), lease, fleetTries
	of.Ledger = fleet.NewLedger(t)
	return &storm.Storm{
		Seed: rand.Uint64(), Ledger: of.Ledger, Size: fleetSize, Each: killEach, Calls: storm.Nightly(200, 60), AtOnce: atWork, Within: 2 * fleet.EffectTime,
		Start: func(ctx context.Context) *storm.Instance {
			p := fleet.StartServer(ctx, of)
			i := &storm.Instance{Conn: p.Conn, End: p.End, Drain: p.Drain}
			started(i, p)
			return i
		},
		Fate: func(*rand.Rand, *storm.Instance) (replaced bool) { return true },
		Order: func(_ *rand.Rand, n int) (tool, order string) {
			return fleet.ToolName, fmt.Sprintf("order-%d/ok/%v", n, fleet.EffectTime)
		},
	}
}

// runFleets makes 200 calls, or fewer by day, at three processes, and more until enough has gone wrong. Every
// second one that takes a round over is killed as well. Each call has its receipt if the
// effect can be looked up.
func (b *Backend) runFleets(t *testing.T) {
	for _, name := range []string{"journal + Check", "journal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			takers := fleet.NewLedger(t)
			s := b.processes(t, fleet.Job{Row: name, Takers: takers}, func(*storm.Instance, *fleet.Server) {})
			s.Enough = func() bool { // whether a kill hits a round is chance
				killed, err := takers.Lines()
				return err != nil || len(killed) > 0 && s.Replaced.Load() > 5
			}
			require.NoError(t, fault.Caught(func() { s.Play(ctx) }))
			killed, err := takers.Lines()
			require.NoError(t, err)
			paid := paidOnce(t, s.Ledger)
			t.Logf("%d calls, 2 requests each, %d kills, and %d of those who took over: %v; %d paid", s.Calls, s.Replaced.Load(), len(killed), s.Ends, paid)
			require.Equal(t, s.Calls, s.Ends["ok"]+s.Ends["unknown"])
			if name == "journal + Check" {
				require.Equal(t, map[string]int{"ok": s.Calls}, s.Ends)
				require.Equal(t, s.Calls, paid)
			}
		})
	}
}

// paidOnce requires that no order was paid twice, and counts those that were paid.
func paidOnce(t *testing.T, l fleet.Ledger) int {
	t.Helper()
	paid, err := fleet.Payments(l)
	require.NoError(t, err)
	orders := map[string]bool{}
	for _, p := range paid {
		require.Falsef(t, orders[p.Order], "%s was paid twice", p.Order)
		orders[p.Order] = true
	}
	return len(paid)
}

// taskRows are the rows that are tasks in a storm, and whether each task of them completes that
// is not cancelled: a payment that was cut off can be looked up.
var taskRows = map[string]bool{
	"journal + Check": true, "resumable + Check": true, "once + Check + RunAgain": true, "steps": false, "coroutine": false,
}

// runTaskClocks serves calls as tasks, at processes whose clocks are moved by two hours time and again.
// What becomes of a task is true, or nobody knows. Clocks that are wrong alike at two processes may have
// a record forgotten, so the payments are those that can be looked up, or that the task itself guards.
func (b *Backend) runTaskClocks(t *testing.T) {
	takesClocks(t)
	for _, name := range append(slices.Sorted(maps.Keys(taskRows)), fleet.Plain) {
		if !taskRows[name] && name != fleet.Plain {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			var moves atomic.Int64
			var clocks sync.Map
			s := b.processes(t, fleet.Job{Row: name, Tasks: true}, func(i *storm.Instance, p *fleet.Server) {
				clocks.Store(i, fault.Must(p.Clock()))
			})
			s.Fate = func(r *rand.Rand, i *storm.Instance) bool {
				clock, _ := clocks.Load(i)
				fault.Check(clock.(*fleet.Clock).Move([]time.Duration{0, 2 * time.Hour, -2 * time.Hour}[r.IntN(3)]))
				moves.Add(1)
				return false
			}
			s.Spares, s.Refuses, s.Clear = true, true, func() {
				clocks.Range(func(_, clock any) bool { return clock.(*fleet.Clock).Move(0) == nil })
			}
			s.Calls, s.Enough = storm.Nightly(24, 8), func() bool { return moves.Load() > 5 }
			s.Serve = storm.Tasks{Storm: s}.Serve
			err := fault.Caught(func() { s.Play(ctx) })
			t.Logf("%d tasks, %d moves: %v; %d paid", s.Calls, moves.Load(), s.Ends, paidOnce(t, s.Ledger))
			require.NoError(t, err)
		})
	}
}

// runTasks serves calls as tasks, at processes that all lose their store for 0.2 seconds of
// each second. A task asks before its payment and behind it. Each request goes to any of the
// processes, each answer to two at once, and some clients hang up on them; every fifth task is
// cancelled meanwhile. No key asks two things, and every task that is polled ends, for good.
func (b *Backend) runTasks(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(taskRows)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			s := b.processes(t, fleet.Job{Row: name, Tasks: true, Unsteady: true}, func(*storm.Instance, *fleet.Server) {})
			s.Calls, s.Enough = storm.Nightly(24, 8), func() bool { return s.Replaced.Load() > 5 }
			s.Spares, s.Serve = true, storm.Tasks{Storm: s}.Serve
			require.NoError(t, fault.Caught(func() { s.Play(ctx) }))
			t.Logf("%d tasks, each answered twice, %d kills and drains: %v; %d paid", s.Calls, s.Replaced.Load(), s.Ends, paidOnce(t, s.Ledger))
			if taskRows[name] {
				require.Zero(t, s.Ends["failed"], "%v", s.Ends)
			}
		})
	}
}
