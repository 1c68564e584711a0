package claim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/store"
)

// recordFormat is the version of the encoding. A record of another version is not
// read: its turn is refused as if the store were down.
const recordFormat = 1

type status string

const (
	// running: the holder runs the turn, and writes the record again every third of
	// a lease.
	running status = "running"
	// free: the holder let go of the turn. Whoever comes next goes on.
	free status = "free"
	// done: the turn has its result.
	done status = "done"
)

// record is all that the store keeps of a turn.
type record struct {
	status      status
	fingerprint string    // of the answers; "" while a free turn binds nobody
	holder      string    // one claim of one request
	written     time.Time // in whole seconds
	since       time.Time // when the answers came, where that matters; in milliseconds
	lease       time.Duration
	notes       bool // the holder notes its effects, so that another can go on
	cutOff      int  // the runs before this one that ended without a word
	cut         bool // the last run did, and none has begun since
	effects     json.RawMessage
	result      json.RawMessage // of a turn that is done; empty where it was not kept
	branch      string          // of the call that claimed it
	call        string          // of a first turn: the id that its effects are under
	due         time.Time       // for Table.Overdue; zero for a turn that nobody has to look after
	lives       time.Time       // until then, where it is due
	asked       json.RawMessage // of a turn that is due before its end, in place of a result
}

func (r *record) appendTo(b []byte) []byte {
	w := jsontext.Begin(b, "v", recordFormat)
	w.Text("status", string(r.status))
	w.Text("for", r.fingerprint)
	w.Text("by", r.holder)
	w.Number("at", int(r.written.Unix()))
	w.Number("lease", int(r.lease.Milliseconds()))
	if !r.since.IsZero() {
		w.Number("since", int(r.since.UnixMilli()))
	}
	w.Flag("notes", r.notes)
	w.Number("cut", r.cutOff)
	w.Flag("dead", r.cut)
	w.Raw("effects", r.effects)
	w.Raw("result", r.result)
	w.Text("branch", r.branch)
	w.Text("call", r.call)
	if !r.due.IsZero() {
		w.Number("due", int(r.due.UnixMilli()))
		w.Number("lives", int(r.lives.UnixMilli()))
		w.Raw("asked", r.asked)
	}
	return w.End()
}

func readRecord(b []byte) (r record, _ error) {
	in, format := jsontext.Open(b, "v")
	r.status = status(in.Text("status"))
	r.fingerprint = in.Text("for")
	r.holder = in.Text("by")
	r.written = time.Unix(int64(in.Number("at")), 0)
	r.lease = time.Duration(in.Number("lease")) * time.Millisecond
	if since := in.Number("since"); since != 0 {
		r.since = time.UnixMilli(int64(since))
	}
	r.notes = in.Flag("notes")
	r.cutOff, r.cut = in.Number("cut"), in.Flag("dead")
	r.effects = in.Raw("effects")
	r.result = in.Raw("result")
	r.branch, r.call = in.Text("branch"), in.Text("call")
	if due := in.Number("due"); due != 0 {
		r.due, r.lives, r.asked = time.UnixMilli(int64(due)), time.UnixMilli(int64(in.Number("lives"))), in.Raw("asked")
	}
	if format != recordFormat || !in.End() {
		return record{}, errOtherRelease
	}
	return r, nil
}

// lookedAfter is the request that whoever looks after the turn has to end: in its result, or while
// that is not there as it was asked.
func (r *record) lookedAfter() json.RawMessage {
	if r.status == done {
		return r.result
	}
	return r.asked
}

// freed is the record of a turn that its holder lets go of. One that has done
// nothing, and was not cut off, binds nobody to its answers.
func (r record) freed() record {
	r.status, r.result = free, nil
	if len(r.effects) == 0 && !r.cut {
		r.fingerprint, r.since = "", time.Time{}
	}
	return r
}

// died notes that the holder of a running turn ended without a word.
func (r *record) died() {
	if r.status == running {
		r.cutOff++
		r.cut = true
	}
}

// isErased reports whether nothing is left of a turn but that it ran.
func (r *record) isErased() bool {
	return r.status == done && r.fingerprint == "" && len(r.result) == 0
}

// see is the record of a turn as it was found, or else as it is now.
func (t *Table) see(ctx context.Context, key store.Key, found *store.ExistsError) (r record, at store.Revision, _ error) {
	if found == nil {
		return t.look(ctx, key)
	}
	value, err := t.open(key, found.Value)
	if err == nil {
		r, err = readRecord(value)
	}
	return r, found.At, err
}

// look reads the record of a turn.
func (t *Table) look(ctx context.Context, key store.Key) (r record, at store.Revision, _ error) {
	value, at, err := t.read(ctx, key)
	if err == nil {
		r, err = readRecord(value)
	}
	return r, at, err
}

var (
	errUnreadable   = errors.New("the record does not open")
	errOtherRelease = fmt.Errorf("%w: it was written by another release", errUnreadable)
)

// read reads a record and opens it.
func (t *Table) read(ctx context.Context, key store.Key) (value []byte, at store.Revision, _ error) {
	ctx, cancel := t.bounded(ctx)
	defer cancel()
	value, at, err := t.Store.Get(ctx, key)
	if err == nil {
		value, err = t.open(key, value)
	}
	return value, at, err
}

// open is a record as it was sealed.
func (t *Table) open(key store.Key, value []byte) ([]byte, error) {
	if t.Sealer == nil {
		return value, nil
	}
	record, err := t.Sealer.Open(key.Name, value)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return record, err
}

// seal is a record as the store gets it.
func (t *Table) seal(key store.Key, record []byte) ([]byte, error) {
	if t.Sealer == nil {
		return record, nil
	}
	return t.Sealer.Seal(key.Name, record)
}

// Erase empties the record of a turn, and reports whether it had anything to erase. The
// record itself stays until the time expires, since without it the turn would run again: a repeat
// gets a result that was not kept. A turn that runs is [ErrInFlight].
//
// The first turns of equal calls have one record, which is that of the last of them: another call's
// stays. An outcome that is due stays too, as [ErrDue], unless end ends its call.
func (t *Table) Erase(ctx context.Context, key store.Key, call string, expires time.Time, end func(outcome []byte) (ended bool)) (found, erased bool, _ error) {
	for {
		r, at, err := t.look(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return false, false, nil
		case err != nil:
			return false, false, err
		case r.isErased(), r.call != "" && r.call != call:
			return true, false, nil
		case r.status == running && (t.local || t.silence(key, at) < r.lease):
			return true, false, ErrInFlight
		case !r.due.IsZero() && !end(r.lookedAfter()):
			return true, false, ErrDue
		}
		h := &Held{table: t, turn: Turn{Key: key, Expires: expires}, at: at}
		h.record = record{status: done, holder: t.newHolder(), lease: r.lease, call: r.call}
		if err := h.update(ctx); !errors.Is(err, store.ErrConflict) {
			return true, err == nil, err
		}
	}
}

// Expired records hold what users have said, so that they are not left to the next writes
// where a store does not drop them by itself: it is swept while it has any records at all.

const (
	sweepEvery = time.Minute
	sweepTime  = 20 * time.Second // of one sweep
)

// sweepSoon has the store swept, unless that is due already.
func (t *Table) sweepSoon() {
	if t.Sweeper == nil || t.sweepDue.Load() || !t.sweepDue.CompareAndSwap(false, true) {
		return
	}
	time.AfterFunc(sweepEvery, func() { t.later(t.sweep) })
}

func (t *Table) sweep(ctx context.Context) {
	t.sweepDue.Store(false) // before it looks: a record that it does not see has it swept again
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	if left, err := t.Sweeper.Sweep(ctx); left || err != nil {
		t.sweepSoon()
	}
}
