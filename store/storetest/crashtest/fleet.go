//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store/storetest/internal/fault"
)

const (
	fleetSize  = 3
	fleetCalls = 200
	killEach   = 400 * time.Millisecond
	// atWork is how many calls there are at once.
	atWork = 12
	// effectTime is how long the effect takes, so that many kills hit one.
	effectTime = 100 * time.Millisecond
	// fleetTries is more often than any round is killed here.
	fleetTries = 1000
)

// runFleets makes 200 calls at three processes, and more until enough has gone wrong. The
// last request of each goes to two of them at once, and is sent again elsewhere when no
// answer comes. Every 0.4 seconds one process is killed or drained, and another takes its
// place; and so is every second one that takes a round over. Every third request is given
// up after a moment and sent again. No order may be paid twice, and each call has its
// receipt if the effect can be looked up.
func runFleets(t *testing.T, addresses func() string) {
	for _, name := range []string{"journal + Check", "journal"} {
		address := addresses()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			dir := t.TempDir()
			f := &fleet{job: job{
				Address: address, Till: filepath.Join(dir, "payments"), Key: newKey(), Row: name,
				Lease: lease, Tries: fleetTries, Slow: effectTime, Takers: filepath.Join(dir, "takers"),
			}, wanted: fleetCalls}
			f.serve = f.call
			require.NoError(t, f.play(ctx))
			paid := f.settled(t)
			takers, err := f.takers()
			require.NoError(t, err)
			t.Logf("%d calls, 2 requests each, %d kills, and %d of those who took over: %d receipts, %d unknown; %d paid",
				f.calls, f.kills.Load(), takers, len(f.receipts), f.calls-len(f.receipts), len(paid))
			if name == "journal + Check" {
				require.Len(t, f.receipts, f.calls)
				require.Len(t, paid, f.calls)
			}
		})
	}
}

// settled requires that no order was paid twice, and that each receipt is for a payment.
func (f *fleet) settled(t *testing.T) (paid []Receipt) {
	t.Helper()
	require.GreaterOrEqual(t, f.calls, f.wanted)
	paid, err := readPayments(f.job.Till)
	require.NoError(t, err)
	orders := map[string]bool{}
	for _, p := range paid {
		require.Falsef(t, orders[p.Order], "%s was paid twice", p.Order)
		orders[p.Order] = true
	}
	for order, receipt := range f.receipts {
		require.Equal(t, order, receipt.Order)
		require.Contains(t, paid, receipt, "a receipt for no payment")
	}
	return paid
}

type fleet struct {
	job    job
	wanted int                                            // calls, at least
	serve  func(ctx context.Context, order string) Answer // makes one
	calls  int                                            // that were begun
	kills  atomic.Int64
	// spared is set when the last task has begun: one whose coroutine was killed waits for
	// longer than any process lives.
	spared atomic.Bool

	mu        sync.Mutex
	processes [fleetSize]*process // guarded by mu
	receipts  map[string]Receipt  // of the calls that have one, by order; guarded by mu
}

func (f *fleet) at(i int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.processes[i%fleetSize]
}

// play makes the calls while processes are killed.
func (f *fleet) play(ctx context.Context) error {
	for i := range f.processes {
		var err error
		if f.processes[i], err = start(ctx, f.job); err != nil {
			return err
		}
		defer func() { f.at(i).end() }()
	}
	killing, stop := context.WithCancel(ctx)
	killed := make(chan error, 1)
	go func() { killed <- f.kill(killing) }()
	err := f.makeCalls(ctx)
	stop()
	return errors.Join(err, <-killed)
}

// enough reports whether processes were killed, and one of them as it took a round over:
// whether a kill hits a round is chance, and 200 calls can be over before one does.
func (f *fleet) enough() (bool, error) {
	if f.job.Takers == "" {
		return f.kills.Load() > 5, nil
	}
	takers, err := f.takers()
	return takers > 0 && f.kills.Load() > 5, err
}

// takers counts the processes that killed themselves when they had taken a round over.
func (f *fleet) takers() (int, error) {
	noted, err := readPayments(f.job.Takers)
	return len(noted), err
}

// kill replaces one process after the other, until ctx ends: one that has killed itself
// first.
func (f *fleet) kill(ctx context.Context) error {
	for ; pause(ctx, killEach) == nil && !f.spared.Load(); f.kills.Add(1) {
		i := rand.IntN(fleetSize)
		for k := range fleetSize {
			select {
			case <-f.at(k).conn.Gone():
				i = k
			default:
			}
		}
		p, err := start(context.WithoutCancel(ctx), f.job)
		if err != nil {
			return err
		}
		f.mu.Lock()
		old := f.processes[i]
		f.processes[i] = p
		f.mu.Unlock()
		if f.kills.Load()%3 == 0 {
			old.drain()
		}
		old.end()
	}
	return nil
}

// makeCalls makes the calls that are wanted, and more until enough processes were killed.
func (f *fleet) makeCalls(ctx context.Context) error {
	f.receipts = map[string]Receipt{}
	var errs []error // guarded by mu
	var wg sync.WaitGroup
	orders := make(chan string)
	for range atWork {
		wg.Go(func() {
			for order := range orders {
				var a Answer
				err := fault.Caught(func() { fault.During(order, func() { a = f.serve(ctx, order) }) })
				f.mu.Lock()
				errs = append(errs, err)
				if a.Class == "ok" {
					f.receipts[order] = a.Receipt
				}
				f.mu.Unlock()
			}
		})
	}
	var enough bool
	var err error
	for ; (f.calls < f.wanted || !enough) && err == nil && ctx.Err() == nil; f.calls++ {
		orders <- fmt.Sprintf("order-%d", f.calls)
		enough, err = f.enough()
	}
	close(orders)
	f.spared.Store(f.job.Tasks)
	wg.Wait()
	return errors.Join(append(errs, err, ctx.Err())...)
}

// call makes one call, and compares the answers to the two requests that end it.
func (f *fleet) call(ctx context.Context, order string) Answer {
	var request wire.Request
	for i := rand.IntN(fleetSize); ; i++ {
		var err error
		if request, err = f.at(i).Ask(ctx, order); err == nil {
			break
		}
		if !errors.As(err, new(Unanswered)) || ctx.Err() != nil {
			fault.Check(err)
		}
	}
	at := rand.IntN(fleetSize)
	var answers [2]Answer
	fault.Check(parallel(2, 2, func(i int) { answers[i] = f.deliver(ctx, at+i, request) }))
	one, other := answers[0], answers[1]
	switch {
	case one == other, one.Class == "ok" && other.Class == "unknown":
		return one
	case one.Class == "unknown" && other.Class == "ok":
		return other
	}
	fault.Failf("its two requests got %v and %v", one, other)
	return Answer{}
}

// deliver sends a request until it is answered, each time to the next process.
func (f *fleet) deliver(ctx context.Context, i int, request wire.Request) Answer {
	for ; ; i++ {
		sent, giveUp := ctx, context.CancelFunc(func() {})
		if rand.IntN(3) == 0 {
			sent, giveUp = context.WithTimeout(ctx, rand.N(2*effectTime))
		}
		a, err := f.at(i).Send(sent, request)
		giveUp()
		switch {
		case err != nil && (!errors.As(err, new(Unanswered)) || ctx.Err() != nil):
			fault.Check(err)
		case err == nil && (a.Class == "ok" || a.Class == "unknown"):
			return a
		case err == nil && a.Class != "retryable":
			fault.Failf("the answer is %v", a)
		}
		fault.Check(pause(ctx, 20*time.Millisecond))
	}
}
