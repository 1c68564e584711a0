package durable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// The places at which an instance stops, in the round that pays.
const (
	afterClaim  = "after the claim"
	effectBegun = "effect noted as begun"
	afterEffect = "after the effect"
	effectEnded = "after its end"
	effectNoted = "after its record" // which follows within a hundredth of a lease
)

// instance is one process of several on one store. It can stop at a place, as with
// SIGSTOP: its code stands still, and so do its writes.
type instance struct {
	*hookedStore
	over    store.Store // in place of its own, unless nil
	at      string      // where it stops; "" for nowhere
	stopped chan struct{}
	thaw    chan struct{}
	frozen  atomic.Bool
	events  kit.Recorder
}

func newInstance(s *store.Memory, stopsAt string) *instance {
	i := &instance{hookedStore: &hookedStore{Memory: s, scope: store.Machine}, at: stopsAt, stopped: make(chan struct{}), thaw: make(chan struct{})}
	i.on(func(op operation) error {
		if i.frozen.Load() && op.value != nil {
			select {
			case <-op.Done():
			case <-i.thaw:
			}
		}
		return op.Err()
	})
	return i
}

func (i *instance) reach(place string) {
	if i.at != place {
		return
	}
	i.at = ""
	i.frozen.Store(true)
	close(i.stopped)
	<-i.thaw
}

// stopsIn sends a request in which the instance stops. Its reply comes when it goes on.
func (i *instance) stopsIn(send func() kit.Reply) <-chan kit.Reply {
	own := kit.UnderWay(send)
	<-i.stopped
	return own
}

// passEnd passes the places behind an effect.
func (i *instance) passEnd() {
	i.reach(effectEnded)
	time.Sleep(aLease / 50)
	i.reach(effectNoted)
}

// Observe stops in a turn that was just claimed, before the handler is entered.
func (i *instance) Observe(ctx context.Context, e observe.Event) {
	i.events.Observe(ctx, e)
	if e.Kind == observe.RoundClaimed || e.Kind == observe.RoundTakenOver {
		i.reach(afterClaim)
	}
}

func (i *instance) goOn() {
	i.frozen.Store(false)
	close(i.thaw)
}

// serve serves a tool that pays in the round after the question, through one effect.
func (i *instance) serve(t *testing.T, name string, did *kit.Deeds, opts *mrtr.EffectOptions[string]) *kit.Trip {
	pay := func(context.Context, string) (string, error) {
		i.reach(effectBegun)
		did.Note("paid")
		i.reach(afterEffect)
		return "paid", nil
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		seat := kit.Ask(s, kit.Text("seat"))
		paid, err := mrtr.Once(s.Ctx, s.Call, "pay", pay, opts)
		i.passEnd()
		return kit.Out{Plan: seat + " " + paid}, err
	})
	var list kit.Steps
	seat := steps.Always(&list, kit.Text("seat"))
	paid := steps.Do(&list, "pay", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return pay(ctx, idem) }, opts)
	steps.Ask(&list, "after", func(context.Context, *kit.At) (mrtr.Question[string], error) {
		i.passEnd()
		return mrtr.Known(""), nil
	})
	list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
		return kit.Out{Plan: seat.Of(at) + " " + paid.Of(at)}, nil
	})
	styles["steps"] = list.MustBuild()
	style, _, _ := strings.Cut(name, ",")
	over := i.over
	if over == nil {
		over = i
	}
	rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(over, nil), Listener: observe.With(i)})
	return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, styles[style], &mrtr.HandlerOptions{RunAgain: strings.HasSuffix(name, ", again")})}
}

// An instance stops in the middle of a round, and the same request reaches another.
// Then it wakes up. The effect happens once, or the client is told that nobody knows.
func TestARoundThatIsCutOff(t *testing.T) {
	const ok, unknown, gone = "ok", "unknown", "gone"
	again := &mrtr.EffectOptions[string]{Again: true}
	rows := []struct {
		style   string
		opts    string
		place   string
		effects int // until the other instance has answered
		answer  string
		later   int // effects in all, when the first has woken up
	}{
		{"native", "", afterClaim, 0, unknown, 1},
		{"native", "", effectBegun, 0, unknown, 1},
		{"native", "", afterEffect, 1, unknown, 1},
		{"native", "", effectNoted, 1, unknown, 1},
		{"native", "check", afterClaim, 0, unknown, 1},
		{"native", "check", afterEffect, 1, ok, 1},
		{"native", "check", effectEnded, 1, ok, 1},
		{"native", "check", effectNoted, 1, unknown, 1},
		{"coroutine", "check", afterEffect, 1, unknown, 1},
		{"native, again", "", afterClaim, 1, ok, 1},
		{"native, again", "", effectBegun, 0, unknown, 1},
		{"native, again", "", afterEffect, 1, unknown, 1},
		{"native, again", "", effectEnded, 1, unknown, 1},
		{"native, again", "", effectNoted, 1, ok, 1},
		{"native, again", "check", afterEffect, 1, ok, 1},
		{"native, again", "again", afterEffect, 2, ok, 2},
		{"coroutine", "", afterClaim, 0, unknown, 1},
		{"coroutine", "", afterEffect, 1, unknown, 1},
		{"journal", "", afterClaim, 1, ok, 1},
		{"journal", "", effectBegun, 0, unknown, 1},
		{"journal", "", afterEffect, 1, unknown, 1},
		{"journal", "", effectEnded, 1, unknown, 1},
		{"journal", "", effectNoted, 1, ok, 1},
		{"journal", "check", afterClaim, 1, ok, 1},
		{"journal", "check", afterEffect, 1, ok, 1},
		{"journal", "check", effectEnded, 1, ok, 1},
		{"journal", "check", effectNoted, 1, ok, 1},
		{"journal", "again", afterEffect, 2, ok, 2},
		{"resumable", "", afterClaim, 1, ok, 1},
		{"resumable", "", afterEffect, 1, unknown, 1},
		{"resumable", "", effectEnded, 1, unknown, 1},
		{"resumable", "", effectNoted, 1, ok, 1},
		{"resumable", "check", afterEffect, 1, ok, 1},
		{"steps", "", effectBegun, 0, unknown, 1},
		{"steps", "", afterEffect, 1, unknown, 1},
		{"steps", "", effectEnded, 1, unknown, 1},
		{"steps", "", effectNoted, 1, ok, 1},
		{"steps", "check", afterEffect, 1, ok, 1},
		{"steps", "again", afterEffect, 2, ok, 2},
	}
	require.NotEmpty(t, rows)
	for _, row := range rows {
		kit.InBubble(t, row.style+" "+row.opts+", "+row.place, func(t *testing.T) {
			var did kit.Deeds
			opts := map[string]*mrtr.EffectOptions[string]{"": nil, "again": again, "check": {
				Check: func(context.Context, string) (string, bool, error) { return "paid", did.Count("paid") > 0, nil },
			}}[row.opts]
			memory := store.NewMemory(nil)
			first, second := newInstance(memory, row.place), newInstance(memory, "")
			dying, living := first.serve(t, row.style, &did, opts), second.serve(t, row.style, &did, opts)
			seat := dying.Begin()
			own := first.stopsIn(func() kit.Reply { return dying.Answer(seat, "window") })

			began := time.Now()
			reply := living.Answer(seat, "window")
			require.LessOrEqual(t, time.Since(began), 20*time.Second)
			require.Equal(t, row.effects, did.Count("paid"))
			switch row.answer {
			case ok:
				require.Equal(t, kit.Reply{Plan: "window paid"}, reply)
				require.Len(t, second.events.Of(observe.RoundTakenOver), 1)
			case unknown:
				e := kit.Ended(t, reply.Err, mrtr.OutcomeUnknown)
				if row.place != afterClaim && strings.HasSuffix(row.style, ", again") {
					require.Equal(t, []string{"pay"}, e.Unknown)
				}
				require.Equal(t, "unknown", report.EffectOf(reply.Err))
			}

			first.goOn()
			woken := <-own
			require.Equal(t, row.later, did.Count("paid"))
			if row.answer == ok {
				require.Equal(t, reply, woken, "it gets what the other one has come to")
				return
			}
			// Nobody knew, and nobody wrote that down: the one that woke up still delivers, unless
			// the other one had to run to find out.
			if len(second.events.Of(observe.RoundTakenOver)) == 0 {
				require.Equal(t, kit.Reply{Plan: "window paid"}, woken)
				require.Equal(t, woken, living.Answer(seat, "window"))
				return
			}
			require.Error(t, woken.Err)
			kit.Ended(t, living.Answer(seat, "window").Err, mrtr.OutcomeUnknown, "as before")
			require.Equal(t, row.later, did.Count("paid"))
		})
	}
}

// The engine's own errors are no outcome: whoever comes next goes on at once, and
// effects that have happened stay.
func TestARoundThatIsInterruptedIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		opts := withStore(store.NewMemory(nil))
		held := make(chan struct{})
		style := linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			ctx := s.Ctx
			seat := kit.Ask(s, kit.Text("seat"))
			kit.Once(s, "hold", did.Do("held"))
			if did.Note("runs") == 1 {
				close(held)
				<-ctx.Done()
				return kit.Out{}, ctx.Err()
			}
			return kit.Out{Plan: seat}, nil
		}))
		tool := &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, opts), style, &mrtr.HandlerOptions{Cancel: true})}
		seat := tool.Begin()
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			<-held
			hangUp()
		}()
		require.ErrorIs(t, tool.Round(ctx, "", seat.State, kit.Accepting(seat, "window")).Err, context.Canceled)
		began := time.Now()
		refusedOtherwise(t, tool.Answer(seat, "aisle"))
		require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(seat, "window"))
		require.Zero(t, time.Since(began))
		require.Equal(t, 1, did.Count("held"))
	})
}

// An effect whose function says that nobody knows is asked about at once, with or
// without a store.
func TestAnIndeterminateEffectIsChecked(t *testing.T) {
	for _, c := range []struct {
		explanation string
		happened    bool
		check       error
		want        string // the error; none if the effect happened
		effect      string
	}{
		{"it happened", true, nil, "", ""},
		{"it did not", false, nil, "pay: mrtr: nobody knows whether the effect happened", ""},
		{"nobody knows", false, errors.New("the line went dead"),
			"pay: mrtr: nobody knows whether the effect happened. Whether \"pay\" was done is unknown: do not call the tool again without checking.", "unknown"},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			tool := kit.ServeTrip(t, linear.Journal(func(ctx context.Context, call *mrtr.Call, _ kit.In) (kit.Out, error) {
				plan, err := mrtr.Once(ctx, call, "pay", func(context.Context, string) (string, error) {
					return "", fmt.Errorf("pay: %w", mrtr.ErrIndeterminate)
				}, &mrtr.EffectOptions[string]{
					Check: func(context.Context, string) (string, bool, error) { return "receipt", c.happened, c.check },
				})
				return kit.Out{Plan: plan}, err
			}))
			reply := tool.Begin()
			if c.want == "" {
				require.Equal(t, kit.Reply{Plan: "receipt"}, reply)
				return
			}
			require.EqualError(t, reply.Err, c.want)
			var told interface{ ToolErrorEffect() string }
			if errors.As(reply.Err, &told) {
				require.Equal(t, c.effect, told.ToolErrorEffect())
			} else {
				require.Empty(t, c.effect)
			}
		})
	}
}

// undoing is a handler in several styles that does something, asks, and undoes it.
func undoing(i *instance, did, un *kit.Deeds) map[string]kit.Style {
	release := func() error {
		i.reach(effectBegun)
		un.Note("undone")
		i.reach(afterEffect)
		return nil
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Once(s, "reserve", did.Do("reserve"))
		kit.Ask(s, kit.Text("q"))
		return kit.Out{}, nil
	})
	var list kit.Steps
	steps.Do(&list, "reserve", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return did.Do("reserve")(ctx, idem) })
	steps.Always(&list, kit.Text("q"))
	list.End(func(context.Context, *kit.At) (kit.Out, error) { return kit.Out{}, nil })
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		styles[name] = style.OnStop(kit.UndoWith("reserve", release))
	}
	return styles
}

// A run that is cut off after its effect had answers that no request brings: a default, and those of
// the call that it was split from. Whoever goes on with it has them where they were, so that the effect
// keeps its idem: in its function, in its check and in its undo.
func TestATakeoverKeepsTheIdem(t *testing.T) {
	for _, name := range []string{"native", "native, again", "journal", "resumable", "steps"} {
		for _, way := range []string{"check", "again", "undo"} {
			for _, split := range []bool{false, true} {
				kit.InBubble(t, fmt.Sprintf("%s/%s/split=%t", name, way, split), func(t *testing.T) {
					paid, seen := map[string]int{}, map[string]bool{}
					opts := &mrtr.EffectOptions[string]{Again: way == "again"}
					if way == "check" {
						opts.Check = func(_ context.Context, idem string) (string, bool, error) {
							seen[idem] = true
							return "paid", paid[idem] > 0, nil
						}
					}
					serve := func(i *instance) *kit.Trip {
						tip := mrtr.Optional(kit.Text("tip"))
						charge := func(_ context.Context, idem string) (string, error) {
							paid[idem]++
							seen[idem] = true
							i.reach(afterEffect)
							return "paid", nil
						}
						end := func() (kit.Out, error) {
							if way == "undo" {
								return kit.Out{}, errors.New("no chairs")
							}
							return kit.Out{Plan: "paid"}, nil
						}
						styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
							kit.Ask(s, kit.Text("seat"))
							kit.Ask(s, tip)
							receipt, err := mrtr.Once(s.Ctx, s.Call, "charge", charge, opts)
							kit.Unless(err, receipt)
							return end()
						})
						var list kit.Steps
						steps.Always(&list, kit.Text("seat"))
						steps.Always(&list, tip)
						steps.Do(&list, "charge", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return charge(ctx, idem) }, opts)
						list.End(func(context.Context, *kit.At) (kit.Out, error) { return end() })
						styles["steps"] = list.MustBuild()
						style, _, _ := strings.Cut(name, ",")
						served := styles[style]
						if way == "undo" {
							served = served.OnStop(mrtr.UndoOf("charge", func(_ context.Context, _ *mrtr.Call, u mrtr.Undo[string]) error {
								seen[u.Idem] = true
								paid[u.Idem]--
								return mrtr.ErrFound
							}))
						}
						rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Unaskable: mrtr.UnaskableDefaults})
						return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, served, &mrtr.HandlerOptions{RunAgain: strings.HasSuffix(name, ", again")})}
					}
					memory := store.NewMemory(nil)
					first, second := newInstance(memory, ""), newInstance(memory, "")
					dying, living := serve(first), serve(second)
					asked := dying.Begin()
					branch := living.Begin()
					dying.Mute, living.Mute = true, true // it can't be asked for a tip
					if split {
						living.Answer(branch, "aisle")
						clear(paid)
						clear(seen)
					}
					first.at = afterEffect
					own := first.stopsIn(func() kit.Reply { return dying.Answer(asked, "window") })
					end := living.Answer(asked, "window")
					require.Len(t, seen, 1, "%v", end.Err)
					if stands, checked := map[string]int{"check": 1, "undo": 0}[way]; checked {
						for _, n := range paid {
							require.Equal(t, stands, n, "%v", end.Err)
						}
					}
					first.goOn()
					<-own
					require.Len(t, seen, 1)
				})
			}
		}
	}
}

// Another release takes over a run that was cut off after its effect, in a first round and in a later
// one. The effect's value has lost a field there, or the handler is written in another style: the call
// ends as it does where the release came between two rounds.
func TestAnotherReleaseTakesOver(t *testing.T) {
	type voucher struct{ Ref string }
	type renamed struct{ Number string }
	for _, first := range []bool{false, true} {
		for _, style := range []string{"native", "journal", "resumable", "steps"} {
			for next, want := range map[string]string{
				"":        "hold\" has lost its field \"Ref\"",
				"native":  ", and is written as guards now",
				"journal": ", and is written as journaled code now",
			} {
				if next == style || next == "journal" && style == "resumable" { // which goes on
					continue
				}
				kit.InBubble(t, fmt.Sprintf("%s/then %s/first=%t", style, next, first), func(t *testing.T) {
					var did kit.Deeds
					memory := store.NewMemory(nil)
					one, two := newInstance(memory, ""), newInstance(memory, "")
					before := serveHolding(t, one, &did, style, "v1", first, voucher{"A1"})
					after := serveHolding(t, two, &did, cmp.Or(next, style), "v2", first, renamed{"A1"})
					send := func(tool *kit.Trip) kit.Reply { return tool.Begin() }
					if !first {
						asked := before.Begin()
						send = func(tool *kit.Trip) kit.Reply { return tool.Answer(asked, "window") }
					}
					one.at = effectNoted
					own := one.stopsIn(func() kit.Reply { return send(before) })
					taken := send(after)
					one.goOn()
					<-own
					end := kit.Ended(t, taken.Err, mrtr.Diverged)
					require.Contains(t, end.Detail, want)
					require.True(t, end.Replaced)
					require.Equal(t, []string{"hold"}, end.Applied)
					require.Equal(t, 1, did.Count("held"))
				})
			}
		}
	}
}

// serveHolding serves a tool that has an effect with a value, before its last question or after it.
func serveHolding[T any](t *testing.T, i *instance, did *kit.Deeds, style, version string, first bool, value T) *kit.Trip {
	hold := func(context.Context, string) (T, error) {
		did.Note("held")
		return value, nil
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		if !first {
			kit.Ask(s, kit.Text("seat"))
		}
		got := kit.Once(s, "hold", hold)
		i.passEnd()
		if first {
			kit.Ask(s, kit.Text("seat"))
		}
		return kit.Out{Plan: string(kit.JSON(got))}, nil
	})
	var list kit.Steps
	if !first {
		steps.Always(&list, kit.Text("seat"))
	}
	got := steps.Do(&list, "hold", func(ctx context.Context, _ *kit.At, idem string) (T, error) { return hold(ctx, idem) })
	steps.Ask(&list, "after", func(context.Context, *kit.At) (mrtr.Question[string], error) {
		i.passEnd()
		return mrtr.Known(""), nil
	})
	if first {
		steps.Always(&list, kit.Text("seat"))
	}
	list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
		return kit.Out{Plan: string(kit.JSON(got.Of(at)))}, nil
	})
	styles["steps"] = list.MustBuild()
	rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil)})
	return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, styles[style], &mrtr.HandlerOptions{RunAgain: true, Version: version})}
}

// updated calls a function after each update.
type updated struct {
	*instance
	then func()
}

func (u updated) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	defer u.then()
	return u.instance.Update(ctx, key, at, value, ttl)
}

// A run that finds the effects of an earlier one in its turn, when the context of its own effect has just
// ended, has no other effect before it goes on with those.
func TestARunThatIsToGoOnHasNoOtherEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		memory := store.NewMemory(nil)
		one, two := newInstance(memory, ""), newInstance(memory, "")
		var cancel context.CancelFunc
		serve := func(i store.Store, reach func(string)) *kit.Trip {
			rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil)})
			return kit.NewTrip(rt, mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				short, end := context.WithCancel(s.Ctx)
				defer end()
				cancel = end
				draft := did.Do("draft")
				_, err := mrtr.Once(short, s.Call, "draft", func(ctx context.Context, idem string) (string, error) {
					defer reach(afterEffect)
					return draft(ctx, idem)
				}, &mrtr.EffectOptions[string]{Again: true})
				if err != nil {
					kit.Once(s, "fallback", did.Do("fallback"))
				}
				kit.Ask(s, kit.Text("seat"))
				return kit.Out{}, nil
			})), "")
		}
		first, second := serve(one, one.reach), serve(updated{two, func() { cancel(); time.Sleep(time.Second) }}, two.reach)
		one.at = afterEffect
		own := one.stopsIn(first.Begin)
		require.Equal(t, []string{"seat"}, second.Begin().Asks)
		one.goOn()
		<-own
		require.Zero(t, did.Count("fallback"))
	})
}
