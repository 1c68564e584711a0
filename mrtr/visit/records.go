package visit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/store"
)

// records are those of visits, one for each call: so they can be erased with it.
type records struct {
	*durable.Records
	audience string
}

// visits is the record of a call's, by id, encoded as JSON. It is empty where the call was erased.
type visits map[string]visit

type visit struct {
	Done  bool            `json:"done,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Age   time.Duration   `json:"age"`   // for which it is known after each write of the record
	Until time.Time       `json:"until"` // and so until then
}

// beginVisit adds a visit to the record, unless it is there. It takes the visit for the first of its
// call, and looks only where it is not. An attempt that nobody confirmed is made again: to find its own
// visit is as good.
func (m records) beginVisit(ctx context.Context, principal, id string, ttl time.Duration) (created bool, _ error) {
	for isFirst := true; ; isFirst = false {
		key, err := m.key(ctx, principal, id)
		all, at := visits{}, store.Revision(0)
		if err == nil && !isFirst {
			all, at, err = m.read(ctx, key)
		}
		_, known := all[id]
		switch {
		case known:
			return false, nil
		case errors.Is(err, errErased):
			return false, ErrNoVisit
		case errors.Is(err, ErrNoVisit):
			all, err = visits{}, nil
		}
		if err == nil {
			all[id] = visit{Age: ttl}
			err = m.save(ctx, key, at, all)
		}
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, store.ErrExists) && isFirst:
			continue
		case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrForgotten):
		case store.IsVerdict(err):
			return false, errVisitUnkept
		}
		if !rest(ctx) {
			return false, errVisitUnkept
		}
	}
}

// endVisit makes a visit one that is done. To find the value of an attempt that nobody confirmed is as
// good.
func (m records) endVisit(ctx context.Context, principal, id string, value json.RawMessage, ttl time.Duration) error {
	for unconfirmed := false; ; {
		all, at, key, err := m.load(ctx, principal, id)
		one, known := all[id]
		switch {
		case errors.Is(err, ErrNoVisit), err == nil && !known:
			return ErrNoVisit
		case err != nil:
		case one.Done && unconfirmed && bytes.Equal(one.Value, value):
			return nil
		case one.Done:
			return ErrVisitDone
		default:
			all[id] = visit{Done: true, Value: value, Age: max(one.Age, ttl)}
			err = m.save(ctx, key, at, all)
			verdict := err == nil || store.IsVerdict(err)
			if verdict && !errors.Is(err, store.ErrConflict) { // that may be a read that lags
				return err
			}
			unconfirmed = unconfirmed || !verdict
		}
		if !rest(ctx) {
			return err
		}
	}
}

// awaitVisit returns a visit when it is done. A store that does not answer is asked until ctx
// ends. A visit that a lagging store does not show yet is looked for a while.
func (m records) awaitVisit(ctx context.Context, principal, id string) (visit, error) {
	for shown := time.Now(); ; {
		all, at, key, err := m.load(ctx, principal, id)
		one, known := all[id]
		if err == nil && !known {
			err = ErrNoVisit
		}
		switch {
		case err == nil && one.Done:
			return one, nil // also if ctx has ended: this came first
		case err == nil:
			shown = time.Now()
			err = m.wait(ctx, key, at, one.Until)
		case errors.Is(err, ErrNoVisit) && time.Since(shown) >= m.Patience():
			return visit{}, ErrNoVisit
		}
		if err != nil && !rest(ctx) {
			return visit{}, ctx.Err()
		}
	}
}

// rest is between two attempts at a store. It reports whether ctx goes on.
func rest(ctx context.Context) bool {
	select {
	case <-time.After(50 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}

// visit reads one visit.
func (m records) visit(ctx context.Context, principal, id string) (visit, error) {
	all, _, _, err := m.load(ctx, principal, id)
	one, known := all[id]
	if err == nil && !known {
		err = ErrNoVisit
	}
	return one, err
}

// errErased is the ErrNoVisit of a call that was erased.
var errErased = errors.Join(ErrNoVisit)

// load reads the record of the visits that one belongs to.
func (m records) load(ctx context.Context, principal, id string) (all visits, at store.Revision, key store.Key, err error) {
	if key, err = m.key(ctx, principal, id); err == nil {
		all, at, err = m.read(ctx, key)
	}
	return all, at, key, err
}

// bounded is for one operation of the store, which is made even if ctx has ended.
func (m records) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), m.Patience())
}

// key asks for the epoch each time, since a visit may have begun at another instance after the store
// was wiped.
func (m records) key(ctx context.Context, principal, id string) (key store.Key, err error) {
	name, ok := digest.VisitsOf(m.audience, principal, id)
	if key.Name = name; !ok {
		return key, ErrNoVisit
	}
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	if key.Epoch, err = m.Store().Epoch(ctx); err == nil && key.Check() != nil { // whatever came with an address
		err = ErrNoVisit
	}
	return key, err
}

// wait waits for a change of a record, until a time at most.
func (m records) wait(ctx context.Context, key store.Key, at store.Revision, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	return store.Wait(ctx, m.Store(), key, at)
}

// read returns the visits that are known still. The record lives as long as the one with the greatest
// age, and others may be over.
func (m records) read(ctx context.Context, key store.Key) (all visits, at store.Revision, err error) {
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	text, at, err := m.Store().Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrForgotten) {
		return nil, 0, ErrNoVisit
	}
	if err == nil {
		text, err = m.Open(key.Name, text)
	}
	switch {
	case err != nil:
		return nil, 0, err
	case len(text) == 0:
		return nil, at, errErased
	}
	err = json.Unmarshal(text, &all)
	maps.DeleteFunc(all, func(_ string, one visit) bool { return !time.Now().Before(one.Until) })
	return all, at, err
}

// save writes a record at a revision, or creates it at 0. All its visits are known for their ages
// again.
func (m records) save(ctx context.Context, key store.Key, at store.Revision, all visits) error {
	var ttl time.Duration
	for id, one := range all {
		one.Until, ttl = time.Now().Add(one.Age), max(ttl, one.Age)
		all[id] = one
	}
	text, err := json.Marshal(all)
	if err == nil {
		text, err = m.Seal(key.Name, text)
	}
	switch {
	case err != nil:
		return err
	case at == 0:
		_, err = m.Store().Create(ctx, key, text, ttl)
	default:
		_, err = m.Store().Update(ctx, key, at, text, ttl)
	}
	return err
}
