package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// A call of three rounds: it asks, asks again, and ends. Where it acts, it does so in each of them.
func threeRounds(acts bool) map[string]kit.Style {
	do := func(s *kit.Stage, effect string) {
		if acts {
			kit.Once(s, effect, func(context.Context, string) (string, error) { return effect, nil })
		}
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		do(s, "hold")
		kit.Ask(s, kit.Text("seat"))
		do(s, "reserve")
		kit.Ask(s, kit.Text("sure"))
		do(s, "pay")
		return kit.Out{Plan: "paid"}, nil
	})
	styles["guarded, again"] = styles["native"]
	var list kit.Steps
	for _, name := range []string{"hold", "seat", "reserve", "sure", "pay"} {
		switch {
		case name == "seat" || name == "sure":
			steps.Always(&list, kit.Text(name))
		case acts:
			steps.Do(&list, name, func(context.Context, *kit.At, string) (string, error) { return name, nil })
		}
	}
	list.End(func(context.Context, *kit.At) (kit.Out, error) { return kit.Out{Plan: "paid"}, nil })
	styles["steps"] = list.MustBuild()
	return styles
}

// A round costs these operations of the store: its claim, which a first round makes with its first effect
// or its questions, and the updates in this table. They are its result, and one note for each effect of
// a handler that can run again. With a key of the client's, a first round is claimed before it runs. A
// repeat costs the one create that is refused and shows the result.
func TestOperationsOfARound(t *testing.T) {
	updates := map[string][2][3]int{ // of one that asks, and of one that acts too: the first, a later one, the end
		"native":         {{0, 1, 1}, {1, 1, 1}},
		"coroutine":      {{0, 1, 1}, {1, 1, 1}},
		"guarded, again": {{0, 1, 1}, {1, 2, 2}},
		"journal":        {{0, 1, 1}, {1, 2, 2}},
		"resumable":      {{0, 1, 1}, {1, 2, 2}},
		"steps":          {{0, 1, 2}, {1, 2, 3}}, // the end is an effect too
	}
	for acts := range 2 {
		styles := threeRounds(acts == 1)
		require.Len(t, styles, len(updates))
		for name, style := range styles {
			for keyed := range 2 {
				kit.InBubble(t, fmt.Sprintf("%s, acts: %d, keyed: %d", name, acts, keyed), func(t *testing.T) {
					want := updates[name][acts]
					want[0] += keyed
					costsOfACall(t, style, name == "guarded, again", keyed == 1, want)
				})
			}
		}
	}
}

func costsOfACall(t *testing.T, style kit.Style, again, keyed bool, updates [3]int) {
	s := &hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}
	done := make(chan string, 100)
	s.on(func(op operation) error {
		done <- op.name
		return nil
	})
	o := &mrtr.Options{Durable: durable.In(s, nil)}
	if keyed {
		o.Principal = func(context.Context, mcp.Request) (string, error) { return "anna", nil }
		o.SameKey = func(context.Context, mcp.Request) string { return "a key" }
	}
	opts := mrtr.HandlerOptions{}
	if again {
		opts.Interrupted = mrtr.InterruptedAgain
	}
	tool := &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, o), style, &opts)}
	costs := func(want ...string) {
		t.Helper()
		synctest.Wait()
		var took []string
		for len(done) > 0 {
			took = append(took, <-done)
		}
		require.Equal(t, want, took)
	}
	claimed := func(updates int) []string {
		return append([]string{"create"}, slices.Repeat([]string{"update"}, updates)...)
	}
	seat := tool.Begin()
	costs(append([]string{"epoch"}, claimed(updates[0])...)...) // which is asked for once
	sure := tool.Answer(seat, "window")
	costs(claimed(updates[1])...)
	require.Equal(t, kit.Reply{Plan: "paid"}, tool.Answer(sure, "yes"))
	costs(claimed(updates[2])...)
	for range 2 {
		require.Equal(t, kit.Reply{Plan: "paid"}, tool.Answer(sure, "yes"))
		costs("create")
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
