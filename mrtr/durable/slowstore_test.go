package durable_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// everyPayer asks, and pays in the next round, in each style: paying runs before the
// payment, and paid counts it.
func everyPayer(paying, paid func()) map[string]kit.Style {
	pay := func(context.Context, string) (string, error) {
		paying()
		paid()
		return "paid", nil
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(s, kit.Text("pay"))
		return kit.Out{Plan: kit.Once(s, "pay", pay)}, nil
	})
	var list kit.Steps
	steps.Always(&list, kit.Text("pay"))
	plan := steps.Do(&list, "charge", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return pay(ctx, idem) })
	list.End(func(_ context.Context, at *kit.At) (kit.Out, error) { return kit.Out{Plan: plan.Of(at)}, nil })
	styles["steps"] = list.MustBuild()
	return styles
}

// A request that waits for another one of whose instance nothing is heard gets an answer
// within the time it has, however long a wait of the store takes.
func TestNobodyWaitsWithoutABound(t *testing.T) {
	const wait = 20 * time.Second
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newHookedStore()
			s.scope = store.Machine
			goOn := make(chan struct{})
			serve := func() *kit.Trip {
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, &durable.Options{Lease: time.Second, Wait: wait})})
				return kit.NewTrip(rt, everyPayer(func() { <-goOn }, func() {})["native"], "")
			}
			one, other := serve(), serve()
			asked := one.Begin()
			first := kit.UnderWay(func() kit.Reply { return one.Answer(asked, "yes") })
			synctest.Wait()
			var operations atomic.Int64
			s.on(func(op operation) error { // it notices nothing, or says nothing at all
				if operations.Add(1); op.name == "wait" || silent && op.name == "get" {
					<-op.Done()
				}
				return op.Err()
			})
			began := time.Now()
			reply := other.Answer(asked, "yes")
			if silent {
				retryable(t, reply.Err, "store_unavailable")
				require.LessOrEqual(t, time.Since(began), time.Second)
			} else {
				retryable(t, reply.Err, "in_flight")
				require.LessOrEqual(t, time.Since(began), wait+time.Second)
				// It looks at each sign of life, and at the end of each lease.
				require.LessOrEqual(t, operations.Load(), int64(5*wait/time.Second+20))
			}
			s.fail(nil)
			close(goOn)
			require.Equal(t, kit.Reply{Plan: "paid"}, <-first)
			require.Equal(t, kit.Reply{Plan: "paid"}, other.Answer(asked, "yes"))
		})
	}
}

// A round costs these operations of the store: its claim and its result, one note for
// each effect of a handler that can run again, and for a repeat the one create that is
// refused and shows the result.
func TestOperationsOfARound(t *testing.T) {
	rounds := map[string][]string{
		"native": {"create", "update"}, "coroutine": {"create", "update"},
		"journal": {"create", "update", "update"}, "resumable": {"create", "update", "update"},
		"steps": {"create", "update", "update", "update"}, // the end is an effect too
	}
	styles := everyPayer(func() {}, func() {})
	require.Len(t, styles, len(rounds))
	for name, style := range styles {
		kit.InBubble(t, name, func(t *testing.T) {
			s := &hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}
			var mu sync.Mutex
			var done []string
			s.on(func(op operation) error {
				mu.Lock()
				defer mu.Unlock()
				done = append(done, op.name)
				return nil
			})
			tool := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), style, "")
			asked := tool.Begin()
			take := func() []string {
				mu.Lock()
				defer mu.Unlock()
				took := done
				done = nil
				return took
			}
			take()
			for _, want := range [][]string{rounds[name], {"create"}, {"create"}} {
				require.Equal(t, kit.Reply{Plan: "paid"}, tool.Round(context.Background(), "", asked.State, kit.Accepting(asked, "yes")))
				require.Equal(t, want, take())
			}
		})
	}
}

// A store that fails under an effect refuses a round that has begun: the text does not say
// that it has not.
func TestAStoreThatFailsUnderAnEffectDoesNotSayThatNothingBegan(t *testing.T) {
	s := newHookedStore()
	s.scope = store.Machine
	opts := withStore(s)
	opts.State = nil // the shared key
	rt := kit.TripRuntime(t, opts)
	tool := &kit.Trip{Handler: mrtr.Tool(rt, mrtr.Native(kit.Guarded(func(st *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(st, kit.Text("q"))
		kit.Once(st, "first", func(context.Context, string) (string, error) {
			var noted atomic.Bool // that the other begins
			s.on(func(operation) error {
				if noted.CompareAndSwap(false, true) {
					return errors.New("down")
				}
				return nil
			})
			return "", nil
		})
		kit.Once(st, "second", func(context.Context, string) (string, error) { return "", nil })
		return kit.Out{}, nil
	})), &mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain})}
	asked := tool.Begin()
	require.NoError(t, asked.Err)
	const again = "the server cannot remember it now. Send the same request again."
	require.Equal(t, "This request was not completed: "+again, kit.Code(t, tool.Answer(asked, "x").Err, -31001).Message)
	require.NoError(t, tool.Answer(asked, "x").Err)
	s.fail(errors.New("down"))
	require.Equal(t, "This request was not begun: "+again, kit.Code(t, tool.Answer(asked, "x").Err, -31001).Message)
}

// The claim of a first round fails as its first effect begins, while another effect of the round waits
// to begin, or before the effect is tried again. Either nothing has begun, or the round goes on: nobody is told the one
// where the other is so, and no claim is left that nobody runs.
func TestAClaimThatFailsBesideAnotherEffect(t *testing.T) {
	for name := range kit.EveryStyle(kit.Around(nil)) {
		for _, atOnce := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, at once %t", name, atOnce), func(t *testing.T) { // in real time: one waits for a lock
				s := newHookedStore()
				s.scope = store.Machine
				var did kit.Deeds
				claiming, giveUp := make(chan struct{}), func() {}
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, &durable.Options{Wait: time.Second})})
				tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					effect := func(ctx context.Context, key string) error {
						_, err := mrtr.Once(ctx, s.Call, key, did.Do(key))
						return err
					}
					own, cancel := context.WithCancel(s.Ctx)
					defer cancel()
					var err error
					if giveUp = cancel; atOnce {
						var one, other error
						var both sync.WaitGroup
						both.Go(func() { one = effect(s.Ctx, "a") })
						<-claiming
						both.Go(func() { other = effect(s.Ctx, "b") })
						both.Wait()
						err = errors.Join(one, other)
					} else if effect(own, "a") != nil {
						err = effect(s.Ctx, "a")
					}
					if err != nil {
						return kit.Out{}, err
					}
					return kit.Out{Plan: kit.Ask(s, kit.Text("seat"))}, nil
				})[name], "")
				s.on(func(op operation) error {
					if op.name != "create" {
						return nil
					}
					s.fail(nil)
					close(claiming)
					if !atOnce {
						giveUp()
						<-op.Done()
						return op.Err()
					}
					for range 10_000 {
						runtime.Gosched() // the other one comes to wait
					}
					return errors.New("connection lost")
				})
				asked := tool.Begin()
				if atOnce {
					retryable(t, asked.Err, "store_unavailable")
					require.Empty(t, did.Done)
					asked = tool.Begin()
				}
				require.NoError(t, asked.Err)
				require.NoError(t, tool.Begin().Err, "an equal request joins it")
				require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(asked, "window"))
				want := map[string]int{"a": 1}
				if atOnce {
					want["b"] = 1
				}
				require.Equal(t, want, did.Done)
			})
		}
	}
}
