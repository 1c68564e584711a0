package tasks

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mrtr-go/sdk/store"
)

var (
	errErased  = errors.New("the records of this call were erased")
	errRunning = errors.New("a task of the call is still running")
)

// erase implements [keep.Eraser] for the record of a task. It stays, empty, for as long as the task
// would have been known.
func (m *Manager) erase(ctx context.Context, name string) (erased bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	key := store.Key{Name: recordName(name)}
	if key.Epoch, err = m.store.Epoch(ctx); err != nil {
		return false, err
	}
	for {
		value, at, err := m.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		r, err := m.open(key, value)
		switch {
		case err != nil:
			return false, err
		case r.Erased:
			return false, nil
		case r.Status == working && !m.abandoned(key, r, at):
			return false, errRunning
		}
		r.erase()
		if _, err = m.save(ctx, key, r, at); !errors.Is(err, store.ErrConflict) {
			m.ledger.leave(key.Name)
			m.waits.drop(key)
			return err == nil, err
		}
	}
}

// noLonger is the result of a task that completed, and whose own is no longer kept.
var noLonger = json.RawMessage(`{"content":[{"type":"text","text":"The tool completed, and its result is no longer kept. Do not call it again."}],"isError":true,"resultType":"complete"}`)

// erase leaves of a task that it was one, and how it ended.
func (r *record) erase() {
	switch {
	case r.Status == completed:
		r.Result = noLonger
	case r.Status == cancelled:
		r.Message = taskCancelled
	default:
		r.end(failed, errErased.Error())
		r.Error = marshal(wireError(errErased))
	}
	r.Principal, r.Call, r.Erased = "", "", true
}
