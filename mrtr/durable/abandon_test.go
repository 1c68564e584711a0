package durable_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// desk serves bookings at several instances over one store.
type desk struct {
	t       *testing.T
	records store.Store
	style   string
	did     kit.Deeds
	un      undone
	seen    kit.Recorder
}

const deskTTL = time.Hour

// opens starts an instance.
func (d *desk) opens() *kit.Trip { return d.opensWith(kit.SharedKey) }

func (d *desk) opensWith(key statecodec.Key) *kit.Trip {
	rt := kit.TripRuntime(d.t, &mrtr.Options{
		Durable: durable.In(d.records, nil), Listener: observe.With(&d.seen),
		State: &statecodec.Options{Keys: []statecodec.Key{key}, TTL: deskTTL},
	})
	return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, bookings(&d.did, &d.un)[d.style], &mrtr.HandlerOptions{Name: "trip"})}
}

// books plays a call to its end.
func (d *desk) books(tool *kit.Trip, last kit.Reply) {
	for last.Asks != nil {
		last = tool.Answer(last, "x")
		require.NoError(d.t, last.Err)
	}
	require.Equal(d.t, "done", last.Plan)
}

func TestAnAbandonedCall(t *testing.T) { holds(t, replay.Abandoned) }

// The undos know why, the listener hears of each call once, and the instances may all have been down.
// A coroutine is not held as long as its states open.
func TestAnAbandonedCallIsUndone(t *testing.T) {
	pass := func() { time.Sleep(2 * deskTTL) }
	first := []string{"reserve: abandoned"}
	for name, c := range map[string]struct {
		play func(d *desk)
		un   []string
	}{
		"after the first question": {func(d *desk) {
			d.opens().Begin()
			pass()
		}, first},
		"all have died, and are there again": {func(d *desk) {
			dies := d.opens()
			dies.Ends(d.t, dies.Begin())
			time.Sleep(12 * time.Hour)
			d.opens()
			pass()
		}, first},
		"it went on, and then all were down": {func(d *desk) {
			tool := d.opens()
			d.books(tool, tool.Begin())
			require.NoError(d.t, tool.Runtime.Close())
			time.Sleep(12 * time.Hour)
			d.opens()
			pass()
		}, nil},
		"behind more than it reads at a time that are others'": {func(d *desk) {
			others := d.opensWith(statecodec.GenerateKey())
			for n := range 101 {
				require.NoError(d.t, others.Round(d.t.Context(), fmt.Sprint(n), "", nil).Err)
			}
			require.NoError(d.t, others.Runtime.Close())
			time.Sleep(time.Second)
			d.opens().Begin()
			pass()
		}, first},
	} {
		for style := range bookings(nil, nil) {
			kit.InBubble(t, fmt.Sprintf("%s/%s", name, style), func(t *testing.T) {
				d := &desk{t: t, records: kit.Shared{Memory: store.NewMemory(nil)}, style: style}
				c.play(d)
				require.Equal(t, c.un, d.un.all())
				require.Len(t, d.seen.Of(observe.EffectUndone), len(c.un))
				if len(c.un) > 0 {
					told := d.seen.Of(observe.CallAbandoned)
					require.Len(t, told, 1)
					require.True(t, told[0].HasEffects)
					require.Equal(t, "no answer came in time", told[0].Reason)
				}
			})
		}
	}
}

// A coroutine is let go while its states open, and the call is begun anew.
func TestACoroutineThatWasLetGoAndIsBegunAnew(t *testing.T) {
	kit.InBubble(t, "coroutine", func(t *testing.T) {
		d := &desk{t: t, records: kit.Shared{Memory: store.NewMemory(nil)}, style: "coroutine"}
		tool := d.opens()
		tool.Begin()
		time.Sleep(deskTTL / 2)
		d.books(tool, tool.Begin())
		time.Sleep(2 * deskTTL)
		require.Equal(t, []string{"reserve: abandoned"}, d.un.all())
		require.Equal(t, 2, d.did.Count("reserve"))
	})
}

// A user takes so long that the earlier records have to live longer, and leaves then.
func TestACallIsUndoneThatTookLongBefore(t *testing.T) {
	for _, style := range []string{"native", "journal", "resumable"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var did kit.Deeds
			var un undone
			rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)})
			tool := &kit.Trip{Handler: mrtr.Tool(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Once(s, "reserve", did.Do("reserve"))
				for _, key := range []string{"q", "r", "s"} {
					kit.Ask(s, kit.Text(key))
				}
				return kit.Out{}, nil
			})[style].OnStop(un.of("reserve")), &mrtr.HandlerOptions{Name: "trip"})}
			asked := tool.Begin()
			for range 2 {
				time.Sleep(statecodec.DefaultTTL - time.Second)
				asked = tool.Answer(asked, "x")
				require.NoError(t, asked.Err)
			}
			time.Sleep(2 * statecodec.DefaultTTL)
			require.Equal(t, []string{"reserve: abandoned"}, un.all())
		})
	}
}

// The end of a call with a key is remembered for a day, also where somebody had to look whether it
// was abandoned.
func TestACallThatWasLookedAfterIsRemembered(t *testing.T) {
	for _, style := range []string{"native", "journal", "resumable", "steps"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var un undone
			inn := replay.New(t, style, alike(1), nil, un.of("draft"), un.of("hold"))
			g := &replay.Guest{Inn: inn, Key: "1"}
			const slow = statecodec.DefaultTTL - 2*time.Minute
			room := g.Begin()
			time.Sleep(slow)
			sure := g.Answer(room, "double")
			time.Sleep(slow)
			receipt := g.Books(g.Answer(sure, "yes"))
			time.Sleep(23*time.Hour + 55*time.Minute)
			require.Equal(t, receipt, g.Books(g.Begin()))
			require.Equal(t, "1/1/1", inn.Did())
			require.Empty(t, un.all())
		})
	}
}

// waitsFor is a journal that waits after its question until it is let go, or its round ends.
func waitsFor(goOn chan struct{}) mrtr.Style[kit.In, kit.Out] {
	return linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		seat := kit.Ask(s, kit.Text("seat"))
		select {
		case <-goOn:
			return kit.Out{Plan: seat}, nil
		case <-s.Ctx.Done():
			return kit.Out{}, s.Ctx.Err()
		}
	}))
}

type whoKey struct{}

func as(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

// A drain waits for the rounds that a store remembers, and Close ends them.
func TestDrainWaitsForOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		records := kit.Shared{Memory: store.NewMemory(nil)}
		instance := func() *kit.Trip {
			return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(records, nil)}), mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				seat := kit.Ask(s, kit.Text("seat"))
				<-goOn
				return kit.Out{Plan: seat}, nil
			})), "")
		}
		tool, other := instance(), instance()
		asked := tool.Begin()
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		require.ErrorIs(t, tool.Round(ctx, "", asked.State, kit.Accepting(asked, "window")).Err, context.DeadlineExceeded)
		time.AfterFunc(time.Minute, func() { close(goOn) })
		began := time.Now()
		require.NoError(t, tool.Runtime.Drain(t.Context()))
		require.Equal(t, time.Minute, time.Since(began))
		require.Equal(t, kit.Reply{Plan: "window"}, other.Answer(asked, "window"))
	})
}

// A round has a time of its own. One that cannot run again ends unknown, with its effects undone;
// one that notes all it does is free, and goes on with them. A handler that does not end with its
// context does not hold its turn for ever, and has no effect any more.
func TestARoundHasATimeOfItsOwn(t *testing.T) {
	again := map[string]bool{"native": false, "coroutine": false, "journal": true, "resumable": true}
	for name, again := range again {
		for _, deaf := range []bool{false, true} {
			kit.InBubble(t, fmt.Sprintf("%s, deaf %t", name, deaf), func(t *testing.T) {
				var did kit.Deeds
				seen, goOn := &kit.Recorder{}, make(chan struct{})
				style := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					kit.Once(s, "hold", did.Do("held"))
					if did.Note("runs") == 1 {
						if !deaf {
							<-s.Ctx.Done()
							return kit.Out{}, s.Ctx.Err()
						}
						<-goOn
						kit.Once(s, "pay", did.Do("paid by the first"))
					}
					return kit.Out{Plan: "x"}, nil
				})[name].OnStop(kit.UndoWith("hold", func() error { did.Note("undone"); return nil }))
				opts := withStore(store.NewMemory(nil))
				opts.Listener = observe.With(seen)
				tool := &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, opts), style, &mrtr.HandlerOptions{Within: time.Minute})}
				seat := tool.Begin()
				began := time.Now()
				first := tool.Answer(seat, "window")
				require.ErrorContains(t, first.Err, "1m0s")
				require.Equal(t, map[bool]time.Duration{false: time.Minute, true: 70 * time.Second}[deaf], time.Since(began))
				require.Len(t, seen.Of(observe.CallStopped), 1, "told at once")
				last := tool.Answer(seat, "window")
				if again {
					require.Equal(t, kit.Reply{Plan: "x"}, last)
				} else {
					require.EqualError(t, last.Err, first.Err.Error())
					require.Equal(t, []string{"hold"}, kit.Ended(t, last.Err, mrtr.OutcomeUnknown).Undone)
				}
				close(goOn)
				synctest.Wait()
				runs, undone := 1, 1
				if again {
					runs, undone = 2, 0
				}
				require.Equal(t, []int{1, runs, undone, 0}, []int{did.Count("held"), did.Count("runs"), did.Count("undone"), did.Count("paid by the first")})
				require.Len(t, seen.Of(observe.CallStopped), 1)
			})
		}
	}
}
