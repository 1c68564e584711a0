package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// call serves a tools/call whose client takes tasks. The answer is a task, or that
// of any other client.
func (m *Manager) call(ctx context.Context, next mcp.MethodHandler, req *mcp.CallToolRequest) (mcp.Result, error) {
	p, w := *req.Params, m.wayOf(ctx, next, req)
	own, named := m.o.Policy[p.Name]
	policy, kept := rendezvous.TaskPolicy{AtOnce: own.AtOnce, After: own.After}, false
	var intent rendezvous.Intent
	if !named && p.RequestState == "" {
		// The engine answers with a state before it enters the handler, if that has a policy.
		first := &round{TaskRound: rendezvous.NewTaskRound()}
		res, err := next(rendezvous.WithTaskRound(ctx, first.TaskRound), toolsCall, req)
		begun, ok := res.(*mcp.CallToolResult)
		if err != nil || !ok || !first.knowsItsPolicy() {
			return res, err
		}
		p.RequestState, policy, kept = begun.RequestState, first.Policy(), first.Kept()
		if intent = first.Intent(); intent.Keyed() {
			if res, err := m.joinKnown(ctx, req, intent); res != nil || err != nil {
				return res, err
			}
		}
	}
	engine := !named
	if policy.AtOnce {
		if res, err := m.create(ctx, w, &p, intent, engine, kept, nil); res != nil || err != nil {
			return res, err
		}
		policy = rendezvous.TaskPolicy{} // no place for a task
	}
	return m.wait(ctx, w, &p, policy, intent, engine)
}

// wait runs a round in its request, until the policy makes it a task.
func (m *Manager) wait(ctx context.Context, w *way, p *mcp.CallToolParamsRaw, policy rendezvous.TaskPolicy, intent rendezvous.Intent, engine bool) (mcp.Result, error) {
	r := w.begin(p, false, nil)
	declared, detached := r.Declared(), r.Detached()
	var after <-chan time.Time
	if policy.After > 0 {
		timer := time.NewTimer(policy.After)
		defer timer.Stop()
		after, declared = timer.C, nil
	}
	if p.RequestState == "" || policy.Detached { // it is known already
		declared = nil
	}
	for {
		select {
		case out := <-r.done:
			return out.res, out.err
		case <-ctx.Done():
			r.cancel(context.Cause(ctx))
			out := <-r.done
			return out.res, out.err
		case <-declared:
			declared = nil
			if late := r.Policy().After; late > 0 {
				timer := time.NewTimer(late)
				defer timer.Stop()
				after = timer.C
			} else if r.Policy().AtOnce { // its client takes tasks only now
				r.Detach()
			}
			continue
		case <-after:
			after = nil
		case <-detached:
			detached = nil
		}
		select {
		case out := <-r.done: // it was as quick
			return out.res, out.err
		default:
		}
		if intent.Name == "" {
			intent = r.Intent()
		}
		if res, err := m.create(ctx, w, p, intent, engine, r.Kept(), r); res != nil || err != nil {
			return res, err
		}
	}
}

// create makes a task of a call, whose round may run already. It is nil where there is no
// place for a task, or the store does not take it: the call goes on in its request then.
func (m *Manager) create(ctx context.Context, w *way, p *mcp.CallToolParamsRaw, intent rendezvous.Intent, engine, kept bool, running *round) (mcp.Result, error) {
	principal, err := m.sender(ctx, &mcp.CallToolRequest{Session: w.session, Params: p, Extra: w.extra})
	if err != nil {
		return nil, nil
	}
	id, key, err := m.name(ctx, principal, intent.Name)
	if err != nil {
		return nil, nil
	}
	now := time.Now()
	rec := &record{
		Principal: principal, Name: p.Name, Arguments: p.Arguments, Engine: engine, Kept: kept, State: p.RequestState,
		Status: working, Created: now, Updated: now, Expires: now.Add(m.o.TTL), Holder: newHolder(),
	}
	if rec.Meta, err = json.Marshal(p.Meta); err != nil {
		return nil, nil
	}
	if p.InputResponses != nil {
		answers, err := json.Marshal(p.InputResponses)
		if err != nil || json.Unmarshal(answers, &rec.Answers) != nil {
			return nil, nil
		}
	}
	if !m.ledger.admit(key.Name, principal, rec.weight(), rec.Expires) {
		return nil, nil
	}
	if rec.Call = intent.Call; intent.Keyed() {
		rec.ID, rec.Print = id, intent.Print
	}
	at, err := m.save(ctx, key, rec, 0)
	if errors.Is(err, store.ErrExists) && intent.Keyed() { // it was counted in where it was made
		return m.join(ctx, key, intent, running)
	}
	if err == nil {
		err = m.readable(ctx, key)
	}
	if err != nil {
		m.ledger.leave(key.Name)
		return nil, nil
	}
	shown := rec.show(id, m.o.PollInterval)
	shown.ResultType = "task"
	if !m.start(key, rec, at, w, running) {
		m.ledger.leave(key.Name)
		return nil, nil
	}
	return shown, nil
}

// joinKnown joins the task that the call's key has, if it has one yet.
func (m *Manager) joinKnown(ctx context.Context, req *mcp.CallToolRequest, intent rendezvous.Intent) (mcp.Result, error) {
	principal, err := m.sender(ctx, req)
	if err != nil {
		return nil, nil
	}
	_, key, err := m.name(ctx, principal, intent.Name)
	if err != nil {
		return nil, nil
	}
	looking, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	if _, _, err := m.store.Get(looking, key); err != nil {
		return nil, nil
	}
	return m.join(ctx, key, intent, nil)
}

// join answers a call whose key has a task already.
func (m *Manager) join(ctx context.Context, key store.Key, intent rendezvous.Intent, running *round) (mcp.Result, error) {
	rec, _, err := m.load(ctx, key)
	if err != nil {
		return nil, nil
	}
	if running != nil { // what it does is done once
		running.cancel(context.Canceled)
	}
	if rec.Print != intent.Print {
		return nil, callerror.OtherArguments()
	}
	shown := rec.show(rec.ID, m.o.PollInterval)
	shown.ResultType = "task"
	return shown, nil
}

// readable waits until the record of a new task can be read: its id resolves at once then, also
// where a store lags.
func (m *Manager) readable(ctx context.Context, key store.Key) error {
	if !m.shared {
		return nil
	}
	_, _, err := m.load(ctx, key)
	return err
}

// way is how a handler is reached: through the rest of the server's middleware, with the
// session and the context of the request that created the task or was the first to ask for
// it here.
type way struct {
	log     *slog.Logger
	next    mcp.MethodHandler
	session *mcp.ServerSession
	extra   *mcp.RequestExtra
	ctx     context.Context
	// admit may refuse the request because of the tool; nil refuses none.
	admit func(tool string) error
	// moved: the task began in an earlier incarnation of the store, which may have known more of it.
	moved bool
}

func (m *Manager) wayOf(ctx context.Context, next mcp.MethodHandler, req mcp.Request) *way {
	session, _ := req.GetSession().(*mcp.ServerSession)
	w := &way{log: m.o.Logger, next: next, session: session, extra: req.GetExtra(), ctx: context.WithoutCancel(ctx)}
	if m.o.Admit != nil {
		w.admit = func(tool string) error { return m.o.Admit(w.ctx, req, tool) }
	}
	return w
}

// admits returns a [notAdmitted] if the request may not go on with a task, although it is the
// caller's own.
func (w *way) admits(r *record) error {
	if w.admit == nil {
		return nil
	}
	if err := w.admit(r.Name); err != nil {
		return &notAdmitted{err}
	}
	return nil
}

// mayChange is admits for a request that changes the task.
func (m *Manager) mayChange(key store.Key, r *record, w *way) error {
	if m.isForOthers(key, r) {
		return &notAdmitted{storeFailed()}
	}
	return w.admits(r)
}

// isForOthers reports whether a task is left to those whose clocks do not contradict it. Where none of
// them has changed it for a lease, there may be none.
func (m *Manager) isForOthers(key store.Key, r *record) bool {
	if !r.isOfAnotherTime(m.skew) {
		return false
	}
	key.Name = "clock " + key.Name // beside the sightings of its holder
	return time.Since(m.seen.Note(key, store.Revision(r.Updated.UnixNano()))) < m.lease
}

// notAdmitted is the error of Options.Admit.
type notAdmitted struct{ error }

func (e *notAdmitted) Unwrap() error { return e.error }

// round is one request to the handler, under way.
type round struct {
	*rendezvous.TaskRound
	done   chan outcome
	cancel context.CancelCauseFunc // as a client that hangs up
}

type outcome struct {
	res mcp.Result
	err error
}

// isError reports whether the handler failed. go-sdk makes a result of most errors.
func (o outcome) isError() bool {
	res, ok := o.res.(*mcp.CallToolResult)
	return o.err != nil || ok && res.IsError
}

var errNoEnd = errors.New("the handler ended without a result")

// begin sends a request to the handler. The round of a task reports to it, and one of a call
// that is none yet to nobody. A request that ends its call does not enter the handler.
func (w *way) begin(p *mcp.CallToolParamsRaw, ends bool, report func(message string)) *round {
	r := &round{TaskRound: rendezvous.NewTaskRound(), done: make(chan outcome, 1)}
	if report != nil {
		r.ReportTo(report)
	}
	ctx, cancel := context.WithCancelCause(rendezvous.WithTaskRound(w.ctx, r.TaskRound))
	if r.cancel = cancel; ends {
		r.stop()
	}
	req := &mcp.CallToolRequest{Session: w.session, Params: p, Extra: w.extra}
	go func() {
		out := outcome{err: errNoEnd}
		defer func() {
			if panicked := recover(); panicked != nil {
				w.log.Error("a handler panicked in a task", "tool", p.Name, "panic", panicked, "stack", string(stack.Trace(0)))
			}
			cancel(context.Canceled)
			r.done <- out
		}()
		out.res, out.err = w.next(ctx, toolsCall, req)
	}()
	return r
}

// knowsItsPolicy reports whether the handler is one that declared a policy by itself.
func (r *round) knowsItsPolicy() bool {
	select {
	case <-r.Declared():
		return true
	default:
		return false
	}
}

// stop tells the handler that the task was cancelled.
func (r *round) stop() { r.cancel(cancelledTask{}) }

// cancelledTask is a cause that ends the call, wherever it is.
type cancelledTask struct{}

func (cancelledTask) Error() string { return taskCancelled }

// EndsCall is what package mrtr looks for in the cause.
func (cancelledTask) EndsCall() error {
	return &mrtr.Error{Reason: mrtr.Cancelled, Detail: "the task was cancelled"}
}
