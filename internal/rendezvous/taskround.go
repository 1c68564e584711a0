// Package rendezvous is where packages meet that do not import each other: in the context of a
// call, or by the server that both hold.
package rendezvous

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// TaskPolicy says when a call of one handler becomes a task. The zero value: never.
type TaskPolicy struct {
	AtOnce   bool
	After    time.Duration
	Detached bool
	Required bool
}

// A TaskRound is one request to a handler, in whose context it stands: a round that runs for
// a task, or whose call may become one. The engine tells it the handler's policy.
type TaskRound struct {
	declared chan struct{} // closed when policy is set
	policy   TaskPolicy
	kept     bool
	intent   Intent
	declare  sync.Once
	detached chan struct{}
	detach   sync.Once

	mu      sync.Mutex
	until   map[string]time.Time
	report  func(message string)
	message string // the last one, until there is a task to show it
}

// Intent names the record of a call's task. Where the client has a key all calls with it have one
// Name, and are one task: their arguments are equal if their Prints are. Call is the call's id.
type Intent struct{ Name, Print, Call string }

// Keyed reports whether a client has a key for the task.
func (i Intent) Keyed() bool { return i.Print != "" }

// NewTaskRound makes a round.
func NewTaskRound() *TaskRound {
	return &TaskRound{declared: make(chan struct{}), detached: make(chan struct{})}
}

// Declare tells the policy of the round's handler, and the intent of its call. Kept rounds
// that were cut off another instance can ask for.
func (r *TaskRound) Declare(p TaskPolicy, kept bool, i Intent) {
	r.declare.Do(func() {
		r.policy, r.kept, r.intent = p, kept, i
		close(r.declared)
	})
}

// Intent is the one that was declared.
func (r *TaskRound) Intent() Intent {
	select {
	case <-r.declared:
		return r.intent
	default:
		return Intent{}
	}
}

// Declared is closed when the handler is known to have a policy.
func (r *TaskRound) Declared() <-chan struct{} { return r.declared }

// Policy is the policy that was declared.
func (r *TaskRound) Policy() TaskPolicy {
	<-r.declared
	return r.policy
}

// Kept reports whether the rounds of the call are known to be kept.
func (r *TaskRound) Kept() bool {
	select {
	case <-r.declared:
		return r.kept
	default:
		return false
	}
}

// Detach makes the call a task from here on.
func (r *TaskRound) Detach() { r.detach.Do(func() { close(r.detached) }) }

// Detached is closed when the call is to become a task.
func (r *TaskRound) Detached() <-chan struct{} { return r.detached }

// AnswerBy tells the deadlines of those questions of the round that have one.
func (r *TaskRound) AnswerBy(until map[string]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = until
}

// Deadline is when the silence of its user answers a question, zero for never.
func (r *TaskRound) Deadline(question string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until[question]
}

// IsTask reports whether the round runs for a task, rather than in the request of a call that
// may become one. A nil round does not.
func (r *TaskRound) IsTask() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.report != nil
}

// Report hands over a message about the progress of the round. It is false where there is
// no task yet that could show it.
func (r *TaskRound) Report(message string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.message = message
	if r.report == nil {
		return false
	}
	r.report(message)
	return true
}

// ReportTo hands the messages to a task from here on, with the last one before it.
func (r *TaskRound) ReportTo(report func(message string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report = report
	if r.message != "" {
		report(r.message)
	}
}

type taskRoundKey struct{}

// WithTaskRound returns a context for a round.
func WithTaskRound(ctx context.Context, r *TaskRound) context.Context {
	return context.WithValue(ctx, taskRoundKey{}, r)
}

// TaskRoundOf is the round of a context, nil where it is none of a task's.
func TaskRoundOf(ctx context.Context) *TaskRound {
	r, _ := ctx.Value(taskRoundKey{}).(*TaskRound)
	return r
}

// Milliseconds is the unit of every duration in a log, with its thousandths.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// RecorderKey is the context key of the boundary's call.
type RecorderKey struct{}

// A Recorder is the value of [RecorderKey]. Two layers would log the same call: the boundary,
// which knows the call's end, and the observer inside it, which knows its round.
type Recorder interface {
	// AddToRecord gives attributes to the record that will tell of the call's end. It reports
	// false where no such record will come, or it is written already.
	AddToRecord(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool
}

// AddToRecord adds attributes to the record of the call of ctx, if one at this level will come.
func AddToRecord(ctx context.Context, level slog.Level, attrs func() []slog.Attr) bool {
	r, ok := ctx.Value(RecorderKey{}).(Recorder)
	return ok && r.AddToRecord(ctx, level, attrs)
}
