//go:build unix

package killed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
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
	fleetTries = 20
)

// Sum counts how the calls of a fleet ended.
type Sum struct {
	Kills    int
	Receipts int // calls that ended with one
	Unknown  int // calls that were told that nobody knows
	Paid     int // payments
	Twice    int // orders that were paid more than once
}

func (s Sum) String() string {
	return fmt.Sprintf("%d calls, 2 requests each, %d kills: %d receipts, %d unknown; %d paid, %d twice",
		fleetCalls, s.Kills, s.Receipts, s.Unknown, s.Paid, s.Twice)
}

// CheckFleet requires of a fleet that no order is paid twice, and that each call has
// its receipt where the effect can be looked up.
func CheckFleet(t *testing.T, where string) {
	t.Helper()
	for _, name := range []string{"journal + Check", "journal"} {
		s := Fleet(t, where, Find(name))
		t.Logf("%s: %v", name, s)
		require.Greater(t, s.Kills, 5)
		require.Zero(t, s.Twice)
		require.Equal(t, fleetCalls, s.Receipts+s.Unknown)
		require.GreaterOrEqual(t, s.Paid, s.Receipts)
		if name == "journal + Check" {
			require.Equal(t, Sum{Kills: s.Kills, Receipts: fleetCalls, Paid: fleetCalls}, s)
		}
	}
}

// Fleet makes 200 calls at three processes. The last request of each goes to two of
// them at once, and is sent again elsewhere when no answer comes. Every 0.4 seconds one
// process is killed, and another takes its place.
func Fleet(t *testing.T, where string, row Row) Sum {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	f := &fleet{job: job{
		Where: where, Till: filepath.Join(t.TempDir(), "payments"), Key: newKey(), Row: row.Name,
		Lease: lease, Tries: fleetTries, Slow: effectTime,
	}}
	for i := range f.processes {
		p, err := start(ctx, f.job)
		require.NoError(t, err)
		f.processes[i] = p
	}
	defer f.end()
	killing, stop := context.WithCancel(ctx)
	killed := make(chan error, 1)
	go func() { killed <- f.kill(killing) }()
	receipts, errs := f.calls(ctx)
	stop()
	require.NoError(t, errors.Join(append(errs, <-killed)...))
	return f.sum(t, receipts)
}

type fleet struct {
	job   job
	kills int

	mu        sync.Mutex
	processes [fleetSize]*process
}

func (f *fleet) at(i int) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.processes[i%fleetSize]
}

// kill replaces one process after the other, until ctx ends.
func (f *fleet) kill(ctx context.Context) error {
	for pause(ctx, killEach) == nil {
		i := rand.IntN(fleetSize)
		f.at(i).end()
		f.kills++
		p, err := start(context.WithoutCancel(ctx), f.job)
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.processes[i] = p
		f.mu.Unlock()
	}
	return nil
}

func (f *fleet) end() {
	for i := range f.processes {
		f.at(i).end()
	}
}

// calls makes all of them, and returns the receipt of each that has one.
func (f *fleet) calls(ctx context.Context) (receipts map[string]Receipt, errs []error) {
	receipts = map[string]Receipt{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	orders := make(chan string)
	for range atWork {
		wg.Go(func() {
			for order := range orders {
				a, err := f.call(ctx, order)
				mu.Lock()
				if err != nil {
					errs = append(errs, fmt.Errorf("%s: %w", order, err))
				} else if a.Class == "ok" {
					receipts[order] = a.Receipt
				}
				mu.Unlock()
			}
		})
	}
	for i := range fleetCalls {
		orders <- fmt.Sprintf("order-%d", i)
	}
	close(orders)
	wg.Wait()
	return receipts, errs
}

// call makes one call, and compares the answers to the two requests that end it.
func (f *fleet) call(ctx context.Context, order string) (Answer, error) {
	var request wire.Request
	for i := rand.IntN(fleetSize); ; i++ {
		var err error
		if request, err = f.at(i).Ask(ctx, order); err == nil {
			break
		}
		if !errors.As(err, new(Unanswered)) || ctx.Err() != nil {
			return Answer{}, err
		}
	}
	at := rand.IntN(fleetSize)
	var answers [2]Answer
	var errs [2]error
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i], errs[i] = f.deliver(ctx, at+i, request) })
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return Answer{}, err
	}
	one, other := answers[0], answers[1]
	switch {
	case one == other:
		return one, nil
	case one.Class == "ok" && other.Class == "unknown":
		return one, nil
	case one.Class == "unknown" && other.Class == "ok":
		return other, nil
	}
	return Answer{}, fmt.Errorf("its two requests got %v and %v", one, other)
}

// deliver sends a request until it is answered, each time to the next process.
func (f *fleet) deliver(ctx context.Context, i int, request wire.Request) (Answer, error) {
	for ; ; i++ {
		a, err := f.at(i).Send(ctx, request)
		switch {
		case err != nil && (!errors.As(err, new(Unanswered)) || ctx.Err() != nil):
			return Answer{}, err
		case err == nil && a.Class != "retryable":
			if a.Class != "ok" && a.Class != "unknown" {
				err = fmt.Errorf("the answer is %v", a)
			}
			return a, err
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return Answer{}, err
		}
	}
}

// sum counts the payments, and requires that there is one for each receipt.
func (f *fleet) sum(t *testing.T, receipts map[string]Receipt) Sum {
	t.Helper()
	paid, err := readPayments(f.job.Till)
	require.NoError(t, err)
	times := map[string]int{}
	for _, p := range paid {
		times[p.Order]++
	}
	for order, receipt := range receipts {
		require.Equal(t, order, receipt.Order)
		require.Containsf(t, paid, receipt, "a receipt for no payment")
	}
	s := Sum{Kills: f.kills, Receipts: len(receipts), Unknown: fleetCalls - len(receipts), Paid: len(paid)}
	for _, n := range times {
		if n > 1 {
			s.Twice++
		}
	}
	return s
}
