package mrtr

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// RememberOptions configure how a [Runtime] with a store remembers rounds. The zero
// value, and nil, mean the defaults. A negative value is an error.
type RememberOptions struct {
	// Lease is how long the instance that runs a round may be silent before it is
	// taken for dead; 15 seconds if zero, and at least 30 milliseconds.
	Lease time.Duration
	// Wait bounds how long a request waits for the result of an equal one that is
	// running; 20 seconds if zero.
	Wait time.Duration
	// Patience bounds one operation of the store; 2 seconds if zero, or a quarter of
	// Lease if that is less. It cannot be more: a holder whose every write took longer
	// than its lease would be taken for dead at work.
	Patience time.Duration
	// MaxAttempts bounds how often one round is begun, where its instance dies each
	// time; 3 if zero.
	MaxAttempts int
	// MaxResult bounds a result that is remembered, as JSON; 512 KiB if zero. A
	// longer one goes out once, and a repeat ends with [ResultNotKept]. The store has
	// a limit of its own.
	MaxResult int
}

const minLease = 30 * time.Millisecond

func (o *RememberOptions) resolve() error {
	u := usage.Of("mrtr", "Options.Remember")
	usage.Default(u, "Lease", &o.Lease, 15*time.Second)
	usage.Default(u, "Wait", &o.Wait, 20*time.Second)
	usage.Default(u, "Patience", &o.Patience, min(2*time.Second, o.Lease/4))
	usage.Default(u, "MaxAttempts", &o.MaxAttempts, 3)
	usage.Default(u, "MaxResult", &o.MaxResult, 512<<10)
	if err := u.Err(); err != nil {
		return err
	}
	if o.Lease < minLease {
		return misuse("Options.Remember.Lease is %v: it is at least %v", o.Lease, minLease)
	}
	if o.Lease < 4*o.Patience {
		return misuse("Options.Remember.Lease is %v: it is at least four times the Patience, %v", o.Lease, 4*o.Patience)
	}
	return nil
}

// roundMemory is the part of a runtime that only one with a store has.
type roundMemory struct {
	store     store.Store
	turns     *claim.Table
	sealer    claim.Sealer // nil where the records are those of this process
	patience  time.Duration
	maxResult int
	ttl       atomic.Int64  // the longest of the states that ask for a turn
	skew      time.Duration // of the clocks that they are read by
	epoch     atomic.Pointer[string]
}

// newRoundMemory checks the options of a runtime with a store. It is called with the other
// options resolved.
func newRoundMemory(o *Options) (*roundMemory, error) {
	if o.Store == nil {
		if o.Remember != nil {
			return nil, misuse("Options.Remember does nothing without a Store")
		}
		return nil, nil
	}
	var r RememberOptions
	if o.Remember != nil {
		r = *o.Remember
	}
	if err := r.resolve(); err != nil {
		return nil, err
	}
	switch inProcess := o.Store.Scope() == store.Process; {
	case inProcess && !o.State.Ephemeral:
		return nil, misuse("Options.Store is the store of one process, and State has keys that others may share: their rounds would be refused. Leave State.Keys out, or take a store that others share too")
	case !inProcess && o.State.Ephemeral:
		return nil, misuse("Options.Store outlives this process, and the key of its states does not: set State.Keys")
	}
	kept := watched(o.Store, o.Observer)
	m := &roundMemory{store: kept, patience: r.Patience, maxResult: r.MaxResult, skew: cmp.Or(o.State.Skew, statecodec.DefaultSkew)}
	m.ttl.Store(int64(cmp.Or(o.State.TTL, statecodec.DefaultTTL)))
	table := claim.Options{
		Store: kept, Lease: r.Lease, Wait: r.Wait, Patience: r.Patience,
		MaxAttempts: r.MaxAttempts, Skew: m.skew,
	}
	if o.Store.Scope() != store.Process {
		codec, err := o.codecFor("round_record", o.State.TTL, min(tokenFor(r.MaxResult+recordOverhead), statecodec.MaxMaxToken))
		if err != nil {
			return nil, err
		}
		m.sealer = recordSealer{codec}
		table.Sealer = m.sealer
	}
	m.turns = claim.New(table)
	return m, nil
}

// recordOverhead is more than a record holds beside its result.
const recordOverhead = 128 << 10

// recordSealer seals records, each for its own name.
type recordSealer struct{ codec *statecodec.Codec }

func (s recordSealer) Seal(name string, record []byte) ([]byte, error) {
	token, err := s.codec.Seal(statecodec.Binding{Target: name}, record)
	if errors.Is(err, statecodec.ErrTooLarge) {
		return nil, store.ErrTooLarge
	}
	return []byte(token), err
}

func (s recordSealer) Open(name string, sealed []byte) ([]byte, error) {
	return s.codec.Open(statecodec.Binding{Target: name}, string(sealed))
}

// begin is the epoch of a call that begins.
func (m *roundMemory) begin(ctx context.Context) (string, error) {
	if known := m.epoch.Load(); known != nil {
		return *known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	epoch, err := m.store.Epoch(ctx)
	if err != nil {
		return "", err
	}
	m.epoch.Store(&epoch)
	return epoch, nil
}

// forgotten notes that a store does not have the contents that a call relies on.
// The next call asks for the epoch anew.
func (m *roundMemory) forgotten() { m.epoch.Store(nil) }

// remembered reports whether the rounds of this call are remembered. That is decided
// in the first round, and does not change.
func (l *ledger) remembered() bool { return l.st.turns != nil }

// remember makes a call that begins one whose rounds are remembered. Those of a legacy
// client are not: its bridge holds the state, and nobody else can send it.
func (c *Call) remember(ctx context.Context) error {
	m := c.rt.memory
	if m == nil || c.target.unstored || c.ex.client.Era == era.Legacy {
		return nil
	}
	epoch, err := m.begin(ctx)
	if err != nil {
		return c.storeFailed(ctx, err)
	}
	c.st.rememberIn(epoch)
	return nil
}

// stale says why the state of a remembered call cannot be used here, "" if it can.
func (c *Call) stale() string {
	switch {
	case !c.remembered():
		return ""
	case c.rt.memory == nil:
		return "its rounds are remembered in a store, and this instance has none"
	case time.Since(time.UnixMilli(c.st.turns.until)) > c.rt.memory.skew:
		return string(statecodec.ReasonExpired)
	}
	return ""
}

// turn describes the turn that this round claims.
func (c *Call) turn(answers string) claim.Turn {
	return claim.Turn{
		Key:         store.Key{Epoch: c.st.turns.epoch, Name: turnName(c.target.audience, c.principal, c.st.id, c.st.turns.next)},
		Fingerprint: answers,
		Expires:     c.rt.memory.lastUse(time.UnixMilli(c.st.turns.until)),
		Again:       c.target.again,
	}
}

// turnName names the record of a turn: nobody but the call's sender gets at it.
func turnName(audience, principal, call string, turn int) string {
	var sender, text [128]byte
	owner := digest.ShortBytes(append(append(append(sender[:0], audience...), 0), principal...))
	name := append(text[:0], owner[:]...)
	name = append(append(append(name, '.'), call...), '.')
	return string(strconv.AppendInt(name, int64(turn), 10))
}

// lengthen notes states that live for ttl.
func (m *roundMemory) lengthen(ttl time.Duration) {
	for {
		longest := m.ttl.Load()
		if int64(ttl) <= longest || m.ttl.CompareAndSwap(longest, int64(ttl)) {
			return
		}
	}
}

// lastUse is when no instance takes a state any more that ends at until by the clock of
// the one which sealed it.
func (m *roundMemory) lastUse(until time.Time) time.Time { return until.Add(2*m.skew + time.Minute) }

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

// watchedStore tells the observer how long each operation of a store took, and of its failures
// (a conflict is a verdict, not a failure). Operations outside a request, such as signs of
// life and records of tasks, are told too.
type watchedStore struct {
	store.Store
	observer Observer
}

// watched wraps a store for an observer; without one it returns the store. The memory store stays as it is: it never waits.
func watched(s store.Store, o Observer) store.Store {
	if _, instant := s.(*store.Memory); instant || o == nil {
		return s
	}
	w := &watchedStore{s, o}
	if sweeper, ok := s.(store.Sweeper); ok {
		return sweptStore{w, sweeper}
	}
	return w
}

// roundKey is the context key of the *Event that describes a remembered round.
type roundKey struct{}

func (w *watchedStore) tell(ctx context.Context, operation string, began time.Time, err error) {
	e := Event{}
	if round, ok := ctx.Value(roundKey{}).(*Event); ok {
		e = *round
	}
	e.Kind, e.Waited = StoreAsked, 0
	e.Operation, e.Duration = operation, time.Since(began)
	if err != nil && !store.IsVerdict(err) && !errors.Is(err, context.Canceled) {
		e.Err = err
	}
	_ = guard(func() error { w.observer.Observe(ctx, e); return nil })
}

func (w *watchedStore) Epoch(ctx context.Context) (epoch string, err error) {
	defer func(began time.Time) { w.tell(ctx, "epoch", began, err) }(time.Now())
	return w.Store.Epoch(ctx)
}

func (w *watchedStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (at store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "create", began, err) }(time.Now())
	return w.Store.Create(ctx, key, value, ttl)
}

func (w *watchedStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (now store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "update", began, err) }(time.Now())
	return w.Store.Update(ctx, key, at, value, ttl)
}

func (w *watchedStore) Get(ctx context.Context, key store.Key) (value []byte, at store.Revision, err error) {
	defer func(began time.Time) { w.tell(ctx, "get", began, err) }(time.Now())
	return w.Store.Get(ctx, key)
}

// Wait lasts until the record changes, and ends with its context when nothing does.
func (w *watchedStore) Wait(ctx context.Context, key store.Key, at store.Revision) (err error) {
	defer func(began time.Time) {
		if ctx.Err() != nil {
			w.tell(ctx, "wait", began, nil)
			return
		}
		w.tell(ctx, "wait", began, err)
	}(time.Now())
	return store.Wait(ctx, w.Store, key, at)
}

// sweptStore is a watched store that keeps expired records until somebody removes them.
type sweptStore struct {
	*watchedStore
	sweeper store.Sweeper
}

func (s sweptStore) Sweep(ctx context.Context) (left bool, err error) {
	defer func(began time.Time) { s.tell(ctx, "sweep", began, err) }(time.Now())
	return s.sweeper.Sweep(ctx)
}
