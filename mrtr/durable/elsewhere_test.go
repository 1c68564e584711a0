package durable_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
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

// holders are the styles whose handler is held between two rounds.
var holders = map[string]func(*testing.T, *kit.Deeds) kit.Style{
	"coroutine": func(_ *testing.T, did *kit.Deeds) kit.Style { return linear.Coroutine(holdAndPay(did)) },
	"resumable": func(_ *testing.T, did *kit.Deeds) kit.Style { return linear.Resumable(holdAndPay(did)) },
}

func eachHolder(t *testing.T, test func(t *testing.T, replays bool, style func(*testing.T, *kit.Deeds) kit.Style)) {
	require.NotEmpty(t, holders)
	for name, style := range holders {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, name == "resumable", style) })
		})
	}
}

// paidOnce is the end of a call of this file.
var paidOnce = kit.Reply{Plan: "window yes"}

// aLease is the default, and promptly is shorter by far.
const (
	aLease   = 15 * time.Second
	promptly = time.Second
)

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

// The same round may reach the holder and two others at once. They get one outcome.
func TestOneOutcomeElsewhere(t *testing.T) {
	eachHolder(t, func(t *testing.T, replays bool, style func(*testing.T, *kit.Deeds) kit.Style) {
		for _, at := range [][]int{{1, 2}, {2, 1, 0}, {0, 1, 2}, {1, 1, 1, 2, 2}} {
			s := newSiblings(t, 3, style)
			seat := s.tools[0].Begin()
			replies := make([]kit.Reply, len(at))
			var all sync.WaitGroup
			for i, tool := range at {
				all.Go(func() { replies[i] = s.tools[tool].Answer(seat, "window") })
			}
			all.Wait()
			gone := 0
			for _, reply := range replies {
				if reply.Err != nil {
					kit.Ended(t, reply.Err, mrtr.FrameGone)
					gone++
				} else {
					require.Equal(t, replies[0], reply)
				}
			}
			if gone > 0 {
				require.False(t, replays)
				require.Len(t, replies, gone)
				require.Zero(t, s.did.Count("held"))
				continue
			}
			if replays {
				require.Equal(t, paidOnce, s.tools[1].Answer(replies[0], "yes"))
				require.Equal(t, 1, s.did.Count("paid"))
			}
			require.Equal(t, 1, s.did.Count("held"))
		}
	})
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

// A key is replaced at three instances, one after the other and in three phases, while 200
// calls are under way between them: none is lost, and none has its effect twice. A coroutine
// stays with the instance that holds it.
func TestAKeyIsReplacedWhileCallsAreUnderWay(t *testing.T) {
	const calls, instances = 200, 3
	older, newer := kit.Keys(2)[0], kit.Keys(2)[1]
	phases := [][]statecodec.Key{{older, newer}, {newer, older}, {newer}}
	require.Len(t, duplicateStyles, 6)
	for _, style := range duplicateStyles {
		t.Run(style.name, func(t *testing.T) {
			var did kit.Deeds
			memory := store.NewMemory(nil)
			var rings []*statecodec.Keyring
			var tools []*kit.Trip
			for range instances {
				ring, err := statecodec.NewKeyring(older)
				require.NoError(t, err)
				rings = append(rings, ring)
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(newInstance(memory, ""), nil), State: &statecodec.Options{Keyring: ring}})
				tools = append(tools, kit.NewTrip(rt, style.style(t, &did), ""))
			}
			type asked struct {
				kit.Reply
				by *kit.Trip
			}
			var open []asked // the calls that wait for an answer
			begun, ended := 0, 0
			at := func() *kit.Trip { return tools[(begun+ended)%instances] }
			goOn := func(n int) {
				for range n {
					next, to := open[0], at()
					if style.name == "coroutine" {
						to = next.by
					}
					reply := to.Answer(next.Reply, map[string]string{"seat": "window", "pay": "yes"}[next.Asks[0]])
					require.NoError(t, reply.Err)
					if open = open[1:]; reply.Asks != nil {
						open = append(open, asked{reply, to})
						continue
					}
					require.Equal(t, paidOnce, reply)
					ended++
				}
			}
			for p, keys := range phases {
				if p == len(phases)-1 {
					goOnUntil := len(open)
					for ; goOnUntil > 0; goOnUntil = len(open) { // until the last state of the old key is used
						goOn(goOnUntil)
					}
				}
				for _, ring := range rings {
					for range calls / len(phases) / instances {
						tool := at()
						reply := tool.Begin()
						require.NoError(t, reply.Err)
						open = append(open, asked{reply, tool})
						begun++
					}
					goOn(len(open) / 2)
					if p < len(phases)-1 {
						require.NoError(t, ring.Replace(keys...))
					}
					goOn(len(open) / 2)
				}
				if p == len(phases)-1 {
					for _, ring := range rings {
						require.NoError(t, ring.Replace(keys...))
					}
				}
			}
			for len(open) > 0 {
				goOn(len(open))
			}
			require.Equal(t, begun, ended)
			require.GreaterOrEqual(t, begun, calls*9/10)
			require.Equal(t, begun, did.Count("paid"))
			require.Equal(t, begun, did.Count("held"))
		})
	}
}
