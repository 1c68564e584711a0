package durable_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// slowStore is a store for several processes whose operations take their time while it is
// slow, and are counted then.
type slowStore struct {
	*store.Memory
	writes, reads time.Duration
	late          bool // a write that was given up is done all the same
	slow          atomic.Bool
	count         atomic.Int64 // of its operations
}

func (s *slowStore) Scope() store.Scope { return store.Machine }

// take waits as long as an operation takes. Where its caller gives up, and the store does
// not, do is run in the end.
func (s *slowStore) take(ctx context.Context, d time.Duration, do func()) error {
	if !s.slow.Load() {
		return ctx.Err()
	}
	s.count.Add(1)
	began, timer := time.Now(), time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		if s.late && do != nil {
			time.AfterFunc(d-time.Since(began), do)
		}
		return ctx.Err()
	}
}

func (s *slowStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	value = append([]byte(nil), value...)
	if err := s.take(ctx, s.writes, func() { _, _ = s.Memory.Create(context.Background(), key, value, ttl) }); err != nil {
		return 0, err
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

func (s *slowStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	value = append([]byte(nil), value...)
	if err := s.take(ctx, s.writes, func() { _, _ = s.Memory.Update(context.Background(), key, at, value, ttl) }); err != nil {
		return 0, err
	}
	return s.Memory.Update(ctx, key, at, value, ttl)
}

func (s *slowStore) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := s.take(ctx, s.reads, nil); err != nil {
		return nil, 0, err
	}
	return s.Memory.Get(ctx, key)
}

// Wait notices nothing while the store is slow.
func (s *slowStore) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	if s.slow.Load() {
		s.count.Add(1)
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Memory.Wait(ctx, key, at)
}

// A store that is slower than the lease ends a round in -31001 within the patience, or, of
// a round that has begun, in its result. The client sends the request again all the time:
// the store is not kept busy by that, and when it is well again the call completes at once,
// paid once.
func TestSlowStore(t *testing.T) {
	const (
		lease, patience = time.Second, 250 * time.Millisecond
		slow            = 600 * time.Millisecond
		lasts           = 30 * time.Second
		// perRequest bounds the operations of a request, with those that look after its
		// claim when it is gone.
		perRequest = 4
	)
	places := []string{"from the start", "from the effect on", "after the result"}
	for _, fault := range []struct {
		name          string
		writes, reads time.Duration
		late          bool
	}{
		{"writes", slow, 0, false},
		{"writes that come late", slow, 0, true},
		{"reads", 0, slow, false},
		{"all", slow, slow, false},
		{"all, and writes come late", slow, slow, true},
		{"nothing ends", time.Hour, time.Hour, false},
		{"within the patience", patience - 1, patience - 1, false},
	} {
		for _, place := range places {
			for name := range everyPayer(nil, nil) {
				inBubble(t, fmt.Sprintf("%s/%s/%s", fault.name, place, name), func(t *testing.T) {
					s := &slowStore{Memory: store.NewMemory(nil), writes: fault.writes, reads: fault.reads, late: fault.late}
					paid := 0
					rt := newTripRuntime(t, &mrtr.Options{Durable: durable.In(s, &durable.Options{Lease: lease})})
					tool := newTrip(rt, everyPayer(func() {
						if place == places[1] {
							s.slow.Store(true)
						}
					}, func() { paid++ })[name], "")
					asked := tool.begin()
					require.NoError(t, asked.err)
					if place == places[2] { // nothing is claimed any more
						require.Equal(t, tripReply{plan: "paid"}, tool.answer(asked, "yes"))
					}
					if place != places[1] {
						s.slow.Store(true)
					}
					requests, unknown := int64(0), false
					for began := time.Now(); time.Since(began) < lasts; {
						sent := time.Now()
						reply := tool.answer(asked, "yes")
						requests++
						took := time.Since(sent)
						switch {
						case reply.err == nil:
							require.Equal(t, 1, paid)
						case place == places[1] && effectOf(reply.err) == "unknown": // its record was lost
							unknown = true
						default:
							retryable(t, reply.err, "store_unavailable")
						}
						switch {
						case fault.writes < patience && fault.reads < patience:
							require.NoError(t, reply.err)
						case reply.err != nil && place != places[1]:
							// A request that found a record has had its create refused in time.
							require.LessOrEqual(t, took, 2*patience)
						default: // the notes around the effect, and the result
							require.LessOrEqual(t, took, 6*patience)
						}
						time.Sleep(patience)
					}
					require.LessOrEqual(t, s.count.Load(), requests*perRequest, "of %d requests", requests)
					s.slow.Store(false)
					// A last write that was on its way is done or given up.
					time.Sleep(slow)
					began := time.Now()
					if last := tool.answer(asked, "yes"); !unknown && place != places[1] || last.err == nil {
						require.Equal(t, tripReply{plan: "paid"}, last)
					} else {
						ended(t, last.err, mrtr.OutcomeUnknown)
					}
					require.LessOrEqual(t, time.Since(began), 2*lease)
					require.Equal(t, 1, paid)
				})
			}
		}
	}
}

// everyPayer asks, and pays in the next round, in each style: paying runs before the
// payment, and paid counts it.
func everyPayer(paying, paid func()) map[string]tripStyle {
	pay := func(context.Context, string) (string, error) {
		paying()
		paid()
		return "paid", nil
	}
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		ask(s, text("pay"))
		return tripOut{Plan: once(s, "pay", pay)}, nil
	})
	var list tripSteps
	steps.Always(&list, text("pay"))
	plan := steps.Do(&list, "charge", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return pay(ctx, idem) })
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) { return tripOut{Plan: plan.Of(at)}, nil })
	styles["steps"] = list.MustBuild()
	return styles
}

// A request that waits for another one of whose instance nothing is heard gets an answer
// within the time it has, however long a wait of the store takes.
func TestNobodyWaitsWithoutABound(t *testing.T) {
	const wait = 20 * time.Second
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowStore{Memory: store.NewMemory(nil)}
			goOn := make(chan struct{})
			serve := func() *tripTool {
				rt := newTripRuntime(t, &mrtr.Options{Durable: durable.In(s, &durable.Options{Lease: time.Second, Wait: wait})})
				return newTrip(rt, everyPayer(func() { <-goOn }, func() {})["native"], "")
			}
			one, other := serve(), serve()
			asked := one.begin()
			first := underWay(func() tripReply { return one.answer(asked, "yes") })
			synctest.Wait()
			s.slow.Store(true)
			if silent {
				s.reads = time.Hour
			}
			began := time.Now()
			reply := other.answer(asked, "yes")
			if silent {
				retryable(t, reply.err, "store_unavailable")
				require.LessOrEqual(t, time.Since(began), time.Second)
			} else {
				retryable(t, reply.err, "in_flight")
				require.LessOrEqual(t, time.Since(began), wait+time.Second)
				// It looks at each sign of life, and at the end of each lease.
				require.LessOrEqual(t, s.count.Load(), int64(5*wait/time.Second+20))
			}
			s.slow.Store(false)
			close(goOn)
			require.Equal(t, tripReply{plan: "paid"}, <-first)
			require.Equal(t, tripReply{plan: "paid"}, other.answer(asked, "yes"))
		})
	}
}

// A server that shuts down refuses a request whose handler it cannot enter in one
// sentence, whatever the call has done before, and another instance goes on with the
// same request. Nothing is undone.
func TestAShutdownSendsRequestsElsewhere(t *testing.T) {
	for _, stored := range []bool{false, true} {
		for _, name := range []string{"journal", "resumable"} {
			t.Run(fmt.Sprintf("%s/store=%t", name, stored), func(t *testing.T) {
				var did deeds
				var seen recorder
				style := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
					once(s, "hold", did.do("held"))
					seat := ask(s, text("seat"))
					once(s, "pay", did.do("paid"))
					return tripOut{Plan: seat}, nil
				})[name].OnStop(undo("hold", func() error { did.note("undone"); return nil }))
				opts := &mrtr.Options{Listener: observe.With(&seen)}
				if stored {
					opts.Durable = durable.In(shared{store.NewMemory(nil)}, nil)
				}
				rt := newTripRuntime(t, opts)
				tool := newTrip(rt, style, "")
				asked := tool.begin()
				require.NoError(t, rt.Drain(t.Context()))
				for _, refused := range []error{tool.answer(asked, "window").err, tool.begin().err} {
					retryable(t, refused, "shutting_down")
					require.ErrorContains(t, refused, "This server is shutting down and has not begun this request: send it again as it is.")
				}
				require.Len(t, seen.of(observe.RoundRefused), 2)
				require.Empty(t, seen.of(observe.CallStopped), "it goes on")
				require.Equal(t, tripReply{plan: "window"}, newTrip(newTripRuntime(t, opts), style, "").answer(asked, "window"))
				require.Equal(t, []int{1, 1, 0}, []int{did.count("held"), did.count("paid"), did.count("undone")})
			})
		}
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
		inBubble(t, name, func(t *testing.T) {
			s := &hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}
			var mu sync.Mutex
			var done []string
			s.on(func(op operation) error {
				mu.Lock()
				defer mu.Unlock()
				done = append(done, op.name)
				return nil
			})
			tool := newTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), style, "")
			asked := tool.begin()
			take := func() []string {
				mu.Lock()
				defer mu.Unlock()
				took := done
				done = nil
				return took
			}
			take()
			for _, want := range [][]string{rounds[name], {"create"}, {"create"}} {
				require.Equal(t, tripReply{plan: "paid"}, tool.round(context.Background(), "", asked.state, accepting(asked, "yes")))
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
	rt := newTripRuntime(t, opts)
	tool := &tripTool{handler: mrtr.Tool(rt, mrtr.Native(guardedOf(func(st *stage, _ tripIn) (tripOut, error) {
		ask(st, text("q"))
		once(st, "first", func(context.Context, string) (string, error) {
			var noted atomic.Bool // that the other begins
			s.on(func(operation) error {
				if noted.CompareAndSwap(false, true) {
					return errors.New("down")
				}
				return nil
			})
			return "", nil
		})
		once(st, "second", func(context.Context, string) (string, error) { return "", nil })
		return tripOut{}, nil
	})), &mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain})}
	asked := tool.begin()
	require.NoError(t, asked.err)
	const again = "the server cannot remember it now. Send the same request again."
	require.Equal(t, "This request was not completed: "+again, requireCode(t, tool.answer(asked, "x").err, -31001).Message)
	require.NoError(t, tool.answer(asked, "x").err)
	s.fail(errors.New("down"))
	require.Equal(t, "This request was not begun: "+again, requireCode(t, tool.answer(asked, "x").err, -31001).Message)
}
