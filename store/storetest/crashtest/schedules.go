//go:build unix

package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/store/storetest/internal/fault"
)

// Schedules are random runs of many instances.
type Schedules struct {
	// Subject opens the store of some of the schedules, one after another.
	Subject func(t *testing.T) *storetest.Subject
	Number  int // of schedules
	AtOnce  int // each with a subject of its own
	// Lease is short, so that instances are given up often: also those that are merely
	// slow, which must cost nobody anything.
	Lease time.Duration
}

const (
	callsEach = 4
	// stuck is how long an answer may take when the weather is fair.
	stuck = 60 * time.Second
)

// Run plays schedules. Each is a seed's: two to four instances on one store that is now
// and then slow, full, cut off or standing still, instances that stop, die and drain, and
// clients that hang up and send their requests again, here and there. No order is paid
// twice, no answer contradicts the ledger, and every call comes to an end when the weather
// is fair again. MRTR_SEED plays one schedule, and MRTR_SCHEDULES sets how many there are.
func (s Schedules) Run(t *testing.T) {
	first := rand.Uint64() >> 16
	if n, err := strconv.Atoi(os.Getenv("MRTR_SCHEDULES")); err == nil {
		s.Number = n
	}
	if seed, err := strconv.ParseUint(os.Getenv("MRTR_SEED"), 10, 64); err == nil {
		s.Number, first = 1, seed
	}
	t.Logf("%d schedules from seed %d", s.Number, first)
	var mu sync.Mutex
	calls, ends := 0, map[string]int{}
	var next atomic.Int64
	var worlds sync.WaitGroup
	for world := range min(s.AtOnce, s.Number) {
		worlds.Go(func() { // they wait most of the time, so that there can be more than processors
			t.Run(fmt.Sprint("store ", world), func(t *testing.T) {
				subject := s.Subject(t)
				for n := next.Add(1) - 1; n < int64(s.Number); n = next.Add(1) - 1 {
					seed := first + uint64(n)
					t.Run(fmt.Sprint("MRTR_SEED=", seed), func(t *testing.T) {
						p := &schedule{Subject: subject, all: NewInstances(t), rand: rand.New(rand.NewPCG(seed, 0)), lease: s.Lease}
						p.play(t)
						mu.Lock()
						defer mu.Unlock()
						for _, o := range p.orders {
							calls++
							ends[o.last]++
						}
					})
				}
			})
		})
	}
	worlds.Wait()
	t.Logf("%d calls: %v; 0 paid twice, 0 lies, 0 stuck", calls, ends)
	if !t.Failed() {
		require.Equal(t, s.Number*callsEach, calls)
	}
}

// schedule is what happens to a few calls. Its dice are thrown by one goroutine; what comes
// first of two things at once is left to the machine.
type schedule struct {
	*storetest.Subject
	rand  *rand.Rand
	lease time.Duration
	all   *Instances

	instances []*stormy
	orders    []*stormyCall
	clear     func() // ends what holds the backend up; nil for nothing does
}

// stormy is one instance, with its own way to the store.
type stormy struct {
	*weather
	rt   *mrtr.Runtime
	conn *wire.Client
	gone bool // it is dead or drained, and takes no more requests
}

// stormyCall is one call.
type stormyCall struct {
	name, tool string
	request    wire.Request
	answers    []Answer
	last       string // the class of its last answer
}

func (s *schedule) upTo(d time.Duration) time.Duration { return time.Duration(s.rand.Int64N(int64(d))) }

func (s *schedule) start(lease time.Duration) *stormy {
	i := &stormy{weather: &weather{}}
	handle := s.Store
	if s.Another != nil && len(s.instances)%2 == 1 {
		handle = s.Another()
	}
	if handle.Scope() == store.Process { // as if several shared it
		handle = shared{handle}
	}
	tools := outcomeTools()
	tools["again"] = Find("once + InterruptedAgain")
	remember := &mrtr.RememberOptions{Lease: lease, Wait: 5 * s.lease, MaxAttempts: 50}
	i.rt, i.conn = s.all.start(tapped{handle, i.around}, remember, tools, nil)
	return i
}

// shared is a store of one process that looks like one of several.
type shared struct{ store.Store }

func (shared) Scope() store.Scope { return store.Machine }

func (s shared) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	return store.Wait(ctx, s.Store, key, at)
}

func (s *schedule) play(t *testing.T) {
	ends := slices.Sorted(maps.Keys(effectEnds))
	tools := append(slices.Sorted(maps.Keys(outcomeTools())), "again")
	for range 2 + s.rand.IntN(3) {
		s.instances = append(s.instances, s.start(s.lease))
	}
	for n := range callsEach {
		o := &stormyCall{tool: tools[s.rand.IntN(len(tools))]}
		o.name = fmt.Sprintf("%d/%s/%v", n, ends[s.rand.IntN(len(ends))], s.upTo(s.lease))
		var err error
		o.request, err = s.at(s.rand.IntN(len(s.instances)), o).Ask(t.Context(), o.name)
		require.NoError(t, err)
		s.orders = append(s.orders, o)
	}
	type answer struct {
		*stormyCall
		Answer
		err error
	}
	sent, answers := 0, make(chan answer, 100)
	for range 20 + s.rand.IntN(30) {
		n := s.rand.IntN(len(s.instances))
		switch i := s.instances[n]; s.rand.IntN(10) {
		case 0, 1:
			s.befall(i)
		case 2, 3:
			if i.gone || len(s.instances) == 8 {
				continue
			}
			i.gone = true
			if s.rand.IntN(2) == 0 {
				go i.rt.Drain(t.Context())
			} else { // it dies: nothing of it reaches the store any more
				i.set(failing(errCut))
			}
			s.instances = append(s.instances, s.start(s.lease))
		default:
			o, within := s.orders[s.rand.IntN(len(s.orders))], stuck
			if s.rand.IntN(2) == 0 {
				within = s.upTo(s.lease)
			}
			client := s.at(n, o)
			sent++
			go func() {
				a, err := client.sendWithin(t.Context(), o.request, within)
				answers <- answer{o, a, err}
			}()
		}
		time.Sleep(s.upTo(s.lease / 4))
	}
	s.clearUp()
	late := time.After(stuck)
	for range sent {
		select {
		case a := <-answers:
			if errors.As(a.err, new(Unanswered)) {
				continue // its client left
			}
			require.NoError(t, a.err)
			a.stormyCall.answers = append(a.stormyCall.answers, a.Answer)
		case <-late:
			require.FailNow(t, "a request is stuck", "%s", goroutines())
		}
	}
	s.instances = append(s.instances, s.start(outcomeLease))
	for _, o := range s.orders {
		s.judge(t, o, s.at(len(s.instances)-1, o))
	}
}

// at is a client at an instance.
func (s *schedule) at(n int, o *stormyCall) *Client {
	return &Client{conn: s.instances[n].conn, tool: o.tool}
}

// sendWithin cancels the request when its time is up.
func (c *Client) sendWithin(ctx context.Context, r wire.Request, within time.Duration) (Answer, error) {
	sending, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	var id jsonrpc.ID
	c.started = func(now jsonrpc.ID) { id = now }
	a, err := c.Send(sending, r)
	if sending.Err() == nil || ctx.Err() != nil || !id.IsValid() {
		return a, err
	}
	return a, errors.Join(err, c.cancel(ctx, id))
}

// cancel tells the server that nobody waits for a request any more.
func (c *Client) cancel(ctx context.Context, id jsonrpc.ID) error {
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err != nil {
		return err
	}
	return c.conn.Write(ctx, &jsonrpc.Request{Method: "notifications/cancelled", Params: params})
}

// judge brings a call to its end, and holds all its answers against the ledger.
func (s *schedule) judge(t *testing.T, o *stormyCall, fair *Client) {
	ctx, cancel := context.WithTimeout(t.Context(), stuck)
	defer cancel()
	last, err := fair.Settle(ctx, o.request)
	if err != nil {
		require.FailNow(t, "it is stuck", "%s, %s: %v\n%s", o.tool, o.name, err, goroutines())
	}
	o.last = last.Class
	for _, a := range append(o.answers, last) {
		require.NoError(t, fault.Caught(func() { judge(s.all.till, o.name, a) }), "%s, %s", o.tool, o.name)
	}
}

// goroutines says where each of them stands: what nobody gets past is among them, and the seed
// alone may not bring it back.
func goroutines() string {
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	return all.String()
}

// befall changes the weather of one instance, or holds the backend up for all who reach it
// by way of the subject's own handle.
func (s *schedule) befall(i *stormy) {
	kind, slow := s.rand.IntN(8), s.upTo(s.lease/2)
	if i.gone {
		return
	}
	switch kind {
	case 0:
		i.set(failing(errCut))
	case 1:
		i.set(func(_ context.Context, _ operation, run, late func() error) error {
			if late != nil {
				return store.ErrFull
			}
			return run()
		})
	case 2:
		i.set(func(ctx context.Context, _ operation, _, _ func() error) error {
			<-ctx.Done()
			return ctx.Err()
		})
	case 3:
		i.set(slowly(slow, true))
	case 4:
		s.hold(s.HoldRequests)
	case 5:
		s.hold(s.HoldAnswers)
	default:
		i.set(nil)
	}
}

// hold holds the backend up, or ends that.
func (s *schedule) hold(begin func() (release func())) {
	switch {
	case s.clear != nil:
		s.clear()
		s.clear = nil
	case begin != nil:
		s.clear = begin()
	}
}

// clearUp makes the weather fair for those who are still there.
func (s *schedule) clearUp() {
	if s.clear != nil {
		s.hold(nil)
	}
	for _, i := range s.instances {
		if !i.gone {
			i.set(nil)
		}
	}
}
