package mrtr

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// An Eraser empties a record of a kind that a layer keeps for calls, and reports whether there was
// anything to erase.
type Eraser func(ctx context.Context, name string) (erased bool, err error)

// ErasesTasks has Erase empty the records of tasks too, by the one who keeps them.
func (rt *Runtime) ErasesTasks(f Eraser) { rt.eraseTask.Store(&f) }

// leavings are the names of all records that a call may leave.
type leavings struct {
	kept  []string // by the Keeper: of its turns, and of the pages that it sent its user to
	tasks []string
}

// leavings is the walk over the records of a call. The lasting approvals of a gate are the caller's.
func (rt *Runtime) leavings(principal, call string) (all leavings) {
	rt.audiences.Range(func(audience, _ any) bool {
		owner := audience.(string)
		if of := (&state{id: call}).intent(); of != "" {
			all.kept = append(all.kept, firstName(owner, principal, of), firstName(owner, principal, call))
		}
		for turn := range rt.limits.MaxRounds + 4 {
			all.kept = append(all.kept, turnName(owner, principal, call, turn))
		}
		for _, late := range []bool{false, true} {
			all.tasks = append(all.tasks, taskName(owner, principal, call, late))
		}
		return true
	})
	return all
}

// taskName names the record of a call's task. A call that becomes one late has begun as none.
func taskName(audience, principal, call string, late bool) string {
	of := cmp.Or((&state{id: call}).intent(), call)
	name := string(append(appendOwner(nil, audience, principal), of...))
	if late {
		name += ".late"
	}
	return name
}

// Erase empties the records of a call: those of its turns, of its task, and of its visits. It is for a
// user who wants their data gone. The caller and the call are named as in a [Round]. It returns how
// many records had anything to erase; the others have expired, were erased before, or belong to
// handlers that this runtime does not serve.
//
// An empty record stays until the call's states have expired, and says only that its round has
// run: a request for it ends with [ResultNotKept], and runs nothing. While a round of the call
// runs its records stay, and the error says so: try again when it has ended.
func (rt *Runtime) Erase(ctx context.Context, principal, call string) (erased int, err error) {
	eraser, ok := rt.keeper.(interface {
		Erase(ctx context.Context, call string, names []string, expires time.Time) (int, error)
	})
	if !ok {
		return 0, misuse("Erase: the runtime has no store")
	}
	all := rt.leavings(principal, call)
	erased, err = eraser.Erase(ctx, call, all.kept, rt.lastUse(time.Now().Add(time.Duration(rt.longestTTL.Load()))))
	if f := rt.eraseTask.Load(); f != nil {
		for _, name := range all.tasks {
			did, failed := (*f)(ctx, name)
			if did {
				erased++
			}
			err = errors.Join(err, failed)
		}
	}
	return erased, err
}
