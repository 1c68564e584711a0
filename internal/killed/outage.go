//go:build unix

package killed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/store"
)

// Outside is a store seen by a test of outages, which can disturb it.
type Outside struct {
	Store store.Store // the one that is disturbed
	// Direct is the same records by a way that is not.
	Direct store.Store
	// HoldRequests and HoldAnswers clog the way, and Cut closes it for good.
	HoldRequests, HoldAnswers func() (release func())
	Cut                       func()
	// Wipe removes the records. Fill leaves no room until the drain.
	Wipe func()
	Fill func() (drain func())

	slow *slow
}

// An outage is one thing that goes wrong, and the answer to a request meanwhile.
type outage struct {
	name string
	// begins returns how it ends; nil if it never does, for the disturbed store.
	begins func(o *Outside) (ends func())
	// later: it begins when the effect has happened.
	later bool
	want  []string // the classes of the answer
	// after is the class of the answer to the same request when it is over, or at
	// another instance.
	after []string
	paid  int
}

var outages = []outage{
	{name: "cut", begins: func(o *Outside) func() { o.Cut(); return nil }, want: notNow, after: []string{"ok"}, paid: 1},
	{name: "requests clogged", begins: func(o *Outside) func() { return o.HoldRequests() }, want: notNow, after: []string{"ok"}, paid: 1},
	{name: "answers clogged", begins: func(o *Outside) func() { return o.HoldAnswers() }, want: notNow, after: []string{"ok"}, paid: 1},
	{name: "slow", begins: func(o *Outside) func() { return o.slow.by(outagePatience / 4) }, want: []string{"ok"}, after: []string{"ok"}, paid: 1},
	{name: "too slow", begins: func(o *Outside) func() { return o.slow.by(2 * outagePatience) }, want: notNow, after: []string{"ok"}, paid: 1},
	{name: "wiped", begins: func(o *Outside) func() { o.Wipe(); return nil }, want: []string{"refused"}, after: []string{"refused"}},
	{name: "full", begins: func(o *Outside) func() { return o.Fill() }, want: notNow, after: []string{"ok"}, paid: 1},
	{name: "cut after the effect", later: true, begins: func(o *Outside) func() { o.Cut(); return nil }, want: []string{"ok", "unknown", "retryable"}, after: []string{"unknown", "ok"}, paid: 1},
	{name: "clogged after the effect", later: true, begins: func(o *Outside) func() { return o.HoldAnswers() }, want: []string{"ok", "unknown", "retryable"}, after: []string{"unknown", "ok"}, paid: 1},
}

// outagePatience is how long an instance waits for one operation.
const outagePatience = 500 * time.Millisecond

var notNow = []string{"retryable"}

// longestOutage is how long a request may take while the store does not answer: some
// operations of half a second each, on a machine under load.
const longestOutage = 15 * time.Second

// AllOutages is how many there are.
var AllOutages = len(outages)

// Outages has requests meet each outage that the store can have. It returns how many
// it played.
func Outages(t *testing.T, newOutside func(t *testing.T) *Outside) (played int) {
	t.Helper()
	row := Find("journal")
	for _, out := range outages {
		t.Run(out.name, func(t *testing.T) {
			o := newOutside(t)
			if !o.can(out.name) {
				t.Logf("this store has no way to be %s", out.name)
				return
			}
			played++
			out.play(t, o, row)
		})
	}
	return played
}

func (o *Outside) can(name string) bool {
	switch name {
	case "slow", "too slow":
		return true
	case "wiped":
		return o.Wipe != nil
	case "full":
		return o.Fill != nil
	case "requests clogged":
		return o.HoldRequests != nil
	case "answers clogged", "clogged after the effect":
		return o.HoldAnswers != nil
	}
	return o.Cut != nil
}

func (out outage) play(t *testing.T, o *Outside, row Row) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all := NewInstances(t)
	o.slow = &slow{Store: o.Store}
	ends := func() {}
	begin := func() {
		if f := out.begins(o); f != nil {
			ends = f
		}
	}
	var hook func()
	if out.later {
		hook = begin
	}
	hit, other := all.Start(o.slow, row, hook), all.Start(o.Direct, row, nil)
	request, err := hit.Ask(ctx, "tea")
	require.NoError(t, err)
	if !out.later {
		begin()
	}
	began := time.Now()
	a, err := hit.Send(ctx, request)
	took := time.Since(began)
	require.NoError(t, err)
	require.Contains(t, out.want, a.Class)
	require.Less(t, took, longestOutage)
	if a.Class == "ok" {
		require.Len(t, all.Paid(), 1)
	} else if !out.later {
		require.Empty(t, all.Paid(), "it was told that nothing was run")
	}
	ends()
	after, err := other.Settle(ctx, request)
	require.NoError(t, err)
	require.Contains(t, out.after, after.Class)
	out.nothingLandsLate(t, ctx, all, other, request, after)
	t.Logf("%s: %s in %v; then elsewhere %s; paid %d times", out.name, a, took.Round(time.Millisecond), after, len(all.Paid()))
}

// nothingLandsLate gives writes that were held up time to arrive, and then requires
// that the answer stays the same.
func (out outage) nothingLandsLate(t *testing.T, ctx context.Context, all *Instances, at *Instance, request wire.Request, first Answer) {
	t.Helper()
	require.NoError(t, pause(ctx, 500*time.Millisecond))
	require.Len(t, all.Paid(), out.paid)
	again, err := at.Settle(ctx, request)
	require.NoError(t, err)
	if first.Class == "ok" {
		require.Equal(t, first, again)
		require.True(t, slices.Contains(all.Paid(), again.Receipt))
	} else {
		require.Contains(t, out.after, again.Class)
	}
	require.Len(t, all.Paid(), out.paid)
}

// Interruption makes calls at two instances while something befalls their backend. A
// request is answered within the bounds of an outage, meanwhile too, and each call
// ends with one receipt for one payment.
func Interruption(t *testing.T, one, other store.Store, befalls func(), recovery time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recovery+patience)
	defer cancel()
	all := NewInstances(t)
	row := Find("journal")
	instances := []*Instance{all.Start(one, row, nil), all.Start(other, row, nil)}
	const calls = 30
	refusals := map[Answer]int{}
	longest := time.Duration(0)
	for i := range calls {
		order := fmt.Sprintf("order-%d", i)
		request, err := instances[i%2].Ask(ctx, order)
		require.NoError(t, err)
		if i == calls/3 {
			befalls()
		}
		var a Answer
		for answered := false; !answered; {
			began := time.Now()
			a, err = instances[rand.IntN(2)].Send(ctx, request)
			require.NoError(t, err)
			longest = max(longest, time.Since(began))
			if answered = a.Class == "ok"; !answered {
				require.Equal(t, "retryable", a.Class)
				refusals[a]++
				require.NoError(t, pause(ctx, 100*time.Millisecond))
			}
		}
		require.Equal(t, order, a.Receipt.Order)
	}
	require.NoError(t, pause(ctx, time.Second)) // for writes that were held up
	paid := all.Paid()
	require.Len(t, paid, calls)
	slices.SortFunc(paid, func(a, b Receipt) int { return strings.Compare(a.Order, b.Order) })
	require.Len(t, slices.CompactFunc(paid, func(a, b Receipt) bool { return a.Order == b.Order }), calls)
	require.Less(t, longest, longestOutage)
	t.Logf("%d calls, %d payments; refused meanwhile %v; the longest answer took %v", calls, len(paid), refusals, longest.Round(time.Millisecond))
}

// Filler fills a store that has a limit with records that expire soon.
func Filler(t *testing.T, s store.Store) (fill func() (drain func())) {
	const life = 3 * time.Second
	return func() func() {
		epoch, err := s.Epoch(t.Context())
		require.NoError(t, err)
		last := time.Now()
		for size, n := 1<<10, 0; size > 0; size /= 4 {
			for err = nil; err == nil; n++ {
				last = time.Now()
				_, err = s.Create(t.Context(), store.Key{Epoch: epoch, Name: fmt.Sprintf("filler.%d", n)}, make([]byte, size), life)
			}
			require.ErrorIs(t, err, store.ErrFull)
		}
		return func() { time.Sleep(time.Until(last.Add(life + time.Second))) }
	}
}

// slow is a store whose operations take a while to begin.
type slow struct {
	store.Store
	nanoseconds atomic.Int64
}

func (s *slow) by(d time.Duration) (ends func()) {
	s.nanoseconds.Store(int64(d))
	return func() { s.nanoseconds.Store(0) }
}

func (s *slow) wait(ctx context.Context) error {
	return pause(ctx, time.Duration(s.nanoseconds.Load()))
}

func (s *slow) Epoch(ctx context.Context) (string, error) {
	if err := s.wait(ctx); err != nil {
		return "", err
	}
	return s.Store.Epoch(ctx)
}

func (s *slow) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	return s.Store.Create(ctx, key, value, ttl)
}

func (s *slow) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.wait(ctx); err != nil {
		return 0, err
	}
	return s.Store.Update(ctx, key, at, value, ttl)
}

func (s *slow) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := s.wait(ctx); err != nil {
		return nil, 0, err
	}
	return s.Store.Get(ctx, key)
}

// Wait is that of the store: embedding alone would hide that it is a Watcher.
func (s *slow) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}

// String is the answer in a word, with its code.
func (a Answer) String() string {
	if a.Code != 0 {
		return fmt.Sprintf("%s (%d)", a.Class, a.Code)
	}
	return a.Class
}
