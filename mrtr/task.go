package mrtr

import (
	"context"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// Detach makes the call a task from here on, where its [TaskPolicy] says Detached.
func Detach(ctx context.Context) {
	if r := rendezvous.TaskRoundOf(ctx); r != nil {
		r.Detach()
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
		r.declare(task, true)
		return false, nil
	}
	if err := r.refuseUnaskable(); err != nil {
		return false, err
	}
	return true, nil
}

// start answers the first request of a call that may become a task.
func (r *round) start(err error) keep.Outcome {
	if err != nil {
		return keep.Outcome{Err: err}
	}
	r.st.round = 0
	r.nextTurn()
	token, err := r.seal()
	if err != nil {
		return keep.Outcome{Err: err}
	}
	r.declare(rendezvous.TaskRoundOf(r.life), false)
	r.sent = sent{token: token}
	return keep.Outcome{Token: token}
}

// declare tells what a task of the call would be. A call that becomes a task in a later round has
// another name for it, since its first request made none.
func (r *round) declare(task *rendezvous.TaskRound, late bool) {
	i := rendezvous.Intent{Name: taskName(r.target.audience, r.principal, r.st.id, late), Print: r.taskPrint, Call: r.st.id}
	task.Declare(r.target.task, r.st.isKept(), i)
}
