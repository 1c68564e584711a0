package mrtr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// visit is the record of one, encoded as JSON.
type visit struct {
	Principal string          `json:"principal,omitempty"`
	Done      bool            `json:"done,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// beginVisit makes a record, unless there is one. An attempt that nobody confirmed is made
// again: to find its own record is as good.
func (m *roundMemory) beginVisit(ctx context.Context, id string, one visit, ttl time.Duration) (created bool, _ error) {
	for {
		epoch, err := m.begin(ctx)
		if err == nil {
			key := store.Key{Epoch: epoch, Name: visitName(id)}
			var text []byte
			if text, err = m.encodeVisit(key, one); err == nil {
				_, err = m.store.Create(ctx, key, text, ttl)
			}
		}
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, store.ErrExists):
			return false, nil
		case errors.Is(err, store.ErrForgotten):
			m.forgotten()
		case store.IsVerdict(err):
			return false, errVisitUnkept
		}
		if !rest(ctx) {
			return false, errVisitUnkept
		}
	}
}

// endVisit makes the record that of a visit which is done. To find the value of an attempt
// that nobody confirmed is as good.
func (m *roundMemory) endVisit(ctx context.Context, id string, end visit, ttl time.Duration) error {
	for unconfirmed := false; ; {
		one, at, key, err := m.visit(ctx, id)
		switch {
		case errors.Is(err, ErrNoVisit):
			return err
		case err != nil:
		case one.Principal != end.Principal:
			return ErrNoVisit
		case one.Done && unconfirmed && bytes.Equal(one.Value, end.Value):
			return nil
		case one.Done:
			return ErrVisitDone
		default:
			var text []byte
			if text, err = m.encodeVisit(key, end); err != nil {
				return err
			}
			_, err = m.store.Update(ctx, key, at, text, ttl)
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
// ends. A record that a lagging store does not show yet is looked for a while.
func (m *roundMemory) awaitVisit(ctx context.Context, id string) (visit, error) {
	for shown := time.Now(); ; {
		one, at, key, err := m.visit(ctx, id)
		switch {
		case err == nil && one.Done:
			return one, nil // also if ctx has ended: this came first
		case err == nil:
			shown = time.Now()
			err = store.Wait(ctx, m.store, key, at)
		case errors.Is(err, ErrNoVisit) && time.Since(shown) >= m.patience:
			return visit{}, err
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

func visitName(id string) string { return "visit." + id }

// visit reads a record. It asks for the epoch each time, since a visit may have begun at
// another instance after the store was wiped, and it looks even if ctx has ended.
func (m *roundMemory) visit(ctx context.Context, id string) (one visit, at store.Revision, key store.Key, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.patience)
	defer cancel()
	if key.Epoch, err = m.store.Epoch(ctx); err != nil {
		return one, 0, key, err
	}
	key.Name = visitName(id)
	if key.Check() != nil { // whatever came with an address
		return one, 0, key, ErrNoVisit
	}
	text, at, err := m.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrForgotten) {
		err = ErrNoVisit
	}
	if err == nil && m.sealer != nil {
		text, err = m.sealer.Open(key.Name, text)
	}
	if err == nil {
		err = json.Unmarshal(text, &one)
	}
	return one, at, key, err
}

func (m *roundMemory) encodeVisit(key store.Key, one visit) ([]byte, error) {
	text, err := json.Marshal(one)
	if err == nil && m.sealer != nil {
		text, err = m.sealer.Seal(key.Name, text)
	}
	return text, err
}
