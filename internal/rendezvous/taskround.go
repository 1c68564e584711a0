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
// a task, or whose call may become one. The engine tells it the handler's policy and how the
// call ended, and hears from it that the task was cancelled.
type TaskRound struct {
	ending bool

	declared chan struct{} // closed when policy is set
	policy   TaskPolicy
	declare  sync.Once
	detached chan struct{}
	detach   sync.Once

	cancelled context.Context
	cancel    context.CancelFunc

	mu      sync.Mutex
	ended   bool
	until   map[string]time.Time
	report  func(message string)
	message string // the last one, until there is a task to show it
}

// NewTaskRound makes a round. One that is ending ends its call as cancelled, without entering the
// handler for anything but that.
func NewTaskRound(ending bool) *TaskRound {
	r := &TaskRound{ending: ending, declared: make(chan struct{}), detached: make(chan struct{})}
	r.cancelled, r.cancel = context.WithCancel(context.Background())
	return r
}

// Declare tells the policy of the round's handler.
func (r *TaskRound) Declare(p TaskPolicy) {
	r.declare.Do(func() {
		r.policy = p
		close(r.declared)
	})
}

// Declared is closed when the handler is known to have a policy.
func (r *TaskRound) Declared() <-chan struct{} { return r.declared }

// Policy is the policy that was declared.
func (r *TaskRound) Policy() TaskPolicy {
	<-r.declared
	return r.policy
}

// Detach makes the call a task from here on.
func (r *TaskRound) Detach() { r.detach.Do(func() { close(r.detached) }) }

// Detached is closed when the call is to become a task.
func (r *TaskRound) Detached() <-chan struct{} { return r.detached }

// Ending reports whether the round ends its call as cancelled.
func (r *TaskRound) Ending() bool { return r.ending }

// Cancel tells the handler that its task was cancelled.
func (r *TaskRound) Cancel() { r.cancel() }

// Cancelled reports whether the task was cancelled while this round ran.
func (r *TaskRound) Cancelled() bool { return r.cancelled.Err() != nil }

// OnCancel calls f on a goroutine of its own when the task is cancelled, until stop.
func (r *TaskRound) OnCancel(f func()) (stop func() bool) { return context.AfterFunc(r.cancelled, f) }

// End notes that the call has ended with an error, and its effects are undone where they
// can be: it needs no further round to end it.
func (r *TaskRound) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// Ended reports whether the call has ended with an error.
func (r *TaskRound) Ended() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

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
