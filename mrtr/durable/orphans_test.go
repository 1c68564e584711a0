package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// A claim that comes through when its runtime is closed is let go of: it would not be renewed, and
// nothing would end its round.
func TestNoRoundBeginsAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore()
		s.scope = store.Machine
		var did kit.Deeds
		serve := func() *kit.Trip {
			return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("seat"))
				return kit.Out{Plan: kit.Once(s, "pay", did.Do("paid"))}, nil
			})), "")
		}
		tool := serve()
		asked := tool.Begin()
		claims := make(chan struct{})
		s.on(func(op operation) error {
			if op.name == "create" {
				<-claims
			}
			return nil
		})
		own := kit.UnderWay(func() kit.Reply { return tool.Answer(asked, "x") })
		synctest.Wait()
		require.NoError(t, tool.Runtime.Close())
		close(claims)
		retryable(t, (<-own).Err, "shutting_down")
		require.Empty(t, did.Done)
		began := time.Now()
		require.NoError(t, serve().Answer(asked, "x").Err)
		require.Zero(t, time.Since(began), "it waits for no lease")
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

// An undo has a time of its own. A round whose time is up while it undoes is not given up before, and
// where the undo does not end, nobody begins it again.
func TestAnUndoOutlastsItsRound(t *testing.T) {
	for name := range kit.EveryStyle(kit.Around(nil)) {
		for lasts, ends := range map[time.Duration]bool{15 * time.Second: true, time.Hour: false} {
			kit.InBubble(t, fmt.Sprint(name, ", ", lasts), func(t *testing.T) {
				var did kit.Deeds
				style := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					kit.Once(s, "hold", did.Do("held"))
					return kit.Out{}, errors.New("no chairs")
				})[name].OnStop(kit.UndoWith("hold", func() error { did.Note("undone"); time.Sleep(lasts); return nil }))
				rt := kit.TripRuntime(t, withStore(store.NewMemory(nil)))
				tool := &kit.Trip{Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Within: time.Second})}
				seat := tool.Begin()
				require.Error(t, tool.Answer(seat, "window").Err)
				last := tool.Answer(seat, "window")
				if ends {
					require.EqualError(t, last.Err, `no chairs. "hold" was undone.`)
				} else {
					require.Equal(t, []string{"hold"}, kit.Ended(t, last.Err, mrtr.OutcomeUnknown).Unknown)
				}
				time.Sleep(2 * lasts)
				require.Equal(t, 1, did.Count("undone"))
			})
		}
	}
}

// A handler that decides about its call when its time is up has decided: its effects are undone, and a
// repeat is told the same. Any other error of one that can run again leaves the round to a repeat, and
// the client is told so.
func TestAVerdictOutlastsItsRound(t *testing.T) {
	again := map[string]bool{"native": false, "native, cancel": true, "coroutine, cancel": false, "journal": true, "resumable": true}
	ends := map[string]error{
		"stopped": mrtr.Stop(kit.Out{Plan: "nothing was booked"}), "declined": &mrtr.Error{Reason: mrtr.Declined, Detail: "too dear"},
		"an error": errors.New("no chairs"), "cut off": nil,
	}
	for name, again := range again {
		for how, end := range ends {
			kit.InBubble(t, name+"/"+how, func(t *testing.T) {
				var did kit.Deeds
				style, _, cancel := strings.Cut(name, ", ")
				served := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					kit.Once(s, "hold", did.Do("held"))
					if did.Note("runs") > 1 {
						return kit.Out{Plan: "held"}, nil
					}
					<-s.Ctx.Done()
					if end == nil {
						return kit.Out{}, s.Ctx.Err()
					}
					return kit.Out{}, end
				})[style].OnStop(kit.UndoWith("hold", func() error { did.Note("undone"); return nil }))
				rt := kit.TripRuntime(t, withStore(store.NewMemory(nil)))
				tool := &kit.Trip{Handler: mrtr.Tool(rt, served, &mrtr.HandlerOptions{Within: time.Minute, Cancel: cancel})}
				seat := tool.Begin()
				first, last := tool.Answer(seat, "window"), tool.Answer(seat, "window")
				undone := 1
				switch {
				case how == "stopped":
					require.Equal(t, kit.Reply{Plan: "nothing was booked"}, first)
				case how == "declined":
					require.EqualError(t, first.Err, `Stopped: too dear. "hold" was undone.`)
				case again:
					undone = 0
					kit.Code(t, first.Err, -31001)
					require.Equal(t, kit.Reply{Plan: "held"}, last)
				case how == "an error":
					require.EqualError(t, first.Err, `no chairs. "hold" was undone.`)
				default:
					require.Equal(t, []string{"hold"}, kit.Ended(t, first.Err, mrtr.OutcomeUnknown).Undone)
				}
				if undone == 1 {
					require.Equal(t, first.Plan, last.Plan)
					require.Equal(t, fmt.Sprint(first.Err), fmt.Sprint(last.Err))
				}
				require.Equal(t, undone, did.Count("undone"))
			})
		}
	}
}
