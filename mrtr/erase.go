package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/store"
)

// Erase empties the records that the store has of a call, for a user who wants their data
// gone. The caller and the call are named as in an [Event]: by Principal and Call. It
// returns how many records had anything to erase; the others have expired, were erased
// before, or belong to handlers that this runtime does not serve.
//
// An empty record stays until the call's states have expired, and says only that its round
// has run: a request for it ends with [ResultNotKept], and runs nothing. While a round of
// the call runs its record stays, and the error says so: try again when it has ended. What
// a handler holds in memory, and a state that the client keeps, ends with its own time.
func (rt *Runtime) Erase(ctx context.Context, principal, call string) (erased int, err error) {
	if rt.memory == nil {
		return 0, misuse("Erase: the runtime has no store")
	}
	erased, err = rt.erase(ctx, principal, call)
	if errors.Is(err, store.ErrForgotten) { // since this instance asked for the epoch
		rt.memory.forgotten()
		erased, err = rt.erase(ctx, principal, call)
	}
	return erased, err
}

// erase empties the records of a call in the epoch that this instance knows.
func (rt *Runtime) erase(ctx context.Context, principal, call string) (erased int, err error) {
	epoch, err := rt.memory.begin(ctx)
	if err != nil {
		return 0, err
	}
	expires := rt.memory.lastUse(time.Now().Add(time.Duration(rt.memory.ttl.Load())))
	var failed []error
	rt.audiences.Range(func(audience, _ any) bool {
		for turn := range rt.opts.MaxRounds + maxCarries + 2 {
			key := store.Key{Epoch: epoch, Name: turnName(audience.(string), principal, call, turn)}
			did, err := rt.memory.turns.Erase(ctx, key, expires)
			if did {
				erased++
			}
			if err != nil {
				failed = append(failed, err)
			}
			if ctx.Err() != nil || errors.Is(err, store.ErrForgotten) {
				return false
			}
		}
		return true
	})
	return erased, errors.Join(failed...)
}
