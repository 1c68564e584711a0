//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/lab/storm"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

const (
	fleetSize  = 3
	fleetCalls = 200
	killEach   = 400 * time.Millisecond
	// atWork is how many calls there are at once.
	atWork = 12
	// effectTime is how long the effect takes, so that many kills hit one.
	effectTime = 100 * time.Millisecond
	// fleetTries is more often than any round is killed here.
	fleetTries = 1000
)

// processes is a storm over three processes, of which one is killed or drained every 0.4
// seconds and replaced.
func (b *Backend) processes(t *testing.T, of job) *storm.Storm {
	of.Backend, of.Address, of.Key, of.Lease, of.Tries = b.Name, b.Addresses(t)(), newKey(), lease, fleetTries
	of.Ledger = fleet.Ledger(filepath.Join(t.TempDir(), "payments"))
	return &storm.Storm{
		Seed: rand.Uint64(), Ledger: of.Ledger, Size: fleetSize, Each: killEach, Calls: fleetCalls, AtOnce: atWork, Within: 2 * effectTime,
		Start: func(ctx context.Context) *storm.Instance {
			p := start(ctx, of)
			return &storm.Instance{Conn: p.Conn, End: p.end, Drain: p.drain}
		},
		Fate: func(*rand.Rand, *storm.Instance) (replaced bool) { return true },
		Order: func(_ *rand.Rand, n int) (tool, order string) {
			return toolName, fmt.Sprintf("order-%d/ok/%v", n, effectTime)
		},
	}
}

// runFleets makes 200 calls at three processes, and more until enough has gone wrong. Every
// second one that takes a round over is killed as well. Each call has its receipt if the
// effect can be looked up.
func (b *Backend) runFleets(t *testing.T) {
	for _, name := range []string{"journal + Check", "journal"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			takers := fleet.Ledger(filepath.Join(t.TempDir(), "takers"))
			s := b.processes(t, job{Row: name, Takers: takers})
			s.Enough = func() bool { // whether a kill hits a round is chance
				killed, err := takers.Lines()
				return err != nil || len(killed) > 0 && s.Replaced.Load() > 5
			}
			require.NoError(t, fault.Caught(func() { s.Play(ctx) }))
			killed, err := takers.Lines()
			require.NoError(t, err)
			paid := paidOnce(t, s.Ledger)
			t.Logf("%d calls, 2 requests each, %d kills, and %d of those who took over: %v; %d paid", s.Calls, s.Replaced.Load(), len(killed), s.Ends, paid)
			require.Equal(t, s.Calls, s.Ends["ok"]+s.Ends["unknown"])
			if name == "journal + Check" {
				require.Equal(t, map[string]int{"ok": s.Calls}, s.Ends)
				require.Equal(t, s.Calls, paid)
			}
		})
	}
}

// paidOnce requires that no order was paid twice, and counts those that were paid.
func paidOnce(t *testing.T, l fleet.Ledger) int {
	t.Helper()
	paid, err := fleet.Payments(l)
	require.NoError(t, err)
	orders := map[string]bool{}
	for _, p := range paid {
		require.Falsef(t, orders[p.Order], "%s was paid twice", p.Order)
		orders[p.Order] = true
	}
	return len(paid)
}

// stormTasks is how many tasks a storm has of each row; MRTR_STORM changes it.
const stormTasks = 24

// taskRows are the rows that are tasks in a storm, and whether each task of them completes that
// is not cancelled: a payment that was cut off can be looked up.
var taskRows = map[string]bool{
	"journal + Check": true, "resumable + Check": true, "once + Check + InterruptedAgain": true, "steps": false, "coroutine": false,
}

// runTasks serves calls as tasks, at processes that all lose their store for 0.2 seconds of
// each second. A task asks before its payment and behind it. Each request goes to any of the
// processes, each answer to two at once, and some clients hang up on them; every fifth task is
// cancelled meanwhile. No key asks two things, and every task that is polled ends, for good.
func (b *Backend) runTasks(t *testing.T) {
	number := stormTasks
	if text := os.Getenv("MRTR_STORM"); text != "" {
		var err error
		number, err = strconv.Atoi(text)
		require.NoError(t, err)
		require.Positive(t, number)
	}
	for _, name := range slices.Sorted(maps.Keys(taskRows)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			s := b.processes(t, job{Row: name, Tasks: true, Unsteady: true})
			s.Calls, s.Enough = number, func() bool { return s.Replaced.Load() > 5 }
			s.Serve = taskStorm{s}.serve
			require.NoError(t, fault.Caught(func() { s.Play(ctx) }))
			t.Logf("%d tasks, each answered twice, %d kills and drains: %v; %d paid", s.Calls, s.Replaced.Load(), s.Ends, paidOnce(t, s.Ledger))
			if taskRows[name] {
				require.Zero(t, s.Ends["failed"], "%v", s.Ends)
			}
		})
	}
}

// taskStorm is a storm whose calls are tasks.
type taskStorm struct{ *storm.Storm }

// shown is a task as its client sees it.
type shown struct {
	TaskID        string
	Status        string
	InputRequests map[string]json.RawMessage
	Result        struct {
		IsError    bool
		Structured json.RawMessage `json:"structuredContent"`
	}
}

// serve creates a task, answers it, and waits for its end: ok, failed, or cancelled by it.
func (s taskStorm) serve(ctx context.Context, r *rand.Rand, tool, order string) (a fleet.Answer) {
	id := s.begin(ctx, tool, order)
	cancels := r.IntN(5) == 0
	var end shown
	fault.Check(storm.Parallel(2, 2, func(i int) {
		if i == 0 {
			end = s.follow(ctx, id)
		} else if cancels {
			fault.Check(fleet.Pause(ctx, rand.N(2*effectTime)))
			s.request(ctx, wire.Request{Method: "tasks/cancel", Task: id})
		}
	}))
	again := s.request(ctx, wire.Request{Method: "tasks/get", Task: id})
	if again.Status != end.Status || string(again.Result.Structured) != string(end.Result.Structured) {
		fault.Failf("it was %v, and is %v", end, again)
	}
	if end.Status == "failed" || end.Status == "cancelled" && !cancels {
		fault.Failf("its end is %v", end)
	}
	switch {
	case end.Status == "completed" && !end.Result.IsError:
		a.Class = "ok"
		fault.Check(json.Unmarshal(end.Result.Structured, &a.Receipt))
		fleet.Judge(s.Ledger, order, a)
	case cancels:
		a.Class = "cancelled"
	default:
		a.Class = "failed"
	}
	return a
}

// begin calls the tool until the call is a task. One that the store does not take is served in
// its request, which asks before it pays: the client leaves it unanswered and calls again.
func (s taskStorm) begin(ctx context.Context, tool, order string) (id string) {
	for {
		begun := s.request(ctx, wire.Request{Name: tool, Arguments: fleet.Order{Order: order}})
		if begun.TaskID != "" {
			return begun.TaskID
		}
		if len(begun.InputRequests) == 0 {
			fault.Failf("it is no task and asks nothing: %v", begun)
		}
		fault.Check(fleet.Pause(ctx, 20*time.Millisecond))
	}
}

// follow polls a task until its end, and sends each answer to two processes at once.
func (s taskStorm) follow(ctx context.Context, id string) shown {
	for asked := map[string]string{}; ; {
		now := s.request(ctx, wire.Request{Method: "tasks/get", Task: id})
		switch now.Status {
		case "input_required":
			responses := map[string]any{}
			for key, request := range now.InputRequests {
				if before, known := asked[key]; known && before != string(request) {
					fault.Failf("key %s asked %s, and asks %s", key, before, request)
				}
				asked[key] = string(request)
				name, _, _ := strings.Cut(key, "-") // a task adds the number of the round
				responses[key] = fleet.Yes(name)
			}
			fault.Check(storm.Parallel(2, 2, func(int) {
				s.request(ctx, wire.Request{Method: "tasks/update", Task: id, Responses: responses})
			}))
		case "working":
		default:
			return now
		}
		if err := fleet.Pause(ctx, 20*time.Millisecond); err != nil {
			fault.Failf("it is %q without an end: %w", now.Status, err)
		}
	}
}

// request sends a request to any process until one has answered it. Every third attempt is
// given up after a moment.
func (s taskStorm) request(ctx context.Context, r wire.Request) (now shown) {
	dice := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for {
		sent, giveUp := ctx, context.CancelFunc(func() {})
		if dice.IntN(3) == 0 {
			sent, giveUp = context.WithTimeout(ctx, rand.N(effectTime))
		}
		conn := s.At(dice, toolName).Conn
		if r.Task != "" {
			r.Params = map[string]any{"_meta": conn.Meta(), "taskId": r.Task, "inputResponses": r.Responses}
		}
		res, err := conn.Exchange(sent, r)
		giveUp()
		switch {
		case err != nil && ctx.Err() != nil:
			fault.Check(err)
		case err != nil: // the process is gone, or the attempt was given up
		case res.Error == nil:
			fault.Check(json.Unmarshal(res.Result, &now))
			return now
		default:
			if a, err := wire.ReadReply(res); err != nil || !fleet.IsRetryable(a.Error) {
				fault.Failf("%s was refused: %w", r.Method, res.Error)
			}
		}
		fault.Check(fleet.Pause(ctx, 20*time.Millisecond))
	}
}

// Schedules are storms over a few instances of this process each, by their seeds.
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
	// mostInstances are reached in one schedule, with those that are dead.
	mostInstances = 8
)

// Run plays schedules. MRTR_SEED plays one, and MRTR_SCHEDULES sets how many there are.
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
					t.Run(fmt.Sprint("MRTR_SEED=", first+uint64(n)), func(t *testing.T) {
						played := s.storm(t, subject, first+uint64(n))
						require.NoError(t, fault.Caught(func() { played.Play(t.Context()) }))
						mu.Lock()
						defer mu.Unlock()
						for end, n := range played.Ends {
							calls += n
							ends[end] += n
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

// storm is the schedule of a seed: two to four instances on one store, and twenty to fifty
// things that happen to them.
func (s Schedules) storm(t *testing.T, subject *storetest.Subject, seed uint64) *storm.Storm {
	all, tools := newInstances(t), outcomeTools()
	tools["again"] = fleet.Find("once + InterruptedAgain")
	names, effects := slices.Sorted(maps.Keys(tools)), slices.Sorted(maps.Keys(fleet.Ends))
	r := rand.New(rand.NewPCG(seed, 1))
	started, b := 0, backend{subject: subject}
	return &storm.Storm{
		Seed: seed, Ledger: all.ledger, Size: 2 + r.IntN(3), Lingering: mostInstances, Each: s.Lease / 8, Steps: 20 + r.IntN(30),
		Calls: callsEach, AtOnce: callsEach, Within: s.Lease, Clear: b.clearUp,
		Start: func(context.Context) *storm.Instance {
			handle := subject.Store
			if subject.Another != nil && started%2 == 1 {
				handle = subject.Another()
			}
			if handle.Scope() == store.Process {
				handle = fleet.Shared{Store: handle}
			}
			started++
			i := &storm.Instance{Weather: &fleet.Weather{}, End: func() {}}
			remember := mrtr.RememberOptions{Lease: s.Lease, Wait: 5 * s.Lease, MaxAttempts: 50}
			rt, conn := all.start(t, fleet.Tapped{Store: handle, Around: i.Weather.Around}, remember, tools, nil)
			i.Conn, i.Drain = conn, func() { _ = rt.Drain(t.Context()) }
			return i
		},
		Fate: func(r *rand.Rand, i *storm.Instance) (replaced bool) { return b.befall(r, i, s.Lease/2) },
		Order: func(r *rand.Rand, n int) (tool, order string) {
			takes := time.Duration(r.Int64N(int64(s.Lease)))
			return names[r.IntN(len(names))], fmt.Sprintf("%d/%s/%v", n, effects[r.IntN(len(effects))], takes)
		},
	}
}

// backend is a subject that may be held up for all who reach it by its own handle.
type backend struct {
	subject *storetest.Subject
	release func() // nil while it is not
}

// befall changes the weather of one instance or holds the backend up; or the instance is
// replaced.
func (b *backend) befall(r *rand.Rand, i *storm.Instance, slow time.Duration) (replaced bool) {
	kinds := []func(){
		func() { i.Weather.Set(fleet.Cut) },
		func() { i.Weather.Set(fleet.Full) },
		func() { i.Weather.Set(fleet.Frozen) },
		func() { i.Weather.Set(fleet.Slowly(time.Duration(r.Int64N(int64(slow))), true)) },
		func() { b.hold(b.subject.HoldRequests) },
		func() { b.hold(b.subject.HoldAnswers) },
		func() { i.Weather.Set(nil) },
		func() { i.Weather.Set(nil) },
	}
	switch r.IntN(10) {
	case 0, 1:
		kinds[r.IntN(len(kinds))]()
	case 2, 3:
		return true
	}
	return false
}

// hold holds the backend up, or ends that.
func (b *backend) hold(begin func() (release func())) {
	switch {
	case b.release != nil:
		b.clearUp()
	case begin != nil:
		b.release = begin()
	}
}

func (b *backend) clearUp() {
	if b.release != nil {
		b.release()
		b.release = nil
	}
}
