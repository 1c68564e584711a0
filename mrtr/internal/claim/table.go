// Package claim decides which of several equal requests runs a turn of a call, by
// a record in a store. One request holds the turn and runs it; the others wait and
// get its result, now and whenever they come again.
//
// A turn is a round that enters the handler of a call, or ends it. Its one record
// says who holds it, which answers it was claimed with, which effects began and
// ended, and at last its result. Every write of a holder is at the revision of the
// one before, so a holder that was given up cannot write any more.
//
// The package knows nothing of the protocol: answers are a fingerprint, effects
// and results are JSON.
package claim

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/sighting"
	"github.com/mrtr-go/sdk/store"
)

// Options configure a [Table]. All durations and MaxAttempts are positive.
type Options struct {
	Store store.Store
	// Lease is how long a holder may be silent before it is given up.
	Lease time.Duration
	// Wait bounds how long a request waits for the result of another.
	Wait time.Duration
	// Patience bounds one operation of the store.
	Patience time.Duration
	// MaxAttempts bounds the runs of one turn that end without a word.
	MaxAttempts int
	// Sweeper and Scheduler are those of the Store, nil where it is none.
	Sweeper   store.Sweeper
	Scheduler store.Scheduler
	// Moved is the key of a record in a later incarnation of the store that has refused it, if that has
	// the same contents.
	Moved func(ctx context.Context, key store.Key) (now store.Key, ok bool)
	// Sealer seals the records, so that nobody reads them in the store. Nil where they
	// do not leave the process.
	Sealer Sealer
}

// Sealer seals a record for its name alone.
type Sealer interface {
	Seal(name string, record []byte) ([]byte, error)
	Open(name string, sealed []byte) ([]byte, error)
}

// Table claims turns in one store.
type Table struct {
	Options
	// instant: the store never waits, so that no timer need bound its operations.
	instant bool
	name    string // begins the names of its claims
	// local: the records end with this process. A holder that is silent is at work
	// then, and cannot be dead, so that it needs no lease and no notes.
	local    bool
	seen     sightings
	sweepDue atomic.Bool

	ctx    context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	closed    bool
	disowners map[store.Key]*disowner
	unwritten int            // last records that are written again
	written   chan struct{}  // closed when none is left; nil where nobody waits
	after     sync.WaitGroup // the writes that outlive their request
}

// New makes a Table. Close it.
func New(o Options) *Table {
	t := &Table{Options: o, name: rand.Text()[:16] + "."}
	_, t.instant = o.Store.(*store.Memory)
	t.local = o.Store.Scope() == store.Process
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.sweepSoon() // of an earlier process
	return t
}

// Close ends the writes that outlive their requests.
func (t *Table) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.after.Wait()
}

// Turn is a turn that a request asks to run.
type Turn struct {
	Key store.Key
	// Fingerprint identifies the answers that the turn would run with.
	Fingerprint string
	// Expires is when no request can ask for the turn any more.
	Expires time.Time
	// Noted tells that the round notes its effects from its start, so that another can go on with
	// it. Goes reports whether this request can go on with a run that was cut off and left these
	// effects.
	Noted bool
	// Since is when the answers came, where that matters. Whoever goes on with the turn gets that
	// of the first.
	Since time.Time
	Goes  interface{ Goes(left []byte) bool }
	// Branch names the states of the call that the request has one of. A turn that another
	// branch ran is this one's too if it is Shared: its questions had gone out when the branch
	// began.
	Branch string
	Shared bool
	// Late tells that no user can ask for the turn any more. If its holder is dead the turn is this
	// request's, with any answers that it was claimed with. It does not wait for a living one.
	Late bool
	// Due is when somebody has to look after the turn, if it has effects and did not end, and Lives
	// until when its record lives then. Overdue has Asked in place of a result.
	Due, Lives time.Time
	Asked      json.RawMessage

	// A first turn names the Call that it begins. It may be claimed when it is under way, with
	// Effects, or when it has come to its Result. The record of an equal call binds nobody when
	// that call is Over. One that was left has not come to an end, and has to be looked after: if
	// it is due, its record is put Aside first.
	Call            string
	Aside           func(call string) (name string)
	Effects, Result json.RawMessage
	Over            func(ctx context.Context, result json.RawMessage) (over, left bool, _ error)
}

// Answer is what becomes of a request: it holds the turn, or gets the outcome of
// another.
type Answer struct {
	Held *Held
	// Left are the effects of the turn so far, as the last holder noted them, with Held or
	// with Unknown.
	Left json.RawMessage
	// Since is that of the request which claimed the turn first.
	Since time.Time
	// TookOver: the turn was cut off before, and no run of it has begun since.
	TookOver bool
	// Result is that of the turn where it is done. It is empty where it was not kept.
	Result json.RawMessage
	// Unknown tells that the turn was cut off, and that it cannot go on.
	Unknown bool
	// Call is that of the record of a first turn.
	Call string
	// Foreign tells that another branch ran the turn.
	Foreign bool
}

// The reasons why a request neither runs a turn nor gets its outcome. Nothing was
// run. Any error beside them and [store.ErrForgotten] is that of the store, or of
// the context.
var (
	// ErrOtherwise: the turn was claimed with other answers.
	ErrOtherwise = errors.New("the turn was claimed with other answers")
	// ErrInFlight: the turn is still running.
	ErrInFlight = errors.New("the turn is still running")
	// ErrSplit: another branch of the call has the turn, and this one is a call of its own.
	ErrSplit = errors.New("another branch of the call has the turn")
	// ErrDue: somebody has to look after the outcome of the turn.
	ErrDue = errors.New("the call waits, and cannot be ended here, or the next turn is still running")
	// ErrNotTaken: somebody has to look after the outcome, and the store does not take it.
	ErrNotTaken = errors.New("the store does not take the outcome")
	// ErrFenced: the claim was given to another request, which took its holder for
	// dead.
	ErrFenced = errors.New("another request has taken over the turn")
)

// Take claims a turn, or waits for the request that holds it.
func (t *Table) Take(ctx context.Context, turn Turn) (Answer, error) {
	h := t.newHeld(turn)
	var deadline time.Time // none while nobody else has the turn
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := h.create(ctx)
		switch {
		case err == nil:
			t.sweepSoon()
			h.start()
			return Answer{Held: h, Since: turn.Since, Call: turn.Call}, nil
		case !store.IsVerdict(err):
			h.disown()
			return Answer{}, err
		case !errors.Is(err, store.ErrExists):
			return Answer{}, err
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(t.Wait)
		}
		found := new(store.ExistsError) // of a store that shows the record
		if !errors.As(err, &found) {
			found = nil
		}
		answer, again, err := t.meet(ctx, h, found, deadline)
		if err != nil || !again {
			return answer, err
		}
		// The record is being decided, or has expired, or another request was quicker.
		if err := t.pause(ctx, pause, deadline); err != nil {
			return Answer{}, err
		}
	}
}

// newHeld is a turn that nobody has claimed yet.
func (t *Table) newHeld(turn Turn) *Held {
	h := &Held{table: t, turn: turn}
	h.record = record{
		status: running, fingerprint: turn.Fingerprint, holder: t.newHolder(), lease: t.Lease, notes: turn.Noted, since: turn.Since,
		branch: turn.Branch, call: turn.Call,
	}
	h.has(turn.Effects)
	if turn.Result != nil {
		h.record.status, h.record.result, h.ended = done, turn.Result, true
	}
	return h
}

// claimsHere counts the claims of this process.
var claimsHere atomic.Uint64

// newHolder names a claim: no other in its store has the same name.
func (t *Table) newHolder() string {
	claim := strconv.FormatUint(claimsHere.Add(1), 36)
	if t.local {
		return claim
	}
	return t.name + claim
}

// Follow waits for the outcome of a turn that this request has lost. It claims
// nothing.
func (t *Table) Follow(ctx context.Context, turn Turn) (Answer, error) {
	h := &Held{table: t, turn: turn, fenced: true}
	deadline := time.Now().Add(t.Wait)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		answer, again, err := t.meet(ctx, h, nil, deadline)
		if err != nil || !again {
			return answer, err
		}
		if err := t.pause(ctx, pause, deadline); err != nil {
			return Answer{}, err
		}
	}
}

const (
	firstPause = time.Millisecond
	lastPause  = 250 * time.Millisecond
)

func (t *Table) pause(ctx context.Context, d time.Duration, deadline time.Time) error {
	if time.Now().Add(d).After(deadline) {
		return ErrInFlight
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// repeat tries until it is done, for so long at most: less and less often, since a store
// that is slow must not be kept busy by it, and often enough that a claim which arrives
// late is let go of before its holder is taken for dead.
func (t *Table) repeat(ctx context.Context, end func() time.Time, try func() (done bool)) {
	for pause := min(lastPause, t.Lease/4); !try(); pause = min(2*pause, t.Lease/4) {
		if t.pause(ctx, pause, end()) != nil {
			return
		}
	}
}

// meet deals with a turn that has a record, as it was found or nil, until there is
// something to say or the record is not as it was seen.
func (t *Table) meet(ctx context.Context, h *Held, found *store.ExistsError, deadline time.Time) (answer Answer, again bool, _ error) {
	for {
		r, at, err := t.see(ctx, h.turn.Key, found)
		if found != nil {
			found = nil
			if err == nil && r.status != done && r.status != free { // before it waits, it knows that the store answers
				continue
			}
		}
		foreign := r.branch != h.turn.Branch && !r.isErased()
		switch {
		case errors.Is(err, store.ErrNotFound):
			return answer, true, nil
		case errors.Is(err, errUnreadable) && h.turn.Over != nil && !h.fenced: // nobody can join that call any more
			return t.takeOver(ctx, h, &record{status: done}, at)
		case errors.Is(err, errUnreadable) && h.turn.Call != "":
			return answer, false, nil // it had the same key, and its end is not known
		case err != nil:
			return answer, false, err
		case r.fingerprint != h.turn.Fingerprint && r.fingerprint != "" && (r.status == done || !h.turn.Late):
			if foreign {
				return answer, false, ErrSplit
			}
			return answer, false, ErrOtherwise
		case r.status == done && foreign && !h.turn.Shared:
			return answer, false, ErrSplit
		case r.status == done:
			over, err := t.makesWay(ctx, h, &r)
			switch {
			case err != nil:
				return answer, false, err
			case over && h.fenced: // it would begin another call
				return answer, false, ErrInFlight
			case over:
				return t.takeOver(ctx, h, &r, at)
			}
			return Answer{Result: r.result, Call: r.call, Foreign: foreign}, false, nil
		case r.status == free && h.fenced:
			return answer, false, ErrInFlight
		case r.status == free:
			return t.takeOver(ctx, h, &r, at)
		}
		var silent time.Duration
		if !t.local {
			silent = t.silence(h.turn.Key, at)
		}
		if silent >= r.lease {
			switch {
			case !t.goesOn(&r, h.turn.Goes, h.turn.Late):
				return Answer{Unknown: true, Left: r.effects, Call: r.call}, false, nil
			case h.fenced:
				return answer, false, ErrInFlight
			}
			r.died()
			return t.takeOver(ctx, h, &r, at)
		}
		if h.turn.Late || !time.Now().Before(deadline) {
			return answer, false, ErrInFlight
		}
		if err := t.wait(ctx, h.turn.Key, at, min(r.lease-silent, time.Until(deadline))); err != nil {
			return answer, false, err
		}
	}
}

// takeOver claims a turn that was let go of or cut off.
func (t *Table) takeOver(ctx context.Context, h *Held, r *record, at store.Revision) (answer Answer, again bool, _ error) {
	if again, err := h.replace(ctx, r, at); again || err != nil {
		return answer, again, err
	}
	h.start()
	a := Answer{Held: h, Since: h.record.since, Call: h.record.call}
	if r.status != done {
		a.Left, a.TookOver = r.effects, r.cut
	}
	return a, false, nil
}

// goesOn reports whether a run that was cut off can be gone on with. What ends a call late enters no
// handler, and has attempts of its own.
func (t *Table) goesOn(r *record, goes interface{ Goes(left []byte) bool }, late bool) bool {
	attempts := t.MaxAttempts
	if late {
		attempts *= 2
	}
	return r.notes && goes.Goes(r.effects) && r.cutOff+1 < attempts
}

// wait waits for a change of the record, and no longer than d.
func (t *Table) wait(ctx context.Context, key store.Key, at store.Revision, d time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := store.Wait(waiting, t.Store, key, at)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil
	}
	return err
}

// bounded bounds an operation of the store.
func (t *Table) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.instant {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, t.Patience)
}

// detached is the context of a write that has to be made though its request has ended.
func (t *Table) detached(ctx context.Context) context.Context {
	if t.instant {
		return context.Background()
	}
	return context.WithoutCancel(ctx)
}

// later runs f beside the requests, until it is done or the table is closed. It is false where the
// table is closed already.
func (t *Table) later(f func(ctx context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.after.Add(1)
	go func() {
		defer t.after.Done()
		f(t.ctx)
	}()
	return true
}

// sightings hold since when each running turn has been at the revision that was seen last.
type sightings = sighting.Log[store.Key, store.Revision]

// silence is how long the holder has been seen not to write. The time in its record says nothing
// about that, since it is by another clock: a live holder would be taken over by a reader whose
// clock is ahead.
func (t *Table) silence(key store.Key, at store.Revision) time.Duration {
	return time.Since(t.seen.Note(place(key), at))
}

// place is the key of a record whoever asks for it: callers differ in how much they know of the store.
func place(key store.Key) store.Key {
	key.After = 0
	return key
}
