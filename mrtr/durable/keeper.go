// Package durable keeps the rounds of calls in a store: each runs once, at one instance, and to
// its end though its client has left. A request that comes again gets the outcome.
//
//	rt, err := mrtr.New(&mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil)})
package durable

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/store"
)

// Options configure a [Keeper]. The zero value, and nil, mean the defaults. A negative value is
// an error.
type Options struct {
	// Lease is how long the instance that runs a round may be silent before it is taken for
	// dead; 15 seconds if zero, and at least 30 milliseconds.
	Lease time.Duration
	// Wait bounds how long a request waits for the result of an equal one that is running; 20
	// seconds if zero.
	Wait time.Duration
	// Patience bounds one operation of the store; 2 seconds if zero, or a quarter of Lease if
	// that is less. It cannot be more: a holder whose every write took longer than its lease
	// would be taken for dead at work.
	Patience time.Duration
	// MaxAttempts bounds how often one round is begun, where its instance dies each time; 3 if
	// zero.
	MaxAttempts int
	// MaxResult bounds a result that is remembered, as JSON; 512 KiB if zero. A longer one goes
	// out once, and a repeat ends with [mrtr.ResultNotKept]. The store has a limit of its own.
	MaxResult int
	// MaxOrphans bounds the rounds that run though their clients have left; 1,000 if zero.
	// Beyond it no round is begun. One known principal has at most a tenth of them.
	MaxOrphans int
	// LookEvery is how often an instance looks for calls whose users never came back, to undo
	// their effects; a minute if zero.
	LookEvery time.Duration
}

const minLease = 30 * time.Millisecond

func (o *Options) resolve() error {
	u := usage.Of("durable", "Options")
	usage.Default(u, "Lease", &o.Lease, 15*time.Second)
	usage.Default(u, "Wait", &o.Wait, 20*time.Second)
	usage.Default(u, "Patience", &o.Patience, min(2*time.Second, o.Lease/4))
	usage.Default(u, "MaxAttempts", &o.MaxAttempts, 3)
	usage.Default(u, "MaxResult", &o.MaxResult, 512<<10)
	usage.Default(u, "MaxOrphans", &o.MaxOrphans, 1000)
	usage.Default(u, "LookEvery", &o.LookEvery, time.Minute)
	if err := u.Err(); err != nil {
		return err
	}
	switch {
	case o.Lease < minLease:
		return misuse("Options.Lease is %v: it is at least %v", o.Lease, minLease)
	case o.Lease < 4*o.Patience:
		return misuse("Options.Lease is %v: it is at least four times the Patience, %v", o.Lease, 4*o.Patience)
	}
	return nil
}

func misuse(format string, args ...any) error { return usage.New("durable", format, args...) }

// A [listen.Listener] hears these of a Keeper.
const (
	Claimed     listen.EntryKind = "round claimed"            // this request runs the round, and no other
	TakenOver   listen.EntryKind = "round taken over"         // likewise, and goes on with one that was cut off
	Orphaned    listen.EntryKind = "round orphaned"           // its client has left, and it goes on
	Repeated    listen.EntryKind = "round repeated"           // the request got the outcome of an earlier one
	Unknown     listen.EntryKind = "round of unknown outcome" // an earlier request was cut off, and nobody knows what it did
	NotRecorded listen.EntryKind = "round not recorded"       // it ran, and the store did not take its outcome
	Joined      listen.EntryKind = "call joined"              // the request gets what an equal one began; its Key is that call
	KeyRefused  listen.EntryKind = "key refused"              // its key stands for a call with other arguments
	Asked       listen.EntryKind = "store asked"              // an operation of the store has ended; its Key names it
)

// Keeper is a [keep.Keeper] over a store, for one [mrtr.Runtime].
type Keeper struct {
	o        Options
	records  Records
	turns    *claim.Table
	listener listen.Listener
	works    works

	lookAfter func(ctx context.Context, outcome []byte) (done bool) // set before looks
	mu        sync.Mutex
	looks     *time.Timer // for outcomes that are due; nil where no handler needs that
	looking   sync.WaitGroup
	life      context.Context
	stop      context.CancelFunc
}

// In keeps rounds in a store, for [mrtr.Options]. [store.Memory] goes without State.Keys, and a
// store that processes share needs them. Wrong options are an error of [mrtr.New].
func In(s store.Store, opts *Options) keep.Durability {
	var o Options
	if opts != nil {
		o = *opts
	}
	return in{s, o}
}

type in struct {
	store store.Store
	o     Options
}

// Keeper implements [keep.Durability].
func (d in) Keeper(rt keep.Runtime) (keep.Keeper, error) {
	if err := d.o.resolve(); err != nil {
		return nil, err
	}
	if d.store == nil {
		return nil, misuse("In has no store")
	}
	switch inProcess := d.store.Scope() == store.Process; {
	case inProcess && !rt.IsEphemeral():
		return nil, misuse("the store is that of one process, and the states have keys that others may share: their rounds would be refused. Leave State.Keys out, or take a store that others share too")
	case !inProcess && rt.IsEphemeral():
		return nil, misuse("the store outlives this process, and the key of its states does not: set State.Keys")
	}
	k := &Keeper{o: d.o, listener: rt.Listener()}
	k.records.store, k.records.patience = watched(d.store, k.listener), d.o.Patience
	table := claim.Options{
		Store: k.records.store, Lease: k.o.Lease, Wait: k.o.Wait, Patience: k.o.Patience, MaxAttempts: k.o.MaxAttempts,
		Moved: k.moved,
	}
	if _, can := d.store.(store.Sweeper); can {
		table.Sweeper = k.records.store.(store.Sweeper)
	}
	if _, can := d.store.(store.Scheduler); can {
		table.Scheduler = k.records.store.(store.Scheduler)
	}
	if d.store.Scope() != store.Process {
		own, err := rt.Sealer("round_record", 0, k.o.MaxResult+recordOverhead)
		if err != nil {
			return nil, err
		}
		k.records.sealer = sealer{own}
		table.Sealer = k.records.sealer
	}
	k.turns = claim.New(table)
	k.works.max, k.works.maxPrincipal = k.o.MaxOrphans, max(k.o.MaxOrphans/10, 1)
	k.life, k.stop = context.WithCancel(context.Background())
	return k, nil
}

// Begin implements [keep.Keeper].
func (k *Keeper) Begin(ctx context.Context) (mark string, _ error) {
	epoch, err := k.records.Epoch(ctx)
	if err != nil {
		return "", k.refused(ctx, keep.Turn{}, err, false)
	}
	return k.mark(epoch), nil
}

// Keep implements [keep.Keeper]. The round is work of the server's from when it is claimed: until
// then it ends with its request, and from then on by its own time and by Close alone.
func (k *Keeper) Keep(ctx context.Context, t keep.Turn, run func(ctx context.Context, n keep.Notes) keep.Outcome) (keep.Outcome, error) {
	if k.listener != nil {
		at := t.Round
		ctx = context.WithValue(ctx, roundKey{}, &at)
	}
	w := newWork(ctx, t.Round.Principal)
	go func() {
		defer close(w.done)
		defer k.works.leave(w)
		w.err = misuse("a store ended its goroutine with runtime.Goexit")
		defer func() {
			if panicked := recover(); panicked != nil {
				w.err = &mrtr.PanicError{Value: panicked, Stack: stack.Trace(0)}
			}
		}()
		w.out, w.err = k.turn(w, t, run)
	}()
	select {
	case <-w.done:
		return w.out, w.err
	case <-w.givenUp:
		return w.short, nil
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); keep.EndOf(cause) != nil { // which the round ends by itself
		w.cancel(cause)
		select {
		case <-w.done:
			return w.out, w.err
		case <-w.givenUp:
			return w.short, nil
		}
	}
	select {
	case <-w.done: // it was not claimed, or has just ended
		return w.out, w.err
	case <-w.claimed:
	}
	if k.works.orphan(w) {
		k.tell(ctx, t, listen.Entry{Kind: Orphaned})
	}
	return keep.Outcome{Orphaned: true, Err: ctx.Err()}, nil
}

const (
	// lookAt is how many outcomes that are due a Keeper reads at a time.
	lookAt = 100
	// lookPast bounds those of others that it reads beside them.
	lookPast = 1000
)

// Overdue implements [keep.Keeper]. It needs a [store.Scheduler].
func (k *Keeper) Overdue(look func(ctx context.Context, outcome []byte) (done bool)) (looks bool) {
	if k.turns.Scheduler == nil {
		return false
	}
	k.lookAfter = look
	k.lookLater(0)
	return true
}

// lookLater looks in a while. What others have to look after stands in the way of the rest, so it
// reads so many more, up to a bound.
func (k *Keeper) lookLater(others int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.life.Err() == nil {
		k.looks = time.AfterFunc(k.o.LookEvery, func() { k.lookNow(others) })
	}
}

func (k *Keeper) lookNow(others int) {
	k.mu.Lock()
	if k.life.Err() != nil {
		k.mu.Unlock()
		return
	}
	k.looking.Add(1)
	k.mu.Unlock()
	defer k.looking.Done()
	k.lookLater(k.look(others))
}

func (k *Keeper) look(more int) (others int) {
	due, others, _ := k.turns.Overdue(k.life, lookAt+min(more, lookPast))
	for _, turn := range due {
		if k.lookAfter(k.life, turn.Result) {
			k.turns.Settle(k.life, turn)
		} else {
			others++
		}
	}
	return others
}

// Drain implements [keep.Service].
func (k *Keeper) Drain() (empty <-chan struct{}) { return k.works.whenEmpty() }

// Close implements [keep.Service]. It cancels the rounds that run, and waits for them and for the store
// to take their ends: the listener has heard of those that it did not take. It does not close the store.
func (k *Keeper) Close(until time.Time) error {
	k.mu.Lock()
	k.stop()
	if k.looks != nil {
		k.looks.Stop()
	}
	k.mu.Unlock()
	k.works.stop(&keep.CutOff{Why: "the server shut down while this round ran"})
	late := time.NewTimer(time.Until(until))
	defer late.Stop()
	var err error
	select {
	case <-k.works.whenEmpty():
	case <-late.C:
		if n := k.works.count(); n > 0 {
			err = fmt.Errorf("mrtr: Close: %d rounds still running 10s after cancellation", n)
		}
	}
	k.looking.Wait()
	k.turns.Flush(until)
	k.turns.Close()
	return err
}

// Count implements [keep.Service].
func (k *Keeper) Count(s *listen.Stats, _ func(w listen.Waiting, since time.Time)) {
	k.works.mu.Lock()
	defer k.works.mu.Unlock()
	s.Orphans = k.works.orphans
}

// Of is the Keeper of a runtime as one of this package, nil if it is none.
func Of(k keep.Keeper) *Keeper {
	own, _ := k.(*Keeper)
	return own
}

// Records are those of the Keeper's store, for other layers that keep some there.
func (k *Keeper) Records() *Records { return &k.records }

// Lease is that of [Options].
func (k *Keeper) Lease() time.Duration { return k.o.Lease }

// tell tells the listener of something that became of a turn.
func (k *Keeper) tell(ctx context.Context, t keep.Turn, e listen.Entry) {
	if l := k.listener; l != nil {
		at := t.Round
		stack.Guard(func() { l.Heard(ctx, at, e) })
	}
}

var _ keep.Keeper = (*Keeper)(nil)

// epoch of a store is asked for once, and again when the store has forgotten what it had.
type epoch struct {
	atomic.Pointer[string]
	mu    sync.Mutex
	last  string    // guarded by mu
	since time.Time // it is known; guarded by mu
	moved bool      // another one was known before; guarded by mu
}
