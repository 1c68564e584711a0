package claim

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// A call is a chain of turns. A request that asks for one of them may depend on a later one: whether
// the call goes on, and whether somebody has to look after it.

// Standing is how far a turn has come.
type Standing int

const (
	Unclaimed Standing = iota
	Running
	Lost // it was cut off, and nobody goes on with it
	Done
)

// Standing is how far a turn has come, and its result. Where the states that ask for it are open, a
// turn that was cut off may be gone on with.
func (t *Table) Standing(ctx context.Context, key store.Key, open bool, goes interface{ Goes(left []byte) bool }) (Standing, json.RawMessage, error) {
	r, at, err := t.look(ctx, key)
	goesOn := func() bool { return open && t.goesOn(&r, goes, false) }
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Unclaimed, nil, nil
	case err != nil:
		return Unclaimed, nil, err
	case r.status == done:
		return Done, r.result, nil
	case r.status == free && len(r.effects) == 0:
		return Unclaimed, nil, nil
	case r.status == free && !open, r.status == running && !t.local && t.silence(key, at) >= r.lease && !goesOn():
		return Lost, nil, nil
	}
	return Running, nil, nil
}

// makesWay reports whether the call of a first turn that is done is over, so that another may take
// the place of its record. A record that is due is put aside before: nobody would find it.
func (t *Table) makesWay(ctx context.Context, h *Held, r *record) (over bool, _ error) {
	if h.turn.Over == nil {
		return false, nil
	}
	over, left, err := h.turn.Over(ctx, r.result)
	if err == nil && over && left && !h.fenced && !r.due.IsZero() {
		err = t.putAside(ctx, h.turn, r)
	}
	return over, err
}

// putAside writes the record again, under a name of its call's own.
func (t *Table) putAside(ctx context.Context, first Turn, r *record) error {
	key := store.Key{Epoch: first.Key.Epoch, Name: first.Aside(r.call)}
	h := &Held{table: t, turn: Turn{Key: key}, record: *r}
	err := h.create(ctx)
	if errors.Is(err, store.ErrExists) { // by one who did not come to the second write
		_, h.at, err = t.look(ctx, key)
	}
	if err == nil {
		err = h.update(ctx)
	}
	return err
}

// Overdue are those of up to n turns of which the record is due, with their results, or the requests
// that asked. So many others of the n could not be read here: another audience, or release, wrote them.
func (t *Table) Overdue(ctx context.Context, n int) (due []Overdue, unread int, _ error) {
	if t.Scheduler == nil {
		return nil, 0, nil
	}
	asking, cancel := t.bounded(ctx)
	defer cancel()
	keys, err := t.Scheduler.Due(asking, time.Now(), n)
	for _, key := range keys {
		r, at, failed := t.look(ctx, key)
		if failed != nil {
			unread++
			continue
		}
		due = append(due, Overdue{key, r.lookedAfter(), r, at})
	}
	return due, unread, err
}

// Overdue is a turn of which the record is due.
type Overdue struct {
	Key    store.Key
	Result json.RawMessage

	record record
	at     store.Revision
}

// Settle has a record not found by Overdue any more. If that fails it is found again.
func (t *Table) Settle(ctx context.Context, o Overdue) {
	h := &Held{table: t, turn: Turn{Key: o.Key, Expires: o.record.lives}, at: o.at, record: o.record}
	h.record.due = time.Time{}
	_ = h.update(ctx)
}

// Extend has the record of a turn that is done live on. Nobody waits for that: a record that is
// gone, or that another call has taken, is no error.
func (t *Table) Extend(ctx context.Context, key store.Key, expires time.Time) error {
	r, at, err := t.look(ctx, key)
	if err == nil && r.status == done {
		if r.lives.After(expires) {
			expires = r.lives
		}
		h := &Held{table: t, turn: Turn{Key: key, Expires: expires}, at: at, record: r}
		h.record.lives = expires
		err = h.update(ctx)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}
