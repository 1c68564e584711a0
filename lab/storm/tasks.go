package storm

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
)

// Tasks is a storm whose calls are tasks.
type Tasks struct{ *Storm }

// shown is a task as its client sees it.
type shown struct {
	TaskID        string
	Status        string
	Error         json.RawMessage
	InputRequests map[string]json.RawMessage
	Result        struct {
		IsError    bool
		Structured json.RawMessage `json:"structuredContent"`
	}
}

// Serve creates a task, answers it, and waits for its end: ok, failed, or cancelled by it.
func (s Tasks) Serve(ctx context.Context, r *rand.Rand, tool, order string) (a fleet.Answer) {
	id := s.begin(ctx, tool, order)
	cancels := r.IntN(5) == 0
	var end shown
	fault.Check(Parallel(2, 2, func(i int) {
		if i == 0 {
			end = s.follow(ctx, id)
		} else if cancels {
			fault.Check(fleet.Pause(ctx, rand.N(2*fleet.EffectTime)))
			s.request(ctx, wire.Request{Method: "tasks/cancel", Task: id})
		}
	}))
	again := s.request(ctx, wire.Request{Method: "tasks/get", Task: id})
	if again.Status != end.Status || string(again.Result.Structured) != string(end.Result.Structured) {
		fault.Failf("it was %v, and is %v", end, again)
	}
	if end.Status == "failed" && s.Refuses && bytes.Contains(end.Error, []byte("nobody knows what the call has done")) {
		return fleet.Answer{Class: "unknown"}
	}
	if end.Status == "failed" || end.Status == "cancelled" && !cancels {
		fault.Failf("its end is %v %s", end.Status, end.Error)
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
func (s Tasks) begin(ctx context.Context, tool, order string) (id string) {
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
func (s Tasks) follow(ctx context.Context, id string) shown {
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
			fault.Check(Parallel(2, 2, func(int) {
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
func (s Tasks) request(ctx context.Context, r wire.Request) (now shown) {
	dice := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for {
		sent, giveUp := ctx, context.CancelFunc(func() {})
		if dice.IntN(3) == 0 {
			sent, giveUp = context.WithTimeout(ctx, rand.N(fleet.EffectTime))
		}
		conn := s.At(dice, fleet.ToolName).Conn
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
			if a, err := wire.ReadReply(res); err != nil || !fleet.IsRetryable(a.Error) && !s.Refuses {
				fault.Failf("%s was refused: %w", r.Method, res.Error)
			}
		}
		fault.Check(fleet.Pause(ctx, 20*time.Millisecond))
	}
}
