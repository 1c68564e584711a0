package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/store"
)

// serve answers tasks/get, tasks/update and tasks/cancel.
func (m *Manager) serve(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	if version, _ := metaOf(req)[mcp.MetaKeyProtocolVersion].(string); version < era.FirstModern {
		return nil, unknownMethod(method)
	}
	if !declares(req) {
		return nil, needsExtension()
	}
	p, ok := req.GetParams().(*params)
	if !ok || p == nil {
		return nil, unknownTask()
	}
	principal, err := m.sender(ctx, req)
	if err != nil {
		return nil, unknownTask()
	}
	id := p.taskID()
	key, err := m.find(id, principal)
	if err != nil {
		return nil, unknownTask()
	}
	answers, ok := p.responses()
	if method == tasksUpdate && !ok {
		return nil, badResponses()
	}
	w := m.wayOf(ctx, next, req)
	var shown *taskResult
	if err := m.found(ctx, key, w, func(key store.Key) error {
		switch method {
		case tasksUpdate:
			return m.update(ctx, key, answers, w)
		case tasksCancel:
			return m.cancel(ctx, key, w)
		}
		r, _, err := m.get(ctx, key, w)
		if err == nil {
			shown = r.show(id, m.o.PollInterval)
		}
		return err
	}); err != nil {
		return nil, unreachable(ctx, err)
	}
	if shown != nil {
		return shown, nil
	}
	return acknowledge(), nil
}

// doubts ends a task of which nobody knows how far it had come: its rounds cannot be asked for again,
// and an earlier incarnation of the store may have known of another one.
func (w *way) doubts(r *record) bool {
	if !w.moved || r.Kept || r.Status.terminal() {
		return false
	}
	r.cutOff()
	return true
}

func (r *record) cutOff() {
	r.Error = marshal(wireError(errCutOff))
	r.end(failed, errCutOff.Error())
}

// get reads a task. Whoever asks for one whose holder or user is silent goes on with it.
func (m *Manager) get(ctx context.Context, key store.Key, w *way) (*record, store.Revision, error) {
	r, at, err := m.load(ctx, key)
	if err == nil {
		err = w.admits(r)
	}
	if err == nil && r.answered() {
		if err = m.update(ctx, key, nil, w); err == nil {
			r, at, err = m.load(ctx, key)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	if r.Status.terminal() {
		m.ledger.leave(key.Name)
	}
	m.rescue(ctx, key, r, at, w)
	return r, at, nil
}

// rescue takes over a task that somebody should work on and nobody does.
func (m *Manager) rescue(ctx context.Context, key store.Key, r *record, at store.Revision, w *way) {
	if !m.abandoned(key, r, at) || m.takeOver(ctx, key, r, w) != nil {
		m.lookAgain(key, r, at, w)
	}
}

// takeOver goes on with a task that its holder has left.
func (m *Manager) takeOver(ctx context.Context, key store.Key, r *record, w *way) error {
	silent := r.Holder
	mine := false
	r, at, err := m.change(ctx, key, func(r *record) bool {
		mine = r.Status == working && r.Holder == silent && !m.isForOthers(key, r)
		if mine && !r.Kept && silent != "" { // a holder that lets go has not begun its round
			mine = false
			r.cutOff()
			return true
		}
		if mine && w.doubts(r) {
			mine = false
			return true
		}
		if mine {
			r.Holder = newHolder()
		}
		return mine
	})
	if err == nil && mine {
		m.start(key, r, at, w, nil)
	}
	return err
}

var errCutOff = errors.New("the server that ran this call was cut off, and nobody knows what the call has done")

// abandoned reports whether the holder of a task let go of it, or has been seen not to write for a
// lease. One in this process that has no run any more could not write its last record.
func (m *Manager) abandoned(key store.Key, r *record, at store.Revision) bool {
	switch {
	case r.Status != working || m.running(key) != nil:
		return false
	case r.Holder == "":
		return true
	}
	return time.Since(m.seen.Note(key, at)) >= m.lease
}

// update takes answers. With the last of them, or the silence in its place, the task goes on.
func (m *Manager) update(ctx context.Context, key store.Key, answers map[string]json.RawMessage, w *way) error {
	goesOn := false
	var refused error
	r, at, err := m.change(ctx, key, func(r *record) bool {
		if refused = m.mayChange(key, r, w); refused != nil {
			return false
		}
		took := r.Status == inputRequired && r.answer(answers)
		if took && !m.ledger.grow(key.Name, r.weight()) {
			refused = store.ErrTooLarge
			return false
		}
		if goesOn = r.answered(); goesOn {
			if w.doubts(r) {
				goesOn = false
				return true
			}
			r.proceed(newHolder())
		}
		return took || goesOn
	})
	if err = cmp.Or(err, refused); err != nil {
		return err
	}
	if goesOn {
		m.start(key, r, at, w, nil)
	} else {
		m.rescue(ctx, key, r, at, w)
	}
	return nil
}

// cancel ends a task: at once where it waits, and otherwise when its handler obeys.
func (m *Manager) cancel(ctx context.Context, key store.Key, w *way) error {
	waited := false
	var refused error
	r, at, err := m.change(ctx, key, func(r *record) bool {
		waited = false
		if refused = m.mayChange(key, r, w); refused != nil {
			return false
		}
		if r.Status.terminal() || r.Cancel {
			return false
		}
		if w.doubts(r) {
			return true
		}
		r.Cancel = true
		if waited = r.Status == inputRequired; waited {
			r.Open, r.Answers, r.Status, r.Holder = nil, nil, working, newHolder()
		}
		return true
	})
	if err = cmp.Or(err, refused); err != nil {
		return err
	}
	if waited {
		m.start(key, r, at, w, nil)
		return nil
	}
	if run := m.running(key); run != nil {
		run.stop()
		return nil
	}
	m.rescue(ctx, key, r, at, w)
	return nil
}
