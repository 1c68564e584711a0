//go:build unix

package storm

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

// Schedules are storms over a few instances of this process each, by their seeds.
type Schedules struct {
	// Subject opens the store of some of the schedules, one after another.
	Subject func(t *testing.T) *storetest.Subject
	Number  int // of schedules
	AtOnce  int // each with a subject of its own
	// Lease is short, so that instances are given up often: also those that are merely
	// slow, which must cost nobody anything.
	Lease time.Duration
}

const (
	callsEach = 4
	// mostInstances are reached in one schedule, with those that are dead.
	mostInstances = 8
	// fairLease outlasts a machine that is busy.
	fairLease = 8 * time.Second
)

// Run plays schedules. MRTR_SEED plays one, and MRTR_SCHEDULES sets how many there are.
func (s Schedules) Run(t *testing.T) {
	first := rand.Uint64() >> 16
	if n, err := strconv.Atoi(os.Getenv("MRTR_SCHEDULES")); err == nil {
		s.Number = n
	}
	if seed, err := strconv.ParseUint(os.Getenv("MRTR_SEED"), 10, 64); err == nil {
		s.Number, first = 1, seed
	}
	t.Logf("%d schedules from seed %d", s.Number, first)
	var mu sync.Mutex
	calls, ends := 0, map[string]int{}
	var next atomic.Int64
	var worlds sync.WaitGroup
	for world := range min(s.AtOnce, s.Number) {
		worlds.Go(func() { // they wait most of the time, so that there can be more than processors
			t.Run(fmt.Sprint("store ", world), func(t *testing.T) {
				subject := s.Subject(t)
				for n := next.Add(1) - 1; n < int64(s.Number); n = next.Add(1) - 1 {
					t.Run(fmt.Sprint("MRTR_SEED=", first+uint64(n)), func(t *testing.T) {
						played := s.storm(t, subject, first+uint64(n))
						require.NoError(t, fault.Caught(func() { played.Play(t.Context()) }))
						mu.Lock()
						defer mu.Unlock()
						for end, n := range played.Ends {
							calls += n
							ends[end] += n
						}
					})
				}
			})
		})
	}
	worlds.Wait()
	t.Logf("%d calls: %v; 0 paid twice, 0 lies, 0 stuck", calls, ends)
	if !t.Failed() {
		require.Equal(t, s.Number*callsEach, calls)
	}
}

// storm is the schedule of a seed: two to four instances on one store, and twenty to fifty
// things that happen to them.
func (s Schedules) storm(t *testing.T, subject *storetest.Subject, seed uint64) *Storm {
	all, tools := fleet.NewInstances(t), fleet.Styles()
	tools["again"] = fleet.Find("once + RunAgain")
	names, effects := slices.Sorted(maps.Keys(tools)), slices.Sorted(maps.Keys(fleet.Ends))
	r := rand.New(rand.NewPCG(seed, 1))
	started, b, handles := 0, backend{subject: subject}, []store.Store{subject.Store}
	if subject.Another != nil { // before the store is slow
		handles = append(handles, subject.Another())
	}
	start := func(lease time.Duration) *Instance {
		handle := handles[started%len(handles)]
		if handle.Scope() == store.Process {
			handle = fleet.Shared{Store: handle}
		}
		started++
		i := &Instance{Weather: &fleet.Weather{}, End: func() {}}
		remember := durable.Options{Lease: lease, Wait: 5 * s.Lease, MaxAttempts: 50}
		rt, conn := all.Start(t, fleet.Tapped{Store: handle, Around: i.Weather.Around}, remember, tools, nil)
		i.Conn, i.Drain = conn, func() { // as a deploy does, which waits so long for held handlers and no longer
			ctx, cancel := context.WithTimeout(t.Context(), 5*s.Lease)
			defer cancel()
			_ = rt.Drain(ctx)
		}
		return i
	}
	return &Storm{
		Seed: seed, Ledger: all.Ledger, Size: 2 + r.IntN(3), Lingering: mostInstances, Each: s.Lease / 8, Steps: 20 + r.IntN(30),
		Calls: callsEach, AtOnce: callsEach, Within: s.Lease, Clear: b.clearUp,
		Start: func(context.Context) *Instance { return start(s.Lease) },
		Fair:  func(context.Context) *Instance { return start(fairLease) },
		Fate:  func(r *rand.Rand, i *Instance) (replaced bool) { return b.befall(r, i, s.Lease/2) },
		Order: func(r *rand.Rand, n int) (tool, order string) {
			takes := time.Duration(r.Int64N(int64(s.Lease)))
			return names[r.IntN(len(names))], fmt.Sprintf("%d/%s/%v", n, effects[r.IntN(len(effects))], takes)
		},
	}
}

// backend is a subject that may be held up for all who reach it by its own handle.
type backend struct {
	subject *storetest.Subject
	release func() // nil while it is not
}

// befall changes the weather of one instance or holds the backend up; or the instance is
// replaced.
func (b *backend) befall(r *rand.Rand, i *Instance, slow time.Duration) (replaced bool) {
	kinds := []func(){
		func() { i.Weather.Set(fleet.Cut) },
		func() { i.Weather.Set(fleet.Full) },
		func() { i.Weather.Set(fleet.Frozen) },
		func() { i.Weather.Set(fleet.Slowly(time.Duration(r.Int64N(int64(slow))), true)) },
		func() { b.hold(b.subject.HoldRequests) },
		func() { b.hold(b.subject.HoldAnswers) },
		func() { i.Weather.Set(nil) },
		func() { i.Weather.Set(nil) },
	}
	switch r.IntN(10) {
	case 0, 1:
		kinds[r.IntN(len(kinds))]()
	case 2, 3:
		return true
	}
	return false
}

// hold holds the backend up, or ends that.
func (b *backend) hold(begin func() (release func())) {
	switch {
	case b.release != nil:
		b.clearUp()
	case begin != nil:
		b.release = begin()
	}
}

func (b *backend) clearUp() {
	if b.release != nil {
		b.release()
		b.release = nil
	}
}
