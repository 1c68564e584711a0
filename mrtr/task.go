package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// TaskPolicy says when a call of a tool becomes a task (SEP-2663). It holds for clients that
// declare the extension io.modelcontextprotocol/tasks, on a server with tasks.Install. The
// zero value: never. A call becomes a task in one of three ways; a policy names one.
type TaskPolicy struct {
	// AtOnce makes every call a task before its handler is entered, so that all of its
	// questions are asked in the task.
	AtOnce bool
	// After makes a call a task when one of its rounds has run for this long. Earlier
	// questions of the handler are asked by round trips, and later ones in the task.
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

// Detach makes the call a task from here on, if its handler has a [TaskPolicy] other than
// zero and its client takes tasks: the client has its answer at once, and the questions that
// follow are asked in the task. It returns at once, and does nothing for any other call and
// for one that is a task already; and the result of a handler that ends right behind it is
// sent as it is. A handler that is entered again calls it again.
func Detach(ctx context.Context) {
	if r := rendezvous.TaskRoundOf(ctx); r != nil {
		r.Detach()
	}
}

// Detach makes the call a task where it comes to the step that is added next, or to the end:
// see the function of the same name.
func (b *Steps[In, Out]) Detach() {
	if b.detach == nil {
		b.detach = map[int]bool{}
	}
	b.detach[len(b.steps)] = true
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

// offerTask tells a round whose call may become a task of the handler's policy. The first
// request of such a call gets its answer here: a state, and no questions. The handler is
// entered by the next one, in a round that has a state, like any later one. With a store it
// is claimed and notes its effects, so that another instance can take over the first round
// of a task too.
func (c *Call) offerTask(ctx context.Context) (*asked, error) {
	p := c.target.task
	if p == (rendezvous.TaskPolicy{}) {
		return nil, nil
	}
	r := rendezvous.TaskRoundOf(ctx)
	if r == nil {
		if p.Required {
			return nil, callerror.NeedsTasks()
		}
		return nil, nil
	}
	if c.ex.token != "" {
		r.Declare(p)
		return nil, nil
	}
	if err := c.refuseUnaskable(); err != nil {
		return nil, err
	}
	c.st.unenter()
	if c.remembered() {
		_, ttl := c.states()
		c.st.nextTurn(time.Now().Add(ttl))
	}
	token, err := c.seal()
	if err != nil {
		return nil, err
	}
	r.Declare(p)
	c.out = asked{requests: mcp.InputRequestMap{}, token: token}
	return &c.out, nil
}

// task is the round as package tasks knows it, nil unless the call is a task or may become
// one.
func (l *ledger) task() *rendezvous.TaskRound {
	if l.target.task == (rendezvous.TaskPolicy{}) {
		return nil
	}
	return rendezvous.TaskRoundOf(l.life)
}

// heedTask cancels the context of a round when its task is cancelled.
func (c *Call) heedTask(ctx context.Context) (_ context.Context, done func()) {
	r := c.task()
	if r == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := r.OnCancel(func() { cancel(taskCancelled()) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

func taskCancelled() *Error {
	return &Error{Reason: Cancelled, Detail: "the task was cancelled"}
}

// endsTask is the error of a round that ends its call because the task was cancelled.
func (l *ledger) endsTask() error {
	if r := l.task(); r != nil && r.Ending() {
		return taskCancelled()
	}
	return nil
}

// isTaskCancelled reports whether the task was cancelled while this round ran.
func (l *ledger) isTaskCancelled(ctx context.Context) bool {
	if ctx.Err() == nil {
		return false
	}
	r := l.task()
	return r != nil && r.Cancelled()
}

// endedByTask is the error of a round whose handler obeyed when its task was cancelled, nil
// for any other.
func (c *Call) endedByTask(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if !c.isTaskCancelled(ctx) || c.phase != entered || reasonOf(cause) != Cancelled {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, cause) {
		return taskCancelled()
	}
	return nil
}

// Sender identifies the sender of a request, as [Options.Principal] does. It is for package
// tasks, and for layers that count requests by their senders.
func (rt *Runtime) Sender(ctx context.Context, req mcp.Request) (string, error) {
	return rt.principal(ctx, req)
}

// Audience is that of [Options]. It is for layers that seal with a Codec.
func (rt *Runtime) Audience() string { return rt.opts.Audience }

// Codec makes a codec for another purpose, with the keys of the runtime's states. It is for
// package tasks. Without keys its tokens open in this process alone. A maxToken of 0 is that
// of states.
func (rt *Runtime) Codec(purpose string, ttl time.Duration, maxToken int) (*statecodec.Codec, error) {
	if maxToken <= 0 {
		maxToken = rt.opts.State.MaxToken
	}
	return rt.opts.codecFor(purpose, ttl, maxToken)
}

// StateTTL is how long a state of this runtime opens.
func (rt *Runtime) StateTTL() time.Duration {
	if ttl := rt.opts.State.TTL; ttl > 0 {
		return ttl
	}
	return statecodec.DefaultTTL
}

// Remembers is the store of the runtime, with the lease and the patience of
// [RememberOptions]; nil if it has none. It is for package tasks.
func (rt *Runtime) Remembers() (s store.Store, lease, patience time.Duration) {
	m := rt.memory
	if m == nil {
		return nil, 0, 0
	}
	return m.store, m.turns.Lease, m.patience
}
