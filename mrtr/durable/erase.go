package durable

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// For [mrtr.Runtime.Erase].

// Erase empties the records of a call's turns, which follow one another, until a time at which no
// request can ask for them. A turn whose outcome somebody has to look after is left if end cannot end
// its call.
func (k *Keeper) Erase(ctx context.Context, call string, turns []string, expires time.Time, end func(outcome []byte) (ended bool)) (erased int, err error) {
	var failed []error
	begun := false
	for _, name := range turns {
		var found, did bool
		err := k.present(ctx, name, func(key store.Key) (err error) {
			found, did, err = k.turns.Erase(ctx, key, call, expires, end)
			return err
		})
		if did {
			erased++
		}
		if err != nil {
			failed = append(failed, err)
		}
		if begun && !found && err == nil || ctx.Err() != nil {
			break
		}
		begun = begun || found
	}
	return erased, errors.Join(failed...)
}

// Empty empties a record of another layer's.
func (k *Keeper) Empty(ctx context.Context, name string, expires time.Time) (emptied bool, _ error) {
	err := k.present(ctx, name, func(key store.Key) (err error) {
		emptied, err = k.records.empty(ctx, key, expires)
		return err
	})
	return emptied, err
}

// present does something with a record in the store as it is now, which this instance may not know yet.
func (k *Keeper) present(ctx context.Context, name string, do func(key store.Key) error) error {
	for again := true; ; again = false {
		epoch, err := k.records.Epoch(ctx)
		if err != nil {
			return err
		}
		if err = do(store.Key{Epoch: epoch, Name: name}); !again || !errors.Is(err, store.ErrForgotten) {
			return err
		}
		k.records.Forgotten()
	}
}

func (r *Records) empty(ctx context.Context, key store.Key, expires time.Time) (emptied bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	for {
		value, at, err := r.store.Get(ctx, key)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		if err == nil {
			value, err = r.Open(key.Name, value)
		}
		if err != nil || len(value) == 0 {
			return false, err
		}
		nothing, err := r.Seal(key.Name, nil)
		if err != nil {
			return false, err
		}
		_, err = r.store.Update(ctx, key, at, nothing, min(max(time.Until(expires), store.MinTTL), store.MaxTTL))
		if !errors.Is(err, store.ErrConflict) {
			return err == nil, err
		}
	}
}
