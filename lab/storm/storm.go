// Package storm makes calls at instances to which things happen: they are killed, drained and
// replaced, their store is slow, full, cut off or standing still. Clients send each request
// at two of them, hang up, and send again. No order may be paid twice, each answer has to be
// true of the ledger, and every call has to end when the weather is fair again.
package storm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
)

// Instance is one that takes calls.
type Instance struct {
	Conn    *wire.Client
	Weather *fleet.Weather // of its store; nil for one that is a process
	Drain   func()         // lets it finish its work, and ends it
	End     func()         // ends it at once

	gone atomic.Bool // it is dead or drained
}

// Storm is one. Its faults are those of package fault.
type Storm struct {
	Seed   uint64
	Ledger fleet.Ledger
	Start  func(ctx context.Context) *Instance
	Size   int // instances
	// Fate befalls an instance, so often; it returns whether another one takes its place.
	Fate func(r *rand.Rand, i *Instance) (replaced bool)
	Each time.Duration
	// Lingering instances that have been replaced go on taking requests.
	Lingering int
	// Steps is after how many fates the weather clears up; 0 for when all calls have ended.
	Steps int
	// Clear ends whatever holds up more than one instance.
	Clear func()
	// Fair starts the instance at which the calls end when the weather is fair; nil for one of
	// those that there are.
	Fair func(ctx context.Context) *Instance
	// Spares lets the last calls end in fair weather: a task whose coroutine was killed waits
	// for longer than any process lives.
	Spares bool
	// Refuses says that an instance may refuse a task until the weather is fair, of which
	// another one knows.
	Refuses bool

	Calls  int         // at least
	AtOnce int         // calls
	Enough func() bool // more calls are made until it is true; nil for no more
	Within time.Duration
	// Order makes the order of a call, at one of the tools.
	Order func(r *rand.Rand, n int) (tool, order string)
	// Serve makes a call, if it is not [Storm.Call].
	Serve func(ctx context.Context, r *rand.Rand, tool, order string) fleet.Answer

	// Ends are the classes of the last answers. Replaced counts the instances that were.
	Ends     map[string]int
	Replaced atomic.Int64

	mu        sync.Mutex
	instances []*Instance // guarded by mu
	over      atomic.Bool // no more happens to anybody
}

const (
	// patience is how long a call may take when the weather is fair.
	patience = 60 * time.Second
	// breath is what a client takes before it sends a request again.
	breath = 50 * time.Millisecond
)

func (s *Storm) dice(n int) *rand.Rand { return rand.New(rand.NewPCG(s.Seed, uint64(n))) }

// At is a client at one of the instances.
func (s *Storm) At(r *rand.Rand, tool string) *fleet.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &fleet.Client{Conn: s.instances[r.IntN(len(s.instances))].Conn, Tool: tool}
}

// Play makes the calls.
func (s *Storm) Play(ctx context.Context) {
	for range s.Size {
		s.instances = append(s.instances, s.Start(ctx))
	}
	defer func() {
		for _, i := range s.instances {
			i.End()
		}
	}()
	storming, stop := context.WithCancel(ctx)
	fates := make(chan error, 1)
	go func() {
		err := errors.New("what befalls the instances failed the test on its own goroutine")
		defer func() { fates <- err }() // also then
		err = fault.Caught(func() { s.storm(storming) })
	}()
	err := s.makeCalls(ctx)
	stop()
	fault.Check(errors.Join(err, <-fates))
}

// makeCalls makes those that are wanted, and more until enough has happened.
func (s *Storm) makeCalls(ctx context.Context) error {
	s.Ends = map[string]int{}
	errs := make([]error, s.AtOnce)
	orders := make(chan int)
	var workers sync.WaitGroup
	for w := range s.AtOnce {
		workers.Go(func() {
			for n := range orders {
				r := s.dice(n + 1)
				tool, order := s.Order(r, n)
				err := fault.Caught(func() {
					serve := s.Serve
					if serve == nil {
						serve = s.Call
					}
					a := serve(ctx, r, tool, order)
					s.mu.Lock()
					defer s.mu.Unlock()
					s.Ends[a.Class]++
				})
				if err != nil {
					errs[w] = errors.Join(errs[w], fmt.Errorf("%s, %s: %w", tool, order, err))
				}
			}
		})
	}
	n := 0
	for ; (n < s.Calls || s.Enough != nil && !s.Enough()) && ctx.Err() == nil; n++ {
		orders <- n
	}
	close(orders)
	s.over.Store(s.over.Load() || s.Spares)
	workers.Wait()
	s.Calls = n
	return errors.Join(append(errs, ctx.Err())...)
}

// storm lets things happen until it is over, and then clears up.
func (s *Storm) storm(ctx context.Context) {
	defer s.over.Store(true)
	r := s.dice(0)
	for step := 0; (s.Steps == 0 || step < s.Steps) && !s.over.Load() && fleet.Pause(ctx, s.Each/2+time.Duration(r.Int64N(int64(s.Each)))) == nil; step++ {
		s.mu.Lock()
		i := s.instances[r.IntN(len(s.instances))]
		for _, dead := range s.instances {
			select {
			case <-dead.Conn.Gone(): // it has killed itself
				i = dead
			default:
			}
		}
		s.mu.Unlock()
		if !i.gone.Load() && s.Fate(r, i) {
			s.replace(context.WithoutCancel(ctx), i)
		}
	}
	if s.Clear != nil {
		s.Clear()
	}
	var fair *Instance
	if s.Fair != nil && ctx.Err() == nil {
		fair = s.Fair(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.instances {
		if i.Weather != nil && !i.gone.Load() {
			i.Weather.Set(nil)
		}
	}
	if fair != nil {
		s.instances = []*Instance{fair}
	}
}

// replace starts another instance in the place of one, or beside it while it lingers.
func (s *Storm) replace(ctx context.Context, old *Instance) {
	s.Replaced.Add(1)
	next := s.Start(ctx)
	drains := s.Replaced.Load()%3 == 0
	s.mu.Lock()
	lingers := len(s.instances) < s.Lingering
	if lingers {
		s.instances = append(s.instances, next)
	} else {
		for n, i := range s.instances {
			if i == old {
				s.instances[n] = next
			}
		}
	}
	s.mu.Unlock()
	old.gone.Store(true)
	switch {
	case drains && lingers:
		go old.Drain()
	case drains:
		old.Drain()
		old.End()
	case !lingers:
		old.End()
	case old.Weather != nil: // it dies: nothing of it reaches the store any more
		old.Weather.Set(fleet.Cut)
	}
}

// Call makes a call of two rounds, of which it sends the last one at two instances at once.
// Both are answered truly, and while the storm lasts they are sent again.
func (s *Storm) Call(ctx context.Context, r *rand.Rand, tool, order string) (last fleet.Answer) {
	request := s.ask(ctx, r, tool, order)
	senders := [2]*rand.Rand{rand.New(rand.NewPCG(r.Uint64(), 0)), rand.New(rand.NewPCG(r.Uint64(), 0))}
	var answers [2]fleet.Answer
	fault.Check(Parallel(len(senders), len(senders), func(i int) {
		for over := s.Steps == 0; ; over = over || s.over.Load() {
			if answers[i] = s.deliver(ctx, senders[i], tool, order, request); over {
				return
			}
			fault.Check(fleet.Pause(ctx, time.Duration(senders[i].Int64N(int64(4*s.Within)))))
		}
	}))
	if answers[0].Class == "unknown" {
		return answers[1]
	}
	return answers[0]
}

func (s *Storm) ask(ctx context.Context, r *rand.Rand, tool, order string) wire.Request {
	for {
		request, err := s.At(r, tool).Begin(ctx, order)
		if err == nil {
			return request
		}
		if err != fleet.ErrRetryable && !errors.As(err, new(fleet.Unanswered)) {
			fault.Check(err)
		}
		fault.Check(fleet.Pause(ctx, breath))
	}
}

// deliver sends a request to one instance after the other until it is answered for good. A
// third of the attempts are given up.
func (s *Storm) deliver(ctx context.Context, r *rand.Rand, tool, order string, request wire.Request) fleet.Answer {
	var fair <-chan time.Time // since the weather is, time counts
	for {
		within := patience
		if r.IntN(3) == 0 {
			within = time.Duration(r.Int64N(int64(s.Within)))
		}
		a, err := s.At(r, tool).SendWithin(ctx, request, within)
		switch {
		case err != nil && (!errors.As(err, new(fleet.Unanswered)) || ctx.Err() != nil):
			fault.Check(err)
		case err == nil:
			if fleet.Judge(s.Ledger, order, a); a.Class != "retryable" {
				return a
			}
		}
		if fair == nil && s.over.Load() {
			fair = time.After(patience)
		}
		select {
		case <-fair:
			fault.Failf("it is stuck\n%s", goroutines())
		case <-time.After(breath):
		}
	}
}

// goroutines says where each of them stands: what nobody gets past is among them, and the
// seed alone may not bring it back.
func goroutines() string {
	var all strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&all, 1)
	return all.String()
}

// Nightly is how many there are where MRTR_NIGHTLY=1, and by day.
func Nightly(night, day int) int {
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		return night
	}
	return day
}

// Parallel runs a check n times, at most so many at once, and joins the faults.
func Parallel(n, most int, check func(i int)) error {
	slots := make(chan struct{}, most)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = fault.Caught(func() { check(i) })
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
