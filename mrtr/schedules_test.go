package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// A schedule is a seed's: two to four instances on one store that is now and then slow,
// full, cut off or standing still, instances that stop, die and drain, and clients that hang
// up and send their requests again, here and there. No order is paid twice, no answer
// contradicts the ledger, and every call comes to an end when the weather is fair again.
// MRTR_SEED plays one schedule, and MRTR_SCHEDULES sets how many there are.
func TestSchedules(t *testing.T) {
	schedules, first := 100, rand.Uint64()>>16
	if os.Getenv("MRTR_CI") == "1" {
		schedules = 1000
	}
	if n, err := strconv.Atoi(os.Getenv("MRTR_SCHEDULES")); err == nil {
		schedules = n
	}
	if seed, err := strconv.ParseUint(os.Getenv("MRTR_SEED"), 10, 64); err == nil {
		schedules, first = 1, seed
	}
	var mu sync.Mutex
	var sums [4]int // calls, ok, unknown, error
	var all sync.WaitGroup
	slots := make(chan struct{}, 32) // they wait most of the time, so that there can be more than processors
	for n := range uint64(schedules) {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			t.Run(fmt.Sprint("MRTR_SEED=", first+n), func(t *testing.T) {
				s := &schedule{rand: rand.New(rand.NewPCG(first+n, 0)), memory: store.NewMemory(nil)}
				s.play(t)
				mu.Lock()
				defer mu.Unlock()
				for i, sum := range s.sums {
					sums[i] += sum
				}
			})
		})
	}
	all.Wait()
	t.Logf("%d schedules from seed %d: %d calls, %d ok, %d unknown, %d failed; 0 paid twice, 0 lies, 0 stuck", schedules, first, sums[0], sums[1], sums[2], sums[3])
	require.Equal(t, schedules*callsEach, sums[0])
	require.Positive(t, sums[1])
}

// stormLease is short, so that instances are given up often: also those that are merely
// slow, which must cost nobody anything.
const (
	stormLease = 200 * time.Millisecond
	callsEach  = 4
)

// schedule is what happens to a few calls. Its dice are thrown by one goroutine; what comes
// first of two things at once is left to the machine.
type schedule struct {
	rand      *rand.Rand
	memory    *store.Memory
	instances []*stormy
	sums      [4]int
}

// stormy is one instance, with its own way to the store.
type stormy struct {
	*hookedStore
	rt    *mrtr.Runtime
	tools []*tripTool // one for each order
	gone  bool        // it is dead or drained, and takes no more requests
}

var errCut = errors.New("connection lost")

func (s *schedule) upTo(d time.Duration) time.Duration { return time.Duration(s.rand.Int64N(int64(d))) }

// weather is what befalls the way to a store.
func (s *schedule) weather(i *stormy) {
	switch slow := s.upTo(stormLease / 2); s.rand.IntN(6) {
	case 0:
		i.fail(errCut)
	case 1:
		i.on(func(op operation) error {
			if op.value != nil {
				return store.ErrFull
			}
			return nil
		})
	case 2:
		i.on(func(op operation) error { // it stands still
			<-op.Done()
			return op.Err()
		})
	case 3:
		i.on(func(op operation) error {
			select {
			case <-time.After(slow):
				return nil
			case <-op.Done():
				if op.do != nil { // it comes late
					time.AfterFunc(slow, op.do)
				}
				return op.Err()
			}
		})
	default:
		i.fail(nil)
	}
}

func (s *schedule) start(t *testing.T, orders []*stormyCall) *stormy {
	i := &stormy{hookedStore: &hookedStore{Memory: s.memory, scope: store.Machine}}
	i.rt = newTripRuntime(t, &mrtr.Options{Store: i, Remember: &mrtr.RememberOptions{Lease: stormLease, Wait: time.Second, MaxAttempts: 50}})
	for n, o := range orders {
		opts := &mrtr.HandlerOptions{Audience: fmt.Sprint(n)}
		if o.style == "once" && n%2 == 0 {
			opts.Interrupted = mrtr.InterruptedAgain
		}
		i.tools = append(i.tools, &tripTool{handler: mrtr.Tool(i.rt, payers(o.bank)[o.style], opts)})
	}
	return i
}

// stormyCall is one call, with a ledger of its own.
type stormyCall struct {
	*bank
	style   string
	asked   tripReply
	replies []tripReply
}

func (s *schedule) play(t *testing.T) {
	ends, styles := slices.Sorted(maps.Keys(effectEnds)), slices.Sorted(maps.Keys(payers(nil)))
	orders := make([]*stormyCall, callsEach)
	for n := range orders {
		takes := s.upTo(stormLease)
		o := &stormyCall{bank: newBank(ends[s.rand.IntN(len(ends))], newMeeting("")), style: styles[s.rand.IntN(len(styles))]}
		o.paying = func() { time.Sleep(takes) }
		orders[n] = o
	}
	for range 2 + s.rand.IntN(3) {
		s.instances = append(s.instances, s.start(t, orders))
	}
	for n, o := range orders {
		o.asked = s.instances[s.rand.IntN(len(s.instances))].tools[n].begin()
		require.NoError(t, o.asked.err)
	}
	type result struct {
		*stormyCall
		tripReply
	}
	replies := make(chan result, 100)
	sent := 0
	for range 20 + s.rand.IntN(30) {
		i := s.instances[s.rand.IntN(len(s.instances))]
		switch s.rand.IntN(10) {
		case 0, 1:
			if !i.gone {
				s.weather(i)
			}
		case 2, 3:
			if i.gone || len(s.instances) == 8 {
				continue
			}
			i.gone = true
			if s.rand.IntN(2) == 0 {
				go i.rt.Drain(t.Context())
			} else { // it dies: nothing of it reaches the store any more
				i.fail(errCut)
			}
			s.instances = append(s.instances, s.start(t, orders))
		default:
			n := s.rand.IntN(len(orders))
			ctx, hangUp := context.WithCancel(t.Context())
			if s.rand.IntN(2) == 0 {
				ctx, hangUp = context.WithTimeout(t.Context(), s.upTo(stormLease))
			}
			sent++
			go func() {
				defer hangUp()
				replies <- result{orders[n], i.tools[n].round(ctx, "", orders[n].asked.state, accepting(orders[n].asked, "yes"))}
			}()
		}
		time.Sleep(s.upTo(stormLease / 4))
	}
	for _, i := range s.instances {
		if !i.gone {
			i.fail(nil)
		}
	}
	late := time.After(30 * time.Second)
	for range sent {
		select {
		case r := <-replies:
			r.stormyCall.replies = append(r.stormyCall.replies, r.tripReply)
		case <-late:
			require.FailNow(t, "a request is stuck")
		}
	}
	fair := s.start(t, orders)
	for n, o := range orders {
		s.judge(t, o, fair.tools[n])
	}
}

// judge brings a call to its end, and holds all its answers against its ledger.
func (s *schedule) judge(t *testing.T, o *stormyCall, fair *tripTool) {
	where := o.style + ", " + o.end
	var last tripReply
	require.Eventually(t, func() bool {
		last = fair.answer(o.asked, "yes")
		return last.err == nil || !isRetryable(last.err)
	}, 30*time.Second, time.Millisecond, "%s: it is stuck", where)
	s.sums[0]++
	switch answerIn(last) {
	case "ok":
		s.sums[1]++
	case "error":
		s.sums[3]++
	default:
		s.sums[2]++
	}
	paid := o.payments()
	require.LessOrEqual(t, paid, 1, where)
	for _, reply := range append(o.replies, last) {
		switch said := answerIn(reply); {
		case said == "ok" || said == "applied":
			require.Equal(t, 1, paid, "%s: %s, and not paid: %v", where, said, reply.err)
		case said == "error" && !isRetryable(reply.err) && !errors.Is(reply.err, context.DeadlineExceeded) && !errors.Is(reply.err, context.Canceled):
			require.Zero(t, paid, "%s: %v", where, reply.err)
		}
	}
}
