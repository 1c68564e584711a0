package tasks

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr"
)

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
				w.log.Error("a handler panicked in a task", "tool", p.Name, "panic", panicked, "stack", string(debug.Stack()))
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
