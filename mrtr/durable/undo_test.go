package durable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// An instance dies in an effect or after it, in a handler that does not run again. The one that
// takes over undoes the effect without the handler, by the idem that the effect had, and says what
// it knows; where it dies in the undoing too, the next one does not undo again.
func TestUndoKnowsWhatItUndoesAfterATakeover(t *testing.T) {
	for _, style := range []string{"native", "coroutine"} {
		for _, row := range []struct {
			place           string // where the first dies
			found           error  // of the undo
			dies            bool   // the second one, in the undoing
			inDoubt         bool
			undone, unknown []string
		}{
			{effectNoted, nil, false, false, []string{"pay"}, nil},
			{afterEffect, nil, false, true, nil, []string{"pay"}},
			{afterEffect, mrtr.ErrFound, false, true, []string{"pay"}, nil},
			{effectNoted, nil, true, false, nil, []string{"pay"}},
			{afterEffect, mrtr.ErrFound, true, true, nil, []string{"pay"}},
		} {
			kit.InBubble(t, fmt.Sprintf("%s, %s, found %v, dies %t", style, row.place, row.found, row.dies), func(t *testing.T) {
				memory := store.NewMemory(nil)
				var did kit.Deeds
				idem := ""
				var got []mrtr.Undo[string]
				serve := func(i *instance) *kit.Trip {
					s := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
						kit.Ask(s, kit.Text("seat"))
						paid := kit.Once(s, "pay", func(_ context.Context, own string) (string, error) {
							idem = own
							did.Note("paid")
							i.reach(afterEffect)
							return "receipt", nil
						})
						i.passEnd()
						return kit.Out{Plan: paid}, nil
					})[style].OnStop(mrtr.UndoOf("pay", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
						got = append(got, u)
						i.reach("undoing")
						return row.found
					}))
					return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)}), s, "")
				}
				first, second := newInstance(memory, row.place), newInstance(memory, "")
				dying := serve(first)
				asked := dying.Begin()
				own := []<-chan kit.Reply{first.stopsIn(func() kit.Reply { return dying.Answer(asked, "x") })}
				if row.dies {
					between := newInstance(memory, "undoing")
					tool := serve(between)
					own = append(own, between.stopsIn(func() kit.Reply { return tool.Answer(asked, "x") }))
					defer between.goOn()
				}
				living := serve(second)
				for range 2 {
					e := kit.Ended(t, living.Answer(asked, "x").Err, mrtr.OutcomeUnknown)
					require.Equal(t, row.undone, e.Undone)
					require.Equal(t, row.unknown, e.Unknown)
				}
				require.Len(t, got, 1, "begun once")
				require.Equal(t, idem, got[0].Idem)
				require.Equal(t, row.inDoubt, got[0].InDoubt)
				require.Equal(t, map[bool]string{false: "receipt"}[row.inDoubt], got[0].Value)
				kit.Ended(t, got[0].Why, mrtr.OutcomeUnknown)
				require.Equal(t, 1, did.Count("paid"))
				first.goOn()
				kit.Ended(t, (<-own[0]).Err, mrtr.OutcomeUnknown)
			})
		}
	}
}

// The turn of an instance that died is claimed, and let go of before its handler has run: the store
// fails. It is still a turn that was cut off, so that its handler does not run again.
func TestATurnThatWasCutOffStaysCutOff(t *testing.T) {
	for name, row := range map[string]struct {
		fails int // of the second one's updates
		err   error
	}{
		"the claim is not confirmed": {1, errors.New("connection lost")},
		"no undo can be noted":       {2, store.ErrFull},
	} {
		kit.InBubble(t, name, func(t *testing.T) {
			memory := store.NewMemory(nil)
			var paid, held, un kit.Deeds
			serve := func(i *instance) *kit.Trip {
				style := mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					kit.Once(s, "hold", held.Do("held"))
					time.Sleep(aLease / 50)
					paid.Note("paid")
					i.reach(afterEffect)
					return kit.Out{}, nil
				})).OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { un.Note("hold"); return nil }))
				return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil)}), style, "")
			}
			first, second := newInstance(memory, afterEffect), newInstance(memory, "")
			dying, living := serve(first), serve(second)
			asked := dying.Begin()
			own := first.stopsIn(func() kit.Reply { return dying.Answer(asked, "x") })
			updates := 0
			second.on(func(op operation) error {
				if op.name == "update" {
					if updates++; updates == row.fails {
						return row.err
					}
				}
				return nil
			})
			require.Error(t, living.Answer(asked, "x").Err)
			time.Sleep(time.Minute)
			e := kit.Ended(t, living.Answer(asked, "x").Err, mrtr.OutcomeUnknown)
			require.Equal(t, []string{"hold"}, e.Undone)
			require.Equal(t, 1, un.Count("hold"))
			require.Equal(t, 1, paid.Count("paid"))
			first.goOn()
			<-own
		})
	}
}

// An effect that is checked first happens once, though nobody remembers the round: without a store,
// or with one that has lost it.
func TestAnEffectThatIsCheckedFirst(t *testing.T) {
	for name := range kit.EveryStyle(kit.Around(nil)) {
		if name == "coroutine" { // which is gone in the second round
			continue
		}
		t.Run(name, func(t *testing.T) {
			paid := map[string]int{}
			down := errors.New("the bank does not answer")
			var failing error
			tool := kit.NewTrip(kit.TripRuntime(t, nil), kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("seat"))
				receipt, err := mrtr.Once(s.Ctx, s.Call, "pay", func(_ context.Context, idem string) (string, error) {
					paid[idem]++
					return "receipt", nil
				}, &mrtr.EffectOptions[string]{CheckFirst: true, Check: func(_ context.Context, idem string) (string, bool, error) {
					return "receipt", paid[idem] > 0, failing
				}})
				return kit.Out{Plan: receipt}, err
			})[name], "")
			asked := tool.Begin()
			failing = down
			e := kit.Ended(t, tool.Answer(asked, "window").Err, mrtr.OutcomeUnknown)
			require.Equal(t, []string{"pay"}, e.Unknown)
			require.Empty(t, paid)
			failing = nil
			for range 3 {
				require.Equal(t, kit.Reply{Plan: "receipt"}, tool.Answer(asked, "window"))
			}
			require.Len(t, paid, 1)
			for _, n := range paid {
				require.Equal(t, 1, n)
			}
		})
	}
	reply := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		return mrtr.Once(ctx, c, "pay", func(context.Context, string) (string, error) { return "", nil }, &mrtr.EffectOptions[string]{CheckFirst: true})
	})).Begin()
	kit.Misuse(t, reply.Err)
}

// A style that panics where nobody expects it does not keep the turn: the same request runs it
// again.
func TestAPanicInAKeptRoundFreesItsTurn(t *testing.T) {
	for scope, s := range map[string]*mrtr.Options{"process": remembering(), "several": {Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)}} {
		t.Run(scope, func(t *testing.T) {
			left := false
			style := mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("seat"))
				return kit.Out{}, errors.New("no seats")
			}))
			style.Leave = func(*mrtr.Pass, bool) {
				if !left {
					left = true
					panic("ouch")
				}
			}
			tool := kit.NewTrip(kit.TripRuntime(t, s), style, "")
			asked := tool.Begin()
			require.Error(t, tool.Answer(asked, "window").Err)
			require.EqualError(t, tool.Answer(asked, "window").Err, "no seats")
			require.EqualError(t, tool.Answer(asked, "window").Err, "no seats")
		})
	}
}

// paid is a handler that pays, and goes on to its end. Undone counts the payments that are undone,
// and as "paid" the payments.
func paid(end func(s *kit.Stage) error, undone *kit.Deeds) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Once(s, "pay", undone.Do("paid"))
		return kit.Out{}, end(s)
	})
	for name, style := range styles {
		styles[name] = style.OnStop(mrtr.UndoOf("pay", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error {
			undone.Note("pay")
			return nil
		}))
	}
	return styles
}

// The store fails before an undo begins. Nothing was undone, and whoever sends the answer again has it
// undone.
func TestAnUndoThatCannotBeNotedIsLeftToTheNext(t *testing.T) {
	asks := func(s *kit.Stage) error { kit.Ask(s, kit.Text("seat")); return nil }
	for name := range paid(asks, nil) {
		kit.InBubble(t, name, func(t *testing.T) {
			var undone kit.Deeds
			s := newHookedStore()
			s.scope = store.Machine
			tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), paid(asks, &undone)[name], "")
			asked := tool.Begin()
			declines := func() error { return tool.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err }
			fails := true
			s.on(func(op operation) error {
				if op.name == "update" && fails {
					fails = false
					return store.ErrFull
				}
				return nil
			})
			kit.Code(t, declines(), -31001)
			require.Zero(t, undone.Count("pay"))
			for range 2 {
				require.Equal(t, []string{"pay"}, kit.Ended(t, declines(), mrtr.Declined).Undone)
				require.Equal(t, 1, undone.Count("pay"))
			}
		})
	}
}

// Nobody confirms the claim of a first round, which was to note its effect. Whether or not the claim is
// made, or made late, the effect has not begun: whoever sends the request again has it once, and
// nobody undoes it.
func TestAClaimThatNobodyConfirmedLeavesNoEffect(t *testing.T) {
	asks := func(s *kit.Stage) error { kit.Ask(s, kit.Text("seat")); return nil }
	for fate, meets := range map[string]func(op operation){
		"lost": func(operation) {},
		"made": func(op operation) { op.do() },
		"late": func(op operation) { time.AfterFunc(time.Second, op.do) },
	} {
		for name := range paid(asks, nil) {
			kit.InBubble(t, name+"/"+fate, func(t *testing.T) {
				var did kit.Deeds
				s := newHookedStore()
				s.scope = store.Machine
				tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), paid(asks, &did)[name], "")
				s.on(func(op operation) error {
					if op.name != "create" {
						return nil
					}
					s.fail(nil)
					meets(op)
					return errors.New("no answer came")
				})
				kit.Code(t, tool.Begin().Err, -31001)
				time.Sleep(2 * time.Second)
				asked := tool.Begin()
				require.NoError(t, asked.Err)
				require.NoError(t, tool.Answer(asked, "window").Err)
				time.Sleep(2 * 24 * time.Hour)
				require.Equal(t, []int{1, 0}, []int{did.Count("paid"), did.Count("pay")})
			})
		}
	}
}

// Nobody can repeat a first request that is a call of its own, so nobody is told to: its effects
// are undone before its client hears of it.
func TestAFirstRoundThatNobodyCanRepeatIsUndone(t *testing.T) {
	fails := func(*kit.Stage) error { return &jsonrpc.Error{Code: -32050, Message: "no"} }
	for name := range paid(fails, nil) {
		kit.InBubble(t, name, func(t *testing.T) {
			var undone kit.Deeds
			opts := withStore(store.NewMemory(nil))
			opts.Same = mrtr.SameNone
			tool := kit.NewTrip(kit.TripRuntime(t, opts), paid(fails, &undone)[name], "")
			kit.Code(t, tool.Begin().Err, -32050)
			require.Equal(t, 1, undone.Count("pay"))
		})
	}
}

// A turn that was let go of after its effect can be erased: it is ended, and undone, first.
func TestATurnThatWasLetGoIsUndoneAndErased(t *testing.T) {
	fails := func(*kit.Stage) error { return &jsonrpc.Error{Code: -32050, Message: "no"} }
	for name := range paid(fails, nil) {
		kit.InBubble(t, name, func(t *testing.T) {
			var undone kit.Deeds
			var seen kit.Recorder
			opts := withStore(store.NewMemory(nil))
			opts.Listener = observe.With(&seen)
			rt := kit.TripRuntime(t, opts)
			tool := &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, paid(fails, &undone)[name], &mrtr.HandlerOptions{Name: "trip"})}
			kit.Code(t, tool.Begin().Err, -32050)
			require.Zero(t, undone.Count("pay"), "the request may come again")
			began := seen.Of(observe.EffectStarted)[0]
			_, err := rt.Erase(t.Context(), began.Principal, began.Call)
			require.NoError(t, err)
			require.Equal(t, 1, undone.Count("pay"))
			require.True(t, seen.Of(observe.CallAbandoned)[0].HasEffects)
		})
	}
}
