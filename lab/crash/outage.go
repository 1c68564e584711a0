//go:build unix

package crash

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

const (
	// outagePatience is how long an instance waits for one operation.
	outagePatience = 500 * time.Millisecond
	// longestOutage is how long a request may take while the store does not answer: some
	// operations of half a second each, on a machine under load.
	longestOutage = 30 * time.Second
)

// An outage is one thing that goes wrong with a store.
type outage struct {
	name string
	// of returns the function that begins it, which returns the one that ends it. It
	// returns nil for a subject that has no way to fail like this.
	of    func(d disturbed) (begin func() (end func()))
	later bool     // it begins when the effect has happened, and not before the request
	want  []string // the classes of the answer meanwhile
	after []string // those of the answer to the same request elsewhere, when it is over
	paid  int
}

var (
	ok      = []string{"ok"}
	notNow  = []string{"retryable"}
	refused = []string{"refused"}
	inDoubt = []string{"ok", "unknown", "retryable"}
	settled = []string{"ok", "unknown"}
)

var outages = []outage{
	{name: "cut", of: func(d disturbed) func() func() { return forGood(d.Cut) }, want: notNow, after: ok, paid: 1},
	{name: "requests clogged", of: func(d disturbed) func() func() { return d.HoldRequests }, want: notNow, after: ok, paid: 1},
	{name: "answers clogged", of: func(d disturbed) func() func() { return d.HoldAnswers }, want: notNow, after: ok, paid: 1},
	{name: "slow", of: func(d disturbed) func() func() { return d.slow(outagePatience / 4) }, want: ok, after: ok, paid: 1},
	{name: "too slow", of: func(d disturbed) func() func() { return d.slow(2 * outagePatience) }, want: notNow, after: ok, paid: 1},
	{name: "wiped", of: func(d disturbed) func() func() { return forGood(func() { d.Wipe() }) }, want: refused, after: refused},
	{name: full, of: func(d disturbed) func() func() { return d.fill }, want: notNow, after: ok, paid: 1},
	{name: "cut after the effect", later: true, of: func(d disturbed) func() func() { return forGood(d.Cut) }, want: inDoubt, after: settled, paid: 1},
	{name: "clogged after the effect", later: true, of: func(d disturbed) func() func() { return d.HoldAnswers }, want: inDoubt, after: settled, paid: 1},
}

const full = "full"

// forGood is an outage that does not end.
func forGood(begin func()) func() (end func()) {
	if begin == nil {
		return nil
	}
	return func() func() { begin(); return func() {} }
}

// disturbed is a subject at the mercy of an outage.
type disturbed struct {
	*storetest.Subject
	weather *fleet.Weather
	fill    func() (drain func())
}

func (d disturbed) slow(each time.Duration) (begin func() (end func())) {
	return func() func() {
		d.weather.Set(fleet.Slowly(each, false))
		return func() { d.weather.Set(nil) }
	}
}

func (b *Backend) runOutages(t *testing.T) {
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			if reason, lacks := b.Lacks[o.name]; lacks {
				t.Log("not played: " + reason)
				return
			}
			if o.name != full { // a server without room has none for the others
				t.Parallel()
			}
			d := disturbed{Subject: b.Subject(t), weather: &fleet.Weather{}}
			d.fill = func() func() { return fill(t, d.Another()) }
			if b.Fill != nil {
				d.fill = func() func() { return b.Fill(t, d.Subject) }
			}
			begin := o.of(d)
			require.NotNil(t, begin, "the subject has no way to fail like this, and the backend does not say why")
			o.play(t, d, begin)
		})
	}
}

// play sends the last request of a call to an instance that the outage hits, and then
// to one that reaches the same records by another way.
func (o outage) play(t *testing.T, d disturbed, begin func() (end func())) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, end := fleet.NewInstances(t), func() {}
	var hook func()
	if o.later {
		hook = func() { end = begin() }
	}
	hit, other := all.One(t, fleet.Tapped{Store: d.Store, Around: d.weather.Around}, remember, hook), all.One(t, d.Another(), remember, nil)
	request, err := hit.Ask(ctx, "tea")
	require.NoError(t, err)
	if !o.later {
		end = begin()
	}
	began := time.Now()
	send := hit.Send
	if slices.Equal(o.want, ok) { // an operation may be too slow once
		send = hit.Settle
	}
	meanwhile, err := send(ctx, request)
	took := time.Since(began)
	require.NoError(t, err)
	require.Contains(t, o.want, meanwhile.Class)
	require.Less(t, took, longestOutage)
	if meanwhile.Class == "ok" {
		require.Len(t, paid(t, all), 1)
	} else if !o.later {
		require.Empty(t, paid(t, all), "it was told that nothing was run")
	}
	end()
	after, err := other.Settle(ctx, request)
	require.NoError(t, err)
	require.Contains(t, o.after, after.Class)
	o.nothingLandsLate(t, ctx, all, other, request, after)
	t.Logf("%v in %v, then %v elsewhere; paid %d times", meanwhile, took.Round(time.Millisecond), after, len(paid(t, all)))
}

// nothingLandsLate gives writes that were held up time to arrive, and then requires
// that the answer stays the same.
func (o outage) nothingLandsLate(t *testing.T, ctx context.Context, all *fleet.Instances, at *fleet.Client, request wire.Request, first fleet.Answer) {
	t.Helper()
	require.NoError(t, fleet.Pause(ctx, 500*time.Millisecond))
	require.Len(t, paid(t, all), o.paid)
	again, err := at.Settle(ctx, request)
	require.NoError(t, err)
	if first.Class == "ok" {
		require.Equal(t, first, again)
		require.True(t, slices.Contains(paid(t, all), again.Receipt))
	} else {
		require.Contains(t, o.after, again.Class)
	}
	require.Len(t, paid(t, all), o.paid)
}

// fill fills a store that has a limit with records, which drain lets expire.
func fill(t *testing.T, s store.Store) (drain func()) {
	const life = 10 * time.Minute
	filled := map[store.Key]store.Revision{}
	for size, n := 64<<10, 0; size > 0; size /= 4 {
		for err := error(nil); err == nil; n++ {
			key := storetest.KeyOf(t, s, fmt.Sprintf("filler.%d", n))
			var at store.Revision
			if at, err = s.Create(t.Context(), key, make([]byte, size), life); err != nil {
				require.ErrorIs(t, err, store.ErrFull)
				break
			}
			filled[key] = at
		}
	}
	require.NotEmpty(t, filled)
	return func() {
		for key, at := range filled {
			_, err := s.Update(t.Context(), key, at, nil, store.MinTTL)
			require.NoError(t, err)
		}
	}
}
