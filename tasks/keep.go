package tasks

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// An id is the sealed name of the task's record, bound to the principal. One that was made up
// or altered, has expired, or belongs to another caller is refused without a look at the
// store.

const idPurpose = "task_id"

func idBinding(principal string) statecodec.Binding {
	return statecodec.Binding{Method: "tasks", Principal: principal}
}

// name makes the id of a task, and the key of its record: the engine names those of its calls.
func (m *Manager) name(ctx context.Context, principal, own string) (id string, key store.Key, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	epoch, err := m.present(ctx)
	if err != nil {
		return "", key, err
	}
	key = store.Key{Epoch: epoch, Name: recordName(cmp.Or(own, rand.Text()))}
	id, err = m.ids.Seal(idBinding(principal), []byte(key.Epoch+" "+key.Name))
	return id, key, err
}

func recordName(own string) string { return "task." + own }

// find is the key of the record that an id names.
func (m *Manager) find(id, principal string) (key store.Key, err error) {
	name, err := m.ids.Open(idBinding(principal), id)
	if err != nil {
		return key, err
	}
	key.Epoch, key.Name, _ = strings.Cut(string(name), " ")
	return key, nil
}

// present is the present epoch of the store.
func (m *Manager) present(ctx context.Context) (string, error) {
	epoch, err := m.store.Epoch(ctx)
	if err == nil {
		m.epoch.Store(&epoch)
	}
	return epoch, err
}

// in is a key in the present incarnation of the store, as far as this instance knows. A record that
// another one of the same contents has is the same.
func (m *Manager) in(key store.Key) store.Key {
	if now := m.epoch.Load(); now != nil && store.Kin(*now, key.Epoch) {
		key.Epoch = *now
	}
	return key
}

// found does something with the record that an id names, in whichever incarnation the store is.
func (m *Manager) found(ctx context.Context, named store.Key, w *way, do func(key store.Key) error) error {
	for {
		key := m.in(named)
		w.moved = key != named
		err := do(key)
		if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrForgotten) {
			return err
		}
		if _, failed := m.present(ctx); failed != nil || m.in(named) == key {
			return err
		}
	}
}

// sender is the principal of a request.
func (m *Manager) sender(ctx context.Context, req mcp.Request) (string, error) {
	if m.o.Runtime != nil {
		return m.o.Runtime.Sender(ctx, req)
	}
	if x := req.GetExtra(); x != nil && x.TokenInfo != nil {
		if x.TokenInfo.UserID == "" { // all such users would be one
			return "", errors.New("tasks: the request's token names no user")
		}
		return x.TokenInfo.UserID, nil
	}
	return "", nil
}

const (
	firstPause = 2 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// load reads the record of a task. An id that opens belongs to a task that was created, so
// that a store which does not have it yet lags behind.
func (m *Manager) load(ctx context.Context, key store.Key) (*record, store.Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		value, at, err := m.store.Get(ctx, key)
		if err == nil {
			r, err := m.open(key, value)
			if err == nil {
				m.waits.saw(key, r, at)
			}
			return r, at, err
		}
		if !errors.Is(err, store.ErrNotFound) || !m.shared || !sleep(ctx, pause) {
			return nil, 0, err
		}
	}
}

// sleep is false where the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

var errRecord = errors.New("tasks: the record does not open here, or was written by another release")

func (m *Manager) open(key store.Key, value []byte) (*record, error) {
	if m.records != nil {
		var err error
		if value, err = m.records.Open(statecodec.Binding{Target: key.Name}, string(value)); err != nil {
			return nil, errRecord
		}
	}
	r, ok := decodeRecord(value)
	if !ok {
		return nil, errRecord
	}
	return r, nil
}

// save writes a record at a revision, or creates it at 0.
func (m *Manager) save(ctx context.Context, key store.Key, r *record, at store.Revision) (store.Revision, error) {
	value, err := r.encode()
	if err != nil {
		return 0, err
	}
	if m.records != nil {
		sealed, err := m.records.Seal(statecodec.Binding{Target: key.Name}, value)
		if errors.Is(err, statecodec.ErrTooLarge) {
			err = store.ErrTooLarge
		}
		if err != nil {
			return 0, err
		}
		value = []byte(sealed)
	}
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	ttl := max(time.Until(r.Expires), store.MinTTL)
	if r.isOfAnotherTime(m.skew) {
		ttl = m.o.TTL
	}
	if at == 0 {
		return m.store.Create(ctx, key, value, ttl)
	}
	return m.store.Update(ctx, key, at, value, ttl)
}

// change applies f to a record until the store takes it. f reports whether there is anything
// to write, and may be called several times, each time with a record as it was read.
func (m *Manager) change(ctx context.Context, key store.Key, f func(r *record) bool) (*record, store.Revision, error) {
	end := time.Now().Add(m.patience)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r, at, err := m.load(ctx, key)
		if err != nil {
			return r, at, err
		}
		before := r.Holder
		if !f(r) {
			return r, at, nil
		}
		r.Updated = time.Now()
		now, err := m.save(ctx, key, r, at)
		if r.Holder != "" && r.Holder != before && err != nil && !store.IsVerdict(err) {
			r, now, err = m.took(ctx, key, r, err)
		}
		if err == nil {
			m.waits.saw(key, r, now)
		}
		if !errors.Is(err, store.ErrConflict) {
			return r, now, err
		}
		if time.Now().After(end) || !sleep(ctx, pause) {
			return nil, 0, err
		}
	}
}

// took looks whether a new holder has a task though nobody confirmed it: the run of the task would have
// to be taken for dead. Its record may have been cancelled meanwhile.
func (m *Manager) took(ctx context.Context, key store.Key, wrote *record, failed error) (*record, store.Revision, error) {
	r, at, err := m.load(context.WithoutCancel(ctx), key)
	if err != nil || r.Holder != wrote.Holder {
		return wrote, 0, failed
	}
	return r, at, nil
}

// unreachable is the answer to a request whose task could not be read or changed.
func unreachable(ctx context.Context, err error) error {
	var refused *notAdmitted
	switch {
	case errors.As(err, &refused):
		return refused.error
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrForgotten):
		return unknownTask()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errRecord):
		return callerror.Fault(err, "execution")
	case errors.Is(err, store.ErrTooLarge):
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "These answers are larger than the server can keep of a task, and were not taken. Give shorter ones, or cancel the task."}
	}
	return storeFailed()
}
