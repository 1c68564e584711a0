package mrtr

import (
	"context"
	"time"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
)

// TaskPolicy says when a call of a tool becomes a task (SEP-2663). It holds for clients that
// declare the extension io.modelcontextprotocol/tasks, on a server with tasks.Install. The zero
// value: never. A call becomes a task in one of three ways; a policy names one.
type TaskPolicy struct {
	// AtOnce makes every call a task before its handler is entered, so that all of its
	// questions are asked in the task.
	AtOnce bool
	// After makes a call a task when one of its rounds has run for this long. Earlier questions
	// of the handler are asked by round trips, and later ones in the task.
	After time.Duration
	// Detached makes a call a task where its handler calls [Detach], and never before.
	Detached bool
	// Required refuses every client that does not take tasks, with the error -32021. Without
	// tasks.Install these are all.
	Required bool
}

// check refuses a policy that contradicts itself.
func (p TaskPolicy) check() error {
	ways := 0
	for _, named := range []bool{p.AtOnce, p.After > 0, p.Detached} {
		if named {
			ways++
		}
	}
	switch {
	case p.After < 0:
		return misuse("HandlerOptions.Task.After is negative: %v", p.After)
	case ways > 1:
		return misuse("HandlerOptions.Task names more than one of AtOnce, After and Detached")
	case p.Required && ways == 0:
		return misuse("HandlerOptions.Task is Required, and says not when a call becomes a task: set AtOnce, After or Detached")
	}
	return nil
}

// Detach makes the call a task from here on, if its handler has a [TaskPolicy] other than zero
// and its client takes tasks: the client has its answer at once, and the questions that follow
// are asked in the task. For any other call, and for one that is a task already, it does
// nothing. A handler that is entered again calls it again.
func Detach(ctx context.Context) {
	if r := rendezvous.TaskRoundOf(ctx); r != nil {
		r.Detach()
	}
}

// forToolsAlone panics where a prompt or resource has an option for tools.
func (t *target) forToolsAlone() {
	if t.name != "" {
		panic(misuse("HandlerOptions.Name is set, and only a tool has one: a prompt or resource is not hidden"))
	}
	if t.task != (rendezvous.TaskPolicy{}) {
		panic(misuse("HandlerOptions.Task is set, and only a call of a tool can become a task"))
	}
}

// offerTask tells a round whose call may become a task of the handler's policy. It reports
// whether this is the first request of such a call. That gets its answer at once, a state
// without questions, and the next one enters the handler: so the state is written down before
// anything happens, and another instance can take over the first round too.
func (r *round) offerTask(ctx context.Context) (start bool, _ error) {
	p := r.target.task
	if p == (rendezvous.TaskPolicy{}) {
		return false, nil
	}
	task := rendezvous.TaskRoundOf(ctx)
	if task == nil {
		if p.Required {
			return false, callerror.NeedsTasks()
		}
		return false, nil
	}
	r.life = ctx
	if !r.begins {
		task.Declare(p)
		return false, nil
	}
	if err := r.refuseUnaskable(); err != nil {
		return false, err
	}
	return true, nil
}

// start answers the first request of a call that may become a task.
func (r *round) start(err error) Outcome {
	if err != nil {
		return Outcome{Err: err}
	}
	r.st.round = 0
	r.nextTurn()
	token, err := r.seal()
	if err != nil {
		return Outcome{Err: err}
	}
	rendezvous.TaskRoundOf(r.life).Declare(r.target.task)
	return Outcome{Token: token, asks: []pending{}}
}

// isTask reports whether a context is that of a task's round.
func isTask(ctx context.Context) bool { return rendezvous.TaskRoundOf(ctx).IsTask() }
