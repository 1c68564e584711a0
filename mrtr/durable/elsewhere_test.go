package durable_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// siblings are instances with the same keys on one store, without a router.
type siblings struct {
	did      kit.Deeds
	memory   *store.Memory
	all      []*instance
	runtimes []*mrtr.Runtime
	tools    []*kit.Trip
}

func newSiblings(t *testing.T, n int, style func(*testing.T, *kit.Deeds) kit.Style) *siblings {
	s := &siblings{memory: store.NewMemory(nil)}
	for range n {
		i := newInstance(s.memory, "")
		rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(&i.events)})
		s.all = append(s.all, i)
		s.runtimes = append(s.runtimes, rt)
		s.tools = append(s.tools, kit.NewTrip(rt, style(t, &s.did), ""))
	}
	return s
}

// paidOnce is the end of a call of this file.
var paidOnce = kit.Reply{Plan: "window yes"}

// aLease is the default.
const aLease = 15 * time.Second

// With a store and nothing else, every retry may reach another instance than the one before.
// Each request gets the same answer when it comes again, wherever it does. A call completes in
// every style but a coroutine, which goes on where it is held and is gone everywhere else.
func TestCallsGoOnElsewhere(t *testing.T) {
	require.Len(t, duplicateStyles, 6)
	for _, c := range duplicateStyles {
		t.Run(c.name, func(t *testing.T) {
			s := newSiblings(t, 2, c.style)
			seat := s.tools[0].Begin()
			pay := s.tools[1].Answer(seat, "window")
			if c.name == "coroutine" {
				for _, at := range []int{1, 0, 1} {
					kit.Ended(t, pay.Err, mrtr.FrameGone)
					pay = s.tools[at].Answer(seat, "window")
				}
				require.Len(t, s.all[0].events.Of(observe.CallAbandoned), 1, "its frame ended with it")
				require.Zero(t, s.did.Count("held"))
			} else {
				require.Equal(t, []string{"pay"}, pay.Asks, "%v", pay.Err)
				for _, at := range []int{1, 0, 1, 0} {
					require.Equal(t, paidOnce, s.tools[at].Answer(pay, "yes"))
				}
				for at := range s.tools {
					require.Equal(t, pay, s.tools[at].Answer(seat, "window"), "the same bytes")
					refusedOtherwise(t, s.tools[at].Answer(pay, "no"))
				}
				require.Equal(t, []int{1, 1}, []int{s.did.Count("held"), s.did.Count("paid")})
			}
			for _, rt := range s.runtimes {
				kit.Soon(t, func() bool { return rt.Stats().Held == 0 }, "nothing is held")
			}
		})
	}
}

// Close has the same bound for a handler that ignores its end, with a store too.
func TestCloseIsBoundedWithAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSiblings(t, 1, func(*testing.T, *kit.Deeds) kit.Style {
			return linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("q"))
				<-release
				return kit.Out{}, nil
			}))
		})
		asked := s.tools[0].Begin()
		go s.tools[0].Answer(asked, "x")
		time.Sleep(time.Second)
		began := time.Now()
		require.Error(t, s.runtimes[0].Close())
		require.LessOrEqual(t, time.Since(began), 30*time.Second)
		close(release)
		time.Sleep(time.Minute)
	})
}
