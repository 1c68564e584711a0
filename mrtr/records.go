package mrtr

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// The records that a call leaves in a store have names that nobody but its sender gets at.

// turnName names the record of a turn.
func turnName(audience, principal, call string, turn int) string {
	var text [128]byte
	name := append(append(digest.AppendOwner(text[:0], audience, principal), call...), '.')
	return string(strconv.AppendInt(name, int64(turn), 10))
}

// firstName names the record of the first turn of the calls with an intent.
func firstName(audience, principal, intent string) string {
	return string(append(append(digest.AppendOwner(nil, audience, principal), intent...), ".first"...))
}

// taskName names the record of a call's task: by the intent, which the client's key stands for. A call
// that becomes one late has begun as none, and is not all that its intent may mean.
func taskName(audience, principal, call string, late bool) string {
	owner := digest.AppendOwner(nil, audience, principal)
	if late {
		return string(append(append(owner, call...), ".late"...))
	}
	return string(append(owner, cmp.Or((&state{id: call}).intent(), call)...))
}

// leavings are the names of all records that a call may leave.
type leavings struct {
	turns  [][]string // in the order in which a call has them: behind the last there are none
	visits []string   // those of the pages that the call sent its user to
	tasks  []string
}

// leavings is the walk over the records of a call. The lasting approvals of a gate are the caller's.
func (rt *Runtime) leavings(principal, call string) (all leavings) {
	rt.audiences.Range(func(audience, _ any) bool {
		owner := audience.(string)
		if of := (&state{id: call}).intent(); of != "" {
			all.turns = append(all.turns, []string{firstName(owner, principal, of)}, []string{firstName(owner, principal, call)})
		}
		var turns []string
		for turn := range 2*rt.limits.MaxRounds + 4 { // a call that was split off begins at a turn of another's
			turns = append(turns, turnName(owner, principal, call, turn))
		}
		all.turns = append(all.turns, turns)
		for _, late := range []bool{false, true} {
			all.tasks = append(all.tasks, taskName(owner, principal, call, late))
		}
		return true
	})
	if name, ok := digest.VisitsOf(rt.audience, principal, digest.VisitID(call, "")); ok {
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

// noNotes is for a round that nobody keeps.
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

// services are those that the layers have made.
type services struct {
	mu       sync.Mutex
	byKey    map[any]keep.Service
	draining bool
	closeBy  time.Time // zero until the runtime is closed
}

// of is the service under a key. One that is made while the runtime drains, or after it was
// closed, is drained or closed at once.
func (s *services) of(key any, make func() keep.Service) keep.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[any]keep.Service{}
	}
	if s.byKey[key] == nil {
		made := make()
		if s.byKey[key] = made; s.draining {
			made.Drain()
		}
		if !s.closeBy.IsZero() {
			_ = made.Close(s.closeBy) // it has nothing to close
		}
	}
	return s.byKey[key]
}

// drain drains every service before anybody can see that the runtime drains.
func (s *services) drain() (empty []<-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for _, service := range s.byKey {
		empty = append(empty, service.Drain())
	}
	return empty
}

// close notes until when the runtime closes, unless that is known.
func (s *services) close(until time.Time) (all []keep.Service, by time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closeBy.IsZero() {
		s.closeBy = until
	}
	return slices.Collect(maps.Values(s.byKey)), s.closeBy
}

func (s *services) state() (all []keep.Service, draining, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byKey)), s.draining, !s.closeBy.IsZero()
}
