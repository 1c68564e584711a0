package durable_test

import (
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
	at      string // where it stops; "" for nowhere
	stopped chan struct{}
	thaw    chan struct{}
	frozen  atomic.Bool
	events  recorder
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
func (i *instance) stopsIn(send func() tripReply) <-chan tripReply {
	own := underWay(send)
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

// interrupted are the policies of styles that are not served by their own.
var interrupted = map[string]mrtr.Interrupted{"native, again": mrtr.InterruptedAgain, "journal, unknown": mrtr.InterruptedUnknown}

// serve serves a tool that pays in the round after the question, through one effect.
func (i *instance) serve(t *testing.T, name string, did *deeds, opts *mrtr.EffectOptions[string]) *tripTool {
	pay := func(context.Context, string) (string, error) {
		i.reach(effectBegun)
		did.note("paid")
		i.reach(afterEffect)
		return "paid", nil
	}
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		seat := ask(s, text("seat"))
		paid, err := mrtr.Once(s.ctx, s.Call, "pay", pay, opts)
		i.passEnd()
		return tripOut{Plan: seat + " " + paid}, err
	})
	var list tripSteps
	seat := steps.Always(&list, text("seat"))
	paid := steps.Do(&list, "pay", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return pay(ctx, idem) }, opts)
	steps.Ask(&list, "after", func(context.Context, *tripAt) (mrtr.Question[string], error) {
		i.passEnd()
		return mrtr.Known(""), nil
	})
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		return tripOut{Plan: seat.Of(at) + " " + paid.Of(at)}, nil
	})
	styles["steps"] = list.MustBuild()
	style, _, _ := strings.Cut(name, ",")
	rt := newTripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)})
	return &tripTool{rt: rt, handler: mrtr.Tool(rt, styles[style], &mrtr.HandlerOptions{Interrupted: interrupted[name]})}
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
		{"journal, unknown", "", afterClaim, 0, unknown, 1},
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
		inBubble(t, row.style+" "+row.opts+", "+row.place, func(t *testing.T) {
			var did deeds
			opts := map[string]*mrtr.EffectOptions[string]{"": nil, "again": again, "check": {
				Check: func(context.Context, string) (string, bool, error) { return "paid", did.count("paid") > 0, nil },
			}}[row.opts]
			memory := store.NewMemory(nil)
			first, second := newInstance(memory, row.place), newInstance(memory, "")
			dying, living := first.serve(t, row.style, &did, opts), second.serve(t, row.style, &did, opts)
			seat := dying.begin()
			own := first.stopsIn(func() tripReply { return dying.answer(seat, "window") })

			began := time.Now()
			reply := living.answer(seat, "window")
			require.LessOrEqual(t, time.Since(began), 20*time.Second)
			require.Equal(t, row.effects, did.count("paid"))
			switch row.answer {
			case ok:
				require.Equal(t, tripReply{plan: "window paid"}, reply)
				require.Len(t, second.events.of(observe.RoundTakenOver), 1)
			case unknown:
				e := ended(t, reply.err, mrtr.OutcomeUnknown)
				if row.place != afterClaim && interrupted[row.style] != mrtr.InterruptedInherit {
					require.Equal(t, []string{"pay"}, e.Unknown)
				}
				require.Equal(t, "unknown", effectOf(reply.err))
			}

			first.goOn()
			woken := <-own
			require.Equal(t, row.later, did.count("paid"))
			if row.answer == ok {
				require.Equal(t, reply, woken, "it gets what the other one has come to")
				return
			}
			// Nobody knew, and nobody wrote that down: the one that woke up still delivers, unless
			// the other one had to run to find out.
			if len(second.events.of(observe.RoundTakenOver)) == 0 {
				require.Equal(t, tripReply{plan: "window paid"}, woken)
				require.Equal(t, woken, living.answer(seat, "window"))
				return
			}
			require.Error(t, woken.err)
			ended(t, living.answer(seat, "window").err, mrtr.OutcomeUnknown, "as before")
			require.Equal(t, row.later, did.count("paid"))
		})
	}
}

// A request that kills each instance is given up.
func TestARequestThatKillsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		memory := store.NewMemory(nil)
		seat := newInstance(memory, "").serve(t, "journal", &did, nil).begin()
		var stopped []*instance
		for range 3 {
			i := newInstance(memory, afterClaim)
			tool := i.serve(t, "journal", &did, nil)
			go tool.answer(seat, "window")
			<-i.stopped
			stopped = append(stopped, i)
		}
		last := newInstance(memory, "")
		ended(t, last.serve(t, "journal", &did, nil).answer(seat, "window").err, mrtr.OutcomeUnknown)
		require.Empty(t, last.events.of(observe.HandlerEntered))
		for _, i := range stopped {
			i.goOn()
		}
		synctest.Wait()
		require.Equal(t, 1, did.count("paid"), "the one that holds the round goes on")
	})
}

// A holder that works for longer than a lease keeps its claim.
func TestASlowRoundKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := shared{store.NewMemory(nil)}
		entered := 0
		serve := func() *tripTool {
			rt := newTripRuntime(t, &mrtr.Options{Durable: durable.In(memory, nil)})
			return newTrip(rt, mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
				seat := ask(s, text("seat"))
				entered++
				time.Sleep(5 * time.Minute)
				return tripOut{Plan: seat}, nil
			})), "")
		}
		first, second := serve(), serve()
		seat := first.begin()
		reply := underWay(func() tripReply { return first.answer(seat, "window") })
		time.Sleep(2 * time.Minute)
		retryable(t, second.answer(seat, "window").err, "in_flight")
		require.Equal(t, tripReply{plan: "window"}, <-reply)
		require.Equal(t, tripReply{plan: "window"}, second.answer(seat, "window"))
		require.Equal(t, 1, entered)
	})
}

// The engine's own errors are no outcome: whoever comes next goes on at once, and
// effects that have happened stay.
func TestARoundThatIsInterruptedIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		opts := withStore(store.NewMemory(nil))
		held := make(chan struct{})
		style := linear.Journal(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
			ctx := s.ctx
			seat := ask(s, text("seat"))
			once(s, "hold", did.do("held"))
			if did.note("runs") == 1 {
				close(held)
				<-ctx.Done()
				return tripOut{}, ctx.Err()
			}
			return tripOut{Plan: seat}, nil
		}))
		tool := &tripTool{handler: mrtr.Tool(newTripRuntime(t, opts), style, &mrtr.HandlerOptions{Cancel: true})}
		seat := tool.begin()
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			<-held
			hangUp()
		}()
		require.ErrorIs(t, tool.round(ctx, "", seat.state, accepting(seat, "window")).err, context.Canceled)
		began := time.Now()
		refusedOtherwise(t, tool.answer(seat, "aisle"))
		require.Equal(t, tripReply{plan: "window"}, tool.answer(seat, "window"))
		require.Zero(t, time.Since(began))
		require.Equal(t, 1, did.count("held"))
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
			tool := serveTrip(t, linear.Journal(func(ctx context.Context, call *mrtr.Call, _ tripIn) (tripOut, error) {
				plan, err := mrtr.Once(ctx, call, "pay", func(context.Context, string) (string, error) {
					return "", fmt.Errorf("pay: %w", mrtr.ErrIndeterminate)
				}, &mrtr.EffectOptions[string]{
					Check: func(context.Context, string) (string, bool, error) { return "receipt", c.happened, c.check },
				})
				return tripOut{Plan: plan}, err
			}))
			reply := tool.begin()
			if c.want == "" {
				require.Equal(t, tripReply{plan: "receipt"}, reply)
				return
			}
			require.EqualError(t, reply.err, c.want)
			var told interface{ ToolErrorEffect() string }
			if errors.As(reply.err, &told) {
				require.Equal(t, c.effect, told.ToolErrorEffect())
			} else {
				require.Empty(t, c.effect)
			}
		})
	}
}

// An instance that stops while it undoes a call, or just before, is taken over, and the
// call is undone once at most.
func TestOnStopRunsAtMostOnceOverATakeover(t *testing.T) {
	for _, row := range []struct {
		place string
		first int // times undone when the other instance has answered
	}{
		{effectBegun, 0}, {afterEffect, 1},
	} {
		for name, again := range map[string]mrtr.Interrupted{"journal": 0, "resumable": 0, "steps": 0, "native": mrtr.InterruptedAgain} {
			inBubble(t, name+", "+row.place, func(t *testing.T) {
				memory := store.NewMemory(nil)
				var did deeds
				var un deeds
				instances := [2]*instance{newInstance(memory, row.place), newInstance(memory, "")}
				var tools [2]*tripTool
				for n, i := range instances {
					rt := newTripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(&i.events)})
					tools[n] = &tripTool{handler: mrtr.Tool(rt, undoing(i, &did, &un)[name], &mrtr.HandlerOptions{Interrupted: again})}
				}
				asked := tools[0].begin()
				own := underWay(func() tripReply { return tools[0].round(context.Background(), "", asked.state, declining(asked)) })
				<-instances[0].stopped
				reply := tools[1].round(t.Context(), "", asked.state, declining(asked))
				ended(t, reply.err, mrtr.Declined)
				require.Equal(t, row.first, un.count("undone"))
				require.Len(t, instances[1].events.of(observe.RoundTakenOver), 1)
				instances[0].goOn()
				ended(t, (<-own).err, mrtr.Declined)
				require.Equal(t, 1, un.count("undone"))
			})
		}
	}
}

// undoing is a handler in several styles that does something, asks, and undoes it.
func undoing(i *instance, did, un *deeds) map[string]tripStyle {
	release := func() error {
		i.reach(effectBegun)
		un.note("undone")
		i.reach(afterEffect)
		return nil
	}
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		once(s, "reserve", did.do("reserve"))
		ask(s, text("q"))
		return tripOut{}, nil
	})
	var list tripSteps
	steps.Do(&list, "reserve", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do("reserve")(ctx, idem) })
	steps.Always(&list, text("q"))
	list.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{}, nil })
	styles["steps"] = list.MustBuild()
	for name, style := range styles {
		styles[name] = style.OnStop(undo("reserve", release))
	}
	return styles
}
