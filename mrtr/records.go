package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// leavings are the names of all records that a call may leave.
type leavings struct {
	turns  [][]string // in the order in which a call has them: behind the last there are none
	visits []string   // those of the pages that the call sent its user to
	tasks  []string
}

// leavings is the walk over the records of a call. The lasting approvals of a gate are the caller's.
func (rt *Runtime) leavings(principal, call string) (all leavings) {
	rt.audiences.Range(func(of, _ any) bool {
		owner := of.(string)
		if intent := digest.IntentOf(call); intent != "" {
			all.turns = append(all.turns, []string{digest.FirstName(owner, principal, intent)}, []string{digest.FirstName(owner, principal, call)})
		}
		var turns []string
		for turn := range 2*rt.opts.Limits.MaxRounds + 4 { // a call that was split off begins at a turn of another's
			turns = append(turns, digest.TurnName(owner, principal, call, turn))
		}
		all.turns = append(all.turns, turns)
		for _, late := range []bool{false, true} {
			all.tasks = append(all.tasks, digest.TaskName(owner, principal, call, late))
		}
		return true
	})
	if name, ok := digest.VisitsOf(rt.opts.Audience, principal, digest.VisitID(call, "")); ok {
		all.visits = append(all.visits, name)
	}
	return all
}

// ErasesTasks has Erase empty the records of tasks too.
func (rt *Runtime) ErasesTasks(f keep.Eraser) { rt.eraseTask.Store(&f) }

// afterErasure is how much longer than its states an emptied record lives: as long as a client's key
// is remembered, and longer than anybody looks after the call.
const afterErasure = 48 * time.Hour

// Erase empties the records of a call: its turns, its task, and its visits. A call that waits and
// has effects to undo is ended first. While a round runs, or where the call cannot be ended, it
// returns an error: try again.
func (rt *Runtime) Erase(ctx context.Context, principal, call string) (erased int, err error) {
	eraser, ok := rt.keeper.(interface {
		Erase(ctx context.Context, call string, turns []string, expires time.Time, end func(outcome []byte) (ended bool)) (int, error)
		Empty(ctx context.Context, name string, expires time.Time) (bool, error)
	})
	if !ok {
		return 0, misuse("Erase: the runtime has no store")
	}
	all := rt.leavings(principal, call)
	expires := rt.lastUse(time.Now().Add(time.Duration(rt.longestTTL.Load()))).Add(afterErasure)
	end := func(outcome []byte) bool { return rt.endAbandoned(ctx, outcome, "it is erased") }
	for _, turns := range all.turns {
		n, failed := eraser.Erase(ctx, call, turns, expires, end)
		erased, err = erased+n, errors.Join(err, failed)
	}
	empty := func(names []string, f keep.Eraser) {
		for _, name := range names {
			did, failed := f(ctx, name)
			if did {
				erased++
			}
			err = errors.Join(err, failed)
		}
	}
	if err == nil { // else a round may wait for its visits
		empty(all.visits, func(ctx context.Context, name string) (bool, error) { return eraser.Empty(ctx, name, expires) })
	}
	if f := rt.eraseTask.Load(); f != nil {
		empty(all.tasks, *f)
	}
	return erased, err
}

// noNotes is for a round without a Keeper.
type noNotes struct{}

func (noNotes) Left() []byte                { return nil }
func (noNotes) CutOff() bool                { return false }
func (noNotes) Call() string                { return "" }
func (noNotes) Doubts() bool                { return false }
func (noNotes) Mark() string                { return "" }
func (noNotes) Since() time.Time            { return time.Time{} }
func (noNotes) Begun(context.Context) error { return nil }
func (noNotes) Ended()                      {}
func (noNotes) Watch(keep.Effects)          {}

// endOf is the error of the call that a context ends, or nil.
func endOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return keep.EndOf(context.Cause(ctx))
}
