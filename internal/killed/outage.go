//go:build unix

package killed

import (
	"context"
	"fmt"
	"slices"
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
}

// An outage is one thing that goes wrong, and what a request gets meanwhile.
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
	{name: "wiped", begins: func(o *Outside) func() { o.Wipe(); return nil }, want: []string{"refused"}, after: []string{"refused"}},
	{name: "full", begins: func(o *Outside) func() { return o.Fill() }, want: notNow, after: []string{"ok"}, paid: 1},
	{name: "cut after the effect", later: true, begins: func(o *Outside) func() { o.Cut(); return nil }, want: []string{"ok", "unknown", "retryable"}, after: []string{"unknown", "ok"}, paid: 1},
	{name: "clogged after the effect", later: true, begins: func(o *Outside) func() { return o.HoldAnswers() }, want: []string{"ok", "unknown", "retryable"}, after: []string{"unknown", "ok"}, paid: 1},
}

var notNow = []string{"retryable"}

// longestOutage is how long a request may take while the store does not answer: some
// operations of half a second each, and what a machine under load adds.
const longestOutage = 15 * time.Second

// Outages has requests meet each outage that the store can have. It returns how many
// it played.
func Outages(t *testing.T, row Row, newOutside func(t *testing.T) *Outside) (played int) {
	t.Helper()
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
	hit, other := all.Start(o.Store, row, hook), all.Start(o.Direct, row, nil)
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
	if out.later {
		require.Len(t, all.Paid(), 1)
	} else {
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

// String is the answer in a word, with its code.
func (a Answer) String() string {
	if a.Code != 0 {
		return fmt.Sprintf("%s (%d)", a.Class, a.Code)
	}
	return a.Class
}
