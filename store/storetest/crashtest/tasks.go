//go:build unix

package crashtest

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store/storetest/internal/fault"
)

// stormTasks is how many tasks a storm has of each row; MRTR_STORM changes it.
const stormTasks = 24

// storms are the rows that are tasks in a storm, and whether each task of them completes that
// is not cancelled: a payment that was cut off can be looked up.
var storms = map[string]bool{
	"journal + Check": true, "resumable + Check": true, "once + Check + InterruptedAgain": true, "steps": false, "coroutine": false,
}

// stormRows are the rows of storms that are in no table.
var stormRows = []Row{
	{Name: "resumable + Check", Style: func(till *Till) mrtr.Style[Order, Receipt] {
		return mrtr.Resumable(Linear(till, once(till, &mrtr.EffectOptions[Receipt]{Check: till.Find})))
	}},
	{
		Name: "once + Check + InterruptedAgain", Opts: mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain},
		Style: func(till *Till) mrtr.Style[Order, Receipt] {
			return guarded(till, once(till, &mrtr.EffectOptions[Receipt]{Check: till.Find}))
		},
	},
}

// runStorms serves calls as tasks at three processes, of which one is killed or drained every
// 0.4 seconds, and all lose their store for 0.2 seconds of each second. A task asks before its
// payment and behind it. Each request goes to any of them, each answer to two at once, and
// some clients hang up on them; every fifth task is cancelled meanwhile. No order may be paid
// twice, no key asks two things, and every task that is polled ends, for good.
func runStorms(t *testing.T, addresses func() string) {
	tasks := stormTasks
	if text := os.Getenv("MRTR_STORM"); text != "" {
		var err error
		tasks, err = strconv.Atoi(text)
		require.NoError(t, err)
		require.Positive(t, tasks)
	}
	for _, name := range slices.Sorted(maps.Keys(storms)) {
		address := addresses()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			s := &storm{fleet: fleet{
				job:    job{Address: address, Till: filepath.Join(t.TempDir(), "payments"), Key: newKey(), Row: name, Lease: lease, Tries: fleetTries, Slow: effectTime, Tasks: true, Unsteady: true},
				wanted: tasks,
			}, ends: map[string]int{}}
			s.serve = s.task
			require.NoError(t, s.play(ctx))
			paid := s.settled(t)
			t.Logf("%d tasks, each answered twice, %d kills and drains: %v; %d paid", s.calls, s.kills.Load(), s.ends, len(paid))
			if storms[name] {
				require.Zero(t, s.ends["not completed"], "%v", s.ends)
			}
		})
	}
}

// storm is a fleet whose calls are tasks.
type storm struct {
	fleet
	ends map[string]int // how many tasks ended in which way; guarded by mu
}

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

// task creates a task, answers it, and waits for its end.
func (s *storm) task(ctx context.Context, order string) (a Answer) {
	id := s.begin(ctx, order)
	cancels := rand.IntN(5) == 0
	var end shown
	fault.Check(parallel(2, 2, func(i int) {
		if i == 0 {
			end = s.follow(ctx, id)
		} else if cancels {
			fault.Check(pause(ctx, rand.N(2*effectTime)))
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
	completed := end.Status == "completed" && !end.Result.IsError
	s.mu.Lock()
	s.ends[end.Status]++
	if !completed && !cancels {
		s.ends["not completed"]++
	}
	s.mu.Unlock()
	if completed {
		a.Class = "ok"
		fault.Check(json.Unmarshal(end.Result.Structured, &a.Receipt))
	}
	return a
}

// begin calls the tool until the call is a task. One that the store does not take is served in
// its request, which asks before it pays: the client leaves it unanswered and calls again.
func (s *storm) begin(ctx context.Context, order string) (id string) {
	for {
		begun := s.request(ctx, wire.Request{Name: toolName, Arguments: Order{order}})
		if begun.TaskID != "" {
			return begun.TaskID
		}
		if len(begun.InputRequests) == 0 {
			fault.Failf("it is no task and asks nothing: %v", begun)
		}
		fault.Check(pause(ctx, 20*time.Millisecond))
	}
}

// follow polls a task until its end, and answers what it asks.
func (s *storm) follow(ctx context.Context, id string) shown {
	for asked := map[string]string{}; ; {
		now := s.request(ctx, wire.Request{Method: "tasks/get", Task: id})
		switch now.Status {
		case "input_required":
			s.answer(ctx, now, asked)
		case "working":
		default:
			return now
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			fault.Failf("it is %q without an end: %w", now.Status, err)
		}
	}
}

// answer sends each answer to two processes at once.
func (s *storm) answer(ctx context.Context, now shown, asked map[string]string) {
	responses := map[string]any{}
	for key, request := range now.InputRequests {
		if before, known := asked[key]; known && before != string(request) {
			fault.Failf("key %s asked %s, and asks %s", key, before, request)
		}
		asked[key] = string(request)
		responses[key] = map[string]any{"action": "accept", "content": map[string]any{questionOf(key): true}}
	}
	fault.Check(parallel(2, 2, func(int) {
		s.request(ctx, wire.Request{Method: "tasks/update", Task: now.TaskID, Responses: responses})
	}))
}

// questionOf is the handler's key of a question of a task, which adds the number of the round.
func questionOf(key string) string {
	name, _, _ := strings.Cut(key, "-")
	return name
}

// request sends a request to any process until one has answered it. Every third attempt is
// given up after a moment.
func (s *storm) request(ctx context.Context, r wire.Request) (now shown) {
	for {
		sent, giveUp := ctx, context.CancelFunc(func() {})
		if rand.IntN(3) == 0 {
			sent, giveUp = context.WithTimeout(ctx, rand.N(effectTime))
		}
		conn := s.at(rand.IntN(fleetSize)).conn
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
			if a, err := wire.ReadReply(res); err != nil || a.Error == nil || !retryable(a.Error) {
				fault.Failf("%s was refused: %w", r.Method, res.Error)
			}
		}
		fault.Check(pause(ctx, 20*time.Millisecond))
	}
}
