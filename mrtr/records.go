package mrtr

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// The records that a call leaves in a store have names that nobody but its sender gets at.

// turnName names the record of a turn.
func turnName(audience, principal, call string, turn int) string {
	var text [128]byte
	name := append(append(appendOwner(text[:0], audience, principal), call...), '.')
	return string(strconv.AppendInt(name, int64(turn), 10))
}

// firstName names the record of the first turn of the calls with an intent.
func firstName(audience, principal, intent string) string {
	return string(append(append(appendOwner(nil, audience, principal), intent...), ".first"...))
}

func appendOwner(name []byte, audience, principal string) []byte {
	var sender [128]byte
	owner := digest.ShortBytes(append(append(append(sender[:0], audience...), 0), principal...))
	return append(append(name, owner[:]...), '.')
}

// taskName names the record of a call's task: by the intent, which the client's key stands for. A call
// that becomes one late has begun as none, and is not all that its intent may mean.
func taskName(audience, principal, call string, late bool) string {
	owner := appendOwner(nil, audience, principal)
	if late {
		return string(append(append(owner, call...), ".late"...))
	}
	return string(append(owner, cmp.Or((&state{id: call}).intent(), call)...))
}

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

// ErasesTasks has Erase empty the records of tasks too.
func (rt *Runtime) ErasesTasks(f keep.Eraser) { rt.eraseTask.Store(&f) }

// afterErasure is how much longer than its states an emptied record lives: as long as a client's key
// is remembered, and longer than anybody looks after the call.
const afterErasure = 48 * time.Hour

// Erase empties the records of a call: its turns, its task, and its visits. While a round runs it
// returns an error: try again. Erase no call that waits for its user, or nobody undoes its
// effects.
func (rt *Runtime) Erase(ctx context.Context, principal, call string) (erased int, err error) {
	eraser, ok := rt.keeper.(interface {
		Erase(ctx context.Context, call string, names []string, expires time.Time) (int, error)
	})
	if !ok {
		return 0, misuse("Erase: the runtime has no store")
	}
	all := rt.leavings(principal, call)
	expires := rt.lastUse(time.Now().Add(time.Duration(rt.longestTTL.Load()))).Add(afterErasure)
	erased, err = eraser.Erase(ctx, call, all.kept, expires)
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
