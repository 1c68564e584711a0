package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// siblings are instances with the same keys on one store, without a router.
type siblings struct {
	did      deeds
	memory   *store.Memory
	all      []*instance
	runtimes []*mrtr.Runtime
	tools    []*tripTool
}

func newSiblings(t *testing.T, n int, style func(*testing.T, *deeds) tripStyle) *siblings {
	s := &siblings{memory: store.NewMemory(nil)}
	for range n {
		i := newInstance(s.memory, "")
		rt := newTripRuntime(t, &mrtr.Options{Store: i, Observer: &i.events})
		s.all = append(s.all, i)
		s.runtimes = append(s.runtimes, rt)
		s.tools = append(s.tools, newTrip(rt, style(t, &s.did), ""))
	}
	return s
}

// kill lets nothing of an instance reach the store any more. Its runtime ends with the test.
func (i *instance) kill() {
	killed := errors.New("this process is dead")
	i.fail(killed)
}

// freeze lets the operations of an instance stand still until thaw.
func (i *instance) freeze() (thaw func()) {
	goOn := make(chan struct{})
	i.on(func(op operation) error {
		select {
		case <-goOn:
			return nil
		case <-op.Done():
			return op.Err()
		}
	})
	return func() { close(goOn) }
}

// holders are the styles whose handler is held between two rounds.
var holders = map[string]func(*testing.T, *deeds) tripStyle{
	"coroutine": func(_ *testing.T, did *deeds) tripStyle { return mrtr.Coroutine(holdAndPay(did)) },
	"resumable": func(_ *testing.T, did *deeds) tripStyle { return mrtr.Resumable(holdAndPay(did)) },
}

func eachHolder(t *testing.T, test func(t *testing.T, replays bool, style func(*testing.T, *deeds) tripStyle)) {
	require.NotEmpty(t, holders)
	for name, style := range holders {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, name == "resumable", style) })
		})
	}
}

// same requires two replies to be the same for a client.
func same(t *testing.T, a, b tripReply) {
	t.Helper()
	if a.err != nil {
		require.EqualError(t, b.err, a.err.Error())
	}
	a.err, b.err = nil, nil
	require.Equal(t, a, b)
}

// paidOnce is the end of a call of this file.
var paidOnce = tripReply{plan: "window yes"}

// With a store and nothing else, every retry may reach another instance than the one before:
// the call completes in every style, and each request gets the same when it comes again,
// wherever it does. The handler of a held style goes on where it is.
func TestMailboxCompletesCallsElsewhere(t *testing.T) {
	require.Len(t, duplicateStyles, 6)
	for _, c := range duplicateStyles {
		t.Run(c.name, func(t *testing.T) {
			s := newSiblings(t, 2, c.style)
			seat := s.tools[0].begin()
			pay := s.tools[1].answer(seat, "window")
			require.Equal(t, []string{"pay"}, pay.asks, "%v", pay.err)
			for _, at := range []int{1, 0, 1, 0} { // a held handler is at the first one
				require.Equal(t, paidOnce, s.tools[at].answer(pay, "yes"))
			}
			for at := range s.tools {
				require.Equal(t, pay, s.tools[at].answer(seat, "window"), "the same bytes")
				refusedOtherwise(t, s.tools[at].answer(pay, "no"))
			}
			require.Equal(t, 1, s.did.count("held"))
			require.Equal(t, 1, s.did.count("paid"))
			if holders[c.name] != nil {
				require.Zero(t, mrtr.CountFrames(s.runtimes[1]))
				require.Equal(t, 1, s.all[0].events.entries())
				require.Zero(t, s.all[1].events.entries())
			}
		})
	}
}

// The same round may reach the holder and two others at once. They get one outcome.
func TestMailboxGivesOneOutcome(t *testing.T) {
	eachHolder(t, func(t *testing.T, _ bool, style func(*testing.T, *deeds) tripStyle) {
		for _, at := range [][]int{{1, 2}, {2, 1, 0}, {0, 1, 2}, {1, 1, 1, 2, 2}} {
			s := newSiblings(t, 3, style)
			seat := s.tools[0].begin()
			replies := make([]tripReply, len(at))
			var all sync.WaitGroup
			for i, tool := range at {
				all.Go(func() { replies[i] = s.tools[tool].answer(seat, "window") })
			}
			all.Wait()
			for _, reply := range replies {
				require.NoError(t, reply.err)
				require.Equal(t, replies[0], reply)
			}
			require.Equal(t, paidOnce, s.tools[1].answer(replies[0], "yes"))
			require.Equal(t, 1, s.did.count("held"))
			require.Equal(t, 1, s.did.count("paid"))
		}
	})
}

// Of two different answers to one round, at two other instances at once, one is refused.
func TestMailboxRefusesOtherAnswers(t *testing.T) {
	eachHolder(t, func(t *testing.T, _ bool, style func(*testing.T, *deeds) tripStyle) {
		s := newSiblings(t, 3, style)
		thaw := s.all[0].freeze() // so that both come before it runs the round
		seat := func() tripReply { thaw(); return s.tools[0].begin() }()
		thaw = s.all[0].freeze()
		replies := underWay(func() tripReply { return s.tools[1].answer(seat, "window") })
		synctest.Wait()
		refusedOtherwise(t, s.tools[2].answer(seat, "aisle"))
		thaw()
		first := <-replies
		require.NoError(t, first.err)
		refusedOtherwise(t, s.tools[2].answer(seat, "aisle"))
		refusedOtherwise(t, s.tools[0].answer(seat, "aisle"))
		require.Equal(t, paidOnce, s.tools[2].answer(first, "yes"))
		require.Equal(t, 1, s.did.count("held"))
	})
}

// aLease is the default, and promptly is shorter by far.
const (
	aLease   = 15 * time.Second
	promptly = time.Second
)

// Whatever becomes of the instance that holds a handler, a retry elsewhere ends in bounded
// time: the call is replayed, or it is over. The effects happen once.
func TestMailboxWithoutItsHolder(t *testing.T) {
	fates := []struct {
		explanation string
		befall      func(*testing.T, *siblings)
		within      time.Duration
	}{
		{"closed", func(t *testing.T, s *siblings) { require.NoError(t, s.runtimes[0].Close()) }, promptly},
		{"drained", func(t *testing.T, s *siblings) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_ = s.runtimes[0].Drain(ctx)
		}, promptly},
		{"killed just now", func(_ *testing.T, s *siblings) { s.all[0].kill() }, aLease + promptly},
		{"killed long ago", func(_ *testing.T, s *siblings) { s.all[0].kill(); time.Sleep(time.Minute) }, promptly},
		{"its handler waited too long", func(*testing.T, *siblings) { time.Sleep(20 * time.Minute) }, promptly},
	}
	require.NotEmpty(t, fates)
	for _, fate := range fates {
		t.Run(fate.explanation, func(t *testing.T) {
			eachHolder(t, func(t *testing.T, replays bool, style func(*testing.T, *deeds) tripStyle) {
				s := newSiblings(t, 3, style)
				pay := s.tools[0].answer(s.tools[0].begin(), "window")
				fate.befall(t, s)
				began := time.Now()
				replies := underWay(func() tripReply { return s.tools[2].answer(pay, "yes") })
				reply := s.tools[1].answer(pay, "yes")
				require.LessOrEqual(t, time.Since(began), fate.within)
				same(t, reply, <-replies)
				same(t, reply, s.tools[2].answer(pay, "yes"))
				require.Equal(t, 1, s.did.count("held"))
				if replays {
					require.Equal(t, paidOnce, reply)
					require.Equal(t, 1, s.did.count("paid"))
					return
				}
				ended(t, reply.err, mrtr.FrameGone)
				require.Zero(t, s.did.count("paid"))
			})
		})
	}
}

// A holder that stands still for longer than a lease, and wakes up, does not run a round
// that was taken over, however it hears of it. It unwinds its handler.
func TestMailboxOfAHolderThatWakesUp(t *testing.T) {
	for _, frozenFor := range []time.Duration{aLease + promptly, 10 * aLease} {
		for _, before := range []bool{true, false} { // the letter comes while it is thought alive
			eachHolder(t, func(t *testing.T, replays bool, style func(*testing.T, *deeds) tripStyle) {
				s := newSiblings(t, 2, style)
				pay := s.tools[0].answer(s.tools[0].begin(), "window")
				thaw := s.all[0].freeze()
				if !before {
					time.Sleep(frozenFor)
				}
				reply := s.tools[1].answer(pay, "yes")
				time.Sleep(frozenFor)
				thaw()
				time.Sleep(aLease)
				paid := 0
				if replays {
					require.Equal(t, paidOnce, reply)
					paid = 1
				} else {
					ended(t, reply.err, mrtr.FrameGone)
				}
				require.Equal(t, paid, s.did.count("paid"))
				same(t, reply, s.tools[0].answer(pay, "yes"))
				require.Equal(t, paid, s.did.count("paid"))
				synctest.Wait()
				require.Zero(t, mrtr.CountFrames(s.runtimes[0]))
				released, abandoned := s.all[0].events.of(mrtr.FrameReleased), s.all[0].events.of(mrtr.CallAbandoned)
				if replays {
					require.Len(t, released, 1)
					require.Empty(t, abandoned)
				} else {
					require.Empty(t, released)
					require.Len(t, abandoned, 1, "the call has ended with its frame")
				}
				// It serves calls elsewhere again.
				next := s.tools[0].begin()
				require.Equal(t, paidOnce, s.tools[1].answer(s.tools[1].answer(next, "window"), "yes"))
			})
		}
	}
}

// An instance that dies while it waits for a holder, at any operation of the store, costs
// its client nothing but to send the request again, wherever.
func TestMailboxOfASenderThatDies(t *testing.T) {
	for dies := range 8 {
		t.Run(fmt.Sprintf("after operation %d", dies), func(t *testing.T) {
			eachHolder(t, func(t *testing.T, _ bool, style func(*testing.T, *deeds) tripStyle) {
				s := newSiblings(t, 3, style)
				pay := s.tools[0].answer(s.tools[0].begin(), "window")
				var mu sync.Mutex
				left := dies
				s.all[1].on(func(operation) error {
					mu.Lock()
					defer mu.Unlock()
					if left--; left < 0 {
						return errors.New("this process is dead")
					}
					return nil
				})
				ctx, hangUp := context.WithTimeout(t.Context(), promptly)
				_ = s.tools[1].round(ctx, "", pay.state, accepting(pay, "yes"))
				hangUp()
				began := time.Now()
				require.Equal(t, paidOnce, s.tools[2].answer(pay, "yes"))
				require.Less(t, time.Since(began), aLease)
				require.Equal(t, 1, s.did.count("paid"))
			})
		})
	}
}

// A round that a holder took up, and that died with it, is one of a dead holder.
func TestMailboxOfAHolderThatDiesAtWork(t *testing.T) {
	for style, want := range map[string]mrtr.Reason{"coroutine": mrtr.OutcomeUnknown, "resumable": ""} {
		synctest.Test(t, func(t *testing.T) {
			var did deeds
			memory := store.NewMemory(nil)
			first, second := newInstance(memory, afterClaim), newInstance(memory, "")
			dying, living := first.serve(t, style, &did, nil), second.serve(t, style, &did, nil)
			seat := dying.begin()
			began := time.Now()
			reply := living.answer(seat, "window")
			require.LessOrEqual(t, time.Since(began), 2*aLease)
			if want != "" {
				ended(t, reply.err, want)
				require.Zero(t, did.count("paid"))
			} else {
				require.Equal(t, tripReply{plan: "window paid"}, reply)
			}
			first.goOn()
			synctest.Wait()
			require.Equal(t, 1, did.count("paid"))
		})
	}
}

// However many handlers an instance holds, it listens to one record, and writes it three
// times a lease. That nobody needs a handler costs nothing more.
func TestMailboxListensOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, 2, holders["coroutine"])
		var seats []tripReply
		for range 200 {
			seats = append(seats, s.tools[0].begin())
		}
		var mu sync.Mutex
		writes := 0
		s.all[0].on(func(op operation) error {
			mu.Lock()
			defer mu.Unlock()
			if op.value != nil {
				writes++
			}
			return nil
		})
		time.Sleep(10*aLease - promptly)
		mu.Lock()
		require.InDelta(t, 30, writes, 1)
		mu.Unlock()
		var all sync.WaitGroup
		for _, seat := range seats {
			all.Go(func() {
				pay := s.tools[1].answer(seat, "window")
				require.NoError(t, pay.err)
				require.Equal(t, paidOnce, s.tools[1].answer(pay, "yes"))
			})
		}
		all.Wait()
		require.Equal(t, len(seats), s.did.count("paid"))
	})
}

// Nobody reads a letter in the store, or makes one: a record that was altered, or put under
// another name, does not open.
func TestMailboxIsSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, 2, holders["coroutine"])
		seat := s.tools[0].begin()
		var letter []byte
		s.all[1].on(func(op operation) error {
			if op.name == "create" {
				letter = op.value
			}
			if op.value != nil {
				require.NotContains(t, string(op.value), "window")
				require.NotContains(t, string(op.value), "frame")
			}
			return nil
		})
		require.NoError(t, s.tools[1].answer(seat, "window").err)
		require.Greater(t, len(letter), len(seat.state), "the state is in it")
	})
}

// A request that is too long for a letter cannot reach the handler. Its call is over, in
// words that say so, wherever it is sent next.
func TestMailboxOfALongRequest(t *testing.T) {
	s := newSiblings(t, 2, holders["coroutine"])
	who := strings.Repeat("x", 900<<10)
	seat := s.tools[0].round(t.Context(), who, "", nil)
	require.NoError(t, seat.err)
	for _, at := range []int{1, 0} {
		ended(t, s.tools[at].round(t.Context(), who, seat.state, accepting(seat, "window")).err, mrtr.FrameGone)
	}
}

// atTakeUp runs f when an instance takes a letter up, before the store hears of it.
func (i *instance) atTakeUp(f func(ctx context.Context)) {
	var once sync.Once
	i.on(func(op operation) error {
		if op.name == "update" && !strings.HasPrefix(op.key.Name, "inbox.") {
			once.Do(func() { f(op) })
		}
		return nil
	})
}

// A holder that stands still just before it takes a round up, and wakes up when the round
// was taken over, has no use for its handler.
func TestMailboxOfAHolderThatIsTooLate(t *testing.T) {
	eachHolder(t, func(t *testing.T, replays bool, style func(*testing.T, *deeds) tripStyle) {
		s := newSiblings(t, 2, style)
		pay := s.tools[0].answer(s.tools[0].begin(), "window")
		late := make(chan struct{})
		s.all[0].atTakeUp(func(context.Context) { <-late })
		reply := s.tools[1].answer(pay, "yes")
		close(late)
		if replays {
			require.Equal(t, paidOnce, reply)
		} else {
			ended(t, reply.err, mrtr.FrameGone)
		}
		synctest.Wait()
		require.Zero(t, mrtr.CountFrames(s.runtimes[0]))
		same(t, reply, s.tools[0].answer(pay, "yes"))
	})
}

// A decline that comes through the store undoes the effects of its call once, also where the
// holder begins to drain before it has taken the decline up.
func TestMailboxTakesADeclineInADrain(t *testing.T) {
	eachHolder(t, func(t *testing.T, replays bool, _ func(*testing.T, *deeds) tripStyle) {
		s := newSiblings(t, 2, func(_ *testing.T, did *deeds) tripStyle {
			h := linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				once(s, "seat", did.do("reserved"))
				s.OnStop("seat", func(context.Context, string, error) error { did.note("released"); return nil })
				ask(s, text("q"))
				return tripOut{}, nil
			})
			if replays {
				return mrtr.Resumable(h)
			}
			return mrtr.Coroutine(h)
		})
		rt := s.runtimes[0]
		other := mrtr.Tool(rt, mrtr.Coroutine(holdAndPay(&s.did)), &mrtr.HandlerOptions{Audience: "other"})
		held := &tripTool{rt: rt, handler: other} // the drain waits for it
		asked, seat := s.tools[0].begin(), held.begin()
		drained := make(chan error, 1)
		s.all[0].atTakeUp(func(context.Context) {
			go func() { drained <- rt.Drain(t.Context()) }()
			time.Sleep(time.Millisecond) // of the bubble: until the drain waits
		})
		ended(t, s.tools[1].round(t.Context(), "", asked.state, declining(asked)).err, mrtr.Declined)
		require.Equal(t, 1, s.did.count("released"))
		require.Equal(t, paidOnce, held.answer(held.answer(seat, "window"), "yes"))
		require.NoError(t, <-drained)
	})
}

// An instance that has never made a question cannot judge an answer which its Go type
// refuses. The holder does, and asks again: as often as any question is asked again.
func TestMailboxAsksAgainForWhatAnAnswersTypeRefuses(t *testing.T) {
	plan := func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		to, err := mrtr.Ask(ctx, c, mrtr.Elicit[airport]("to", "Which airport?"))
		return tripOut{Plan: string(to)}, err
	}
	for name, style := range map[string]linearStyle{"coroutine": mrtr.Coroutine[tripIn, tripOut], "resumable": mrtr.Resumable[tripIn, tripOut]} {
		for wrong := range 5 {
			inBubble(t, fmt.Sprintf("%s/%d wrong", name, wrong), func(t *testing.T) {
				s := newSiblings(t, 2, func(*testing.T, *deeds) tripStyle { return style(plan) })
				asked := s.tools[0].begin()
				s.all[0].on(func(operation) error { mrtr.Elicit[airport]("to", "?"); return nil })
				elsewhere := func(answer string) tripReply {
					mrtr.ForgetTypes()
					return s.tools[1].answer(asked, answer)
				}
				for i := range min(wrong, 3) {
					again := elsewhere(canary)
					require.Equal(t, []string{"to"}, again.asks, "%v", again.err)
					require.Equal(t, again, elsewhere(canary), "the same bytes")
					require.Len(t, s.all[0].events.of(mrtr.AnswerRefused), i+1)
					asked = again
				}
				if wrong == 4 {
					ended(t, elsewhere(canary).err, mrtr.Unanswered)
				} else {
					require.Equal(t, tripReply{plan: "LIS"}, elsewhere("lis"))
				}
				require.Zero(t, s.all[1].events.entries(), "the handler goes on where it is")
				synctest.Wait()
				require.Zero(t, mrtr.CountFrames(s.runtimes[0]))
			})
		}
	}
}

// Close has the same bound for a handler that ignores its end, whichever instance its
// answer came to.
func TestCloseIsBoundedWithAMailbox(t *testing.T) {
	for name, at := range map[string]int{"at the holder": 0, "elsewhere": 1} {
		inBubble(t, name, func(t *testing.T) {
			release := make(chan struct{})
			s := newSiblings(t, 2, func(*testing.T, *deeds) tripStyle {
				return mrtr.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
					ask(s, text("q"))
					<-release
					return tripOut{}, nil
				}))
			})
			asked := s.tools[0].begin()
			go s.tools[at].answer(asked, "x")
			time.Sleep(time.Second)
			began := time.Now()
			require.Error(t, s.runtimes[0].Close())
			require.LessOrEqual(t, time.Since(began), 30*time.Second)
			close(release)
			time.Sleep(time.Minute)
		})
	}
}
