package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr/internal/failure"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// An Action is the function of an effect. idem, the same in every attempt, is for systems that
// honour idempotency keys.
type Action[T any] func(ctx context.Context, idem string) (T, error)

// An Act is an [Action] without a value.
type Act func(ctx context.Context, idem string) error

// EffectOptions settle an effect that began and whose end is unknown.
type EffectOptions[T any] struct {
	// Check asks the system that has the effect whether it happened, and for its value. After
	// false it runs; after an error it stays in doubt.
	Check func(ctx context.Context, idem string) (T, bool, error)
	// CheckFirst asks Check before the first attempt too.
	CheckFirst bool
	// Again runs it again with the same idem.
	Again bool
	// AnyAnswers: the effect stands whatever the answers are. Else a changed answer ends the
	// call with [Diverged].
	AnyAnswers bool
	// Within bounds the effect; 5 minutes if zero.
	Within time.Duration
}

// Once runs an effect that must not happen twice, and remembers its value under key, as JSON.
// Later rounds get that.
//
//	booking, err := mrtr.Once(ctx, c, "book", func(ctx context.Context, idem string) (Booking, error) {
//		return desk.Book(ctx, idem, place)
//	})
//
// It happens once along a chain of states; with a store, at most once in a call; with a client's
// key, once for all requests with it. After an error it may run again. A timeout, a lost
// connection and [ErrIndeterminate] leave it in doubt, unless marked with [NotDone]: the call
// ends with [OutcomeUnknown] if no [EffectOptions] settle it.
func Once[T any](ctx context.Context, c *Call, key string, f Action[T], o ...*EffectOptions[T]) (v T, _ error) {
	if err := usage.CheckKey(key); err != nil {
		return v, err
	}
	return effect(ctx, c.pass, c.prefix+key, f, o)
}

// Do is [Once] for an effect that has no value worth keeping.
func Do(ctx context.Context, c *Call, key string, f Act, o ...*EffectOptions[struct{}]) error {
	_, err := Once(ctx, c, key, func(ctx context.Context, idem string) (struct{}, error) { return struct{}{}, f(ctx, idem) }, o...)
	return err
}

func effect[T any](ctx context.Context, p *Pass, key string, f Action[T], o []*EffectOptions[T]) (v T, _ error) {
	own, err := effectOptions(key, o)
	if err != nil {
		return v, err
	}
	a := attempt{p: p, key: key, free: own.AnyAnswers, checks: own.Check != nil, inner: ctx.Value(inside{}) == p}
	value, found, err := a.begin()
	switch {
	case err != nil:
		return v, err
	case !found:
		value, err = run(ctx, &a, &own, f)
	default:
		if lost := p.Mismatch(key, new(T)); lost != "" {
			err = p.Diverge("the value of effect %q %s", shown(key), lost)
		}
	}
	if err != nil {
		return v, err
	}
	if len(value) == 0 {
		return v, lostValue(misuse("effect %q ran, but its value could not be remembered", shown(key)))
	}
	if err := json.Unmarshal(value, &v); err != nil {
		err = misuse("effect %q ran, but its value is not a %T: %v", shown(key), v, err)
		return v, report.With(err, report.Applied, "")
	}
	return v, nil
}

func effectOptions[T any](key string, opts []*EffectOptions[T]) (o EffectOptions[T], _ error) {
	switch {
	case len(opts) > 1:
		return o, misuse("effect %q has %d EffectOptions: put all of them into one", shown(key), len(opts))
	case len(opts) == 1 && opts[0] != nil:
		o = *opts[0]
	}
	switch {
	case o.Within < 0:
		return o, misuse("effect %q has a negative EffectOptions.Within", shown(key))
	case o.CheckFirst && o.Check == nil:
		return o, misuse("effect %q has EffectOptions.CheckFirst and no Check", shown(key))
	case o.Within == 0:
		o.Within = defaultWithin
	}
	return o, nil
}

// attempt is one attempt at an effect.
type attempt struct {
	p             *Pass
	key           string
	idem          string
	free          bool
	checks        bool // its author can find out whether it happened
	inner         bool // it runs inside another effect
	since         int  // length of the history when it began
	doubtful      bool // an earlier attempt may have happened
	began         time.Time
	effectContext effectContext
}

type inside struct{}

// begin finds the value of an effect that happened, or marks the effect as running.
func (a *attempt) begin() (value json.RawMessage, found bool, err error) {
	var meets *failure.Failure
	a.p.locked(func(l *ledger) {
		p, h := a.p, l.st.done
		if meets, err = a.failure(h); meets != nil || err != nil {
			return
		}
		if e := h.effect(a.key); e != nil {
			if slices.Contains(p.used, a.key) {
				err = twice(shown(a.key), "effects")
				return
			}
			p.used, value, found = append(p.used, a.key), e.value, true
			return
		}
		if p.asker != nil {
			if err = p.asker.MayRun(shown(a.key), h.count(listen.Answered)); err != nil {
				return
			}
		}
		if l.isRunning(a.key) {
			err = twice(shown(a.key), "effects")
			return
		}
		a.since = len(h)
		l.run(runningEffect{key: a.key, free: a.free, until: time.Now().Add(defaultWithin)})
		a.idem, a.doubtful = l.idem(a.key, a.free), l.inDoubt(a.key)
	})
	if meets != nil {
		err = meet(meets)
	}
	return value, found, err
}

// failure is the next failure of the effect that an earlier round met and this pass has not,
// in code that replays.
func (a *attempt) failure(h history) (_ *failure.Failure, err error) {
	if !a.p.replays {
		return nil, nil
	}
	skip := 0
	for _, key := range a.p.met {
		if key == a.key {
			skip++
		}
	}
	for i := range h {
		if h[i].kind != listen.Failed || h[i].key != a.key {
			continue
		}
		if skip--; skip < 0 {
			a.p.met = append(a.p.met, a.key)
			f, err := failure.Read(h[i].value)
			if err != nil {
				return nil, a.p.Diverge("the failure of effect %q cannot be read", shown(a.key))
			}
			return f, nil
		}
	}
	return nil, nil
}

// run makes the attempt, and records how it ended, in whichever way. The value is encoded in
// here, and decoded when it is recorded: the author's methods may panic.
func run[T any](ctx context.Context, a *attempt, o *EffectOptions[T], f Action[T]) (value json.RawMessage, err error) {
	ending := entry{key: a.key, free: a.free, checks: a.checks, doubt: true} // of an attempt that does not return
	begun, returned := false, false
	defer func() {
		panicked := recover()
		cause := err
		if !returned {
			cause = ended(false, panicked, nil)
			ending = a.failed(failureOf(cause), true)
			if p, ok := cause.(*PanicError); ok && panicked != nil {
				p.Value = failureOf(cause).PanicValue(p.Value)
			}
		}
		about := listen.Entry{Err: cause}
		if !returned {
			about = listen.Entry{Reason: "it did not return"}
		}
		a.end(begun || !returned, ending, about)
		if panicked != nil {
			panic(cause)
		}
	}()
	ctx, cancel, err := a.shield(ctx, o.Within)
	if err != nil {
		returned = true
		return nil, err
	}
	defer cancel()
	v, done, err := resolveDoubt(ctx, a, o)
	begun = done || err != nil && a.meetsAgain()
	if err == nil && !done {
		if err = a.note(ctx); err == nil {
			begun = true
			v, err = perform(ctx, a, o, f)
		}
	}
	if err != nil {
		if begun {
			ending, err = a.ending(ctx, err)
		}
		returned = true
		return nil, err
	}
	value, err = json.Marshal(v)
	ending.kind, ending.value, ending.doubt, ending.found = listen.Happened, value, err != nil, done
	returned = true
	if err != nil {
		return nil, lostValue(misuse("effect %q ran, but its value cannot be remembered: %v", shown(a.key), err))
	}
	return value, nil
}

// perform calls the function, and has an end in doubt checked at once.
func perform[T any](ctx context.Context, a *attempt, o *EffectOptions[T], f Action[T]) (v T, err error) {
	a.began = time.Now()
	v, err = f(ctx, a.idem)
	if err == nil || o.Check == nil || ctx.Err() != nil || !inDoubt(ctx, err) {
		return v, err
	}
	found, happened, failed := o.Check(ctx, a.idem)
	switch {
	case failed != nil:
		return v, err
	case happened:
		return found, nil
	}
	return v, NotDone(err)
}

// resolveDoubt finds out about an earlier attempt whose outcome is unknown, or that left no trace.
func resolveDoubt[T any](ctx context.Context, a *attempt, o *EffectOptions[T]) (v T, happened bool, err error) {
	if !a.doubtful && !o.CheckFirst || a.doubtful && o.Again && o.Check == nil {
		return v, false, nil
	}
	failed := error(ErrIndeterminate)
	if o.Check != nil {
		v, happened, failed = o.Check(ctx, a.idem)
	}
	if failed != nil {
		l := a.p.at.Load()
		unknown := &Error{Reason: OutcomeUnknown, Detail: unknownEnd, Unknown: []string{shown(a.key)}}
		err = unknown
		a.p.locked(func(l *ledger) {
			if !l.st.done.inDoubt(a.key) { // an attempt that left no trace
				if l.doubts {
					unknown.Detail = forgetful
				}
				l.st.done = append(l.st.done, entry{kind: listen.Tried, key: a.key, doubt: true, free: a.free, checks: a.checks})
			}
			l.hear(listen.Entry{Kind: listen.InDoubt, Key: shown(a.key)})
		})
		if l.notes != nil {
			l.give(err)
		}
		return v, false, err
	}
	if !happened {
		a.p.locked(func(l *ledger) { l.st.done.settle(a.key) })
		a.doubtful = false
	}
	return v, happened, nil
}

// meetsAgain reports whether the code survives a doubt that can't be settled, and meets it again in
// each later round. With a Keeper the doubt ends its round.
func (a *attempt) meetsAgain() bool { return a.p.replays && a.p.at.Load().notes == nil }

// note writes down that the effect is about to begin, if a Keeper has the round.
func (a *attempt) note(ctx context.Context) error {
	l := a.p.at.Load()
	if err := l.noteBegun(ctx, entry{kind: listen.Tried, key: a.key, doubt: true, free: a.free, checks: a.checks}); err != nil {
		return err
	}
	l.locked(func() { l.hear(listen.Entry{Kind: listen.Begun, Key: shown(a.key)}) })
	return nil
}

// ending is the entry of an attempt that returned an error, and the error as its author gets
// it. An error whose methods panic, such as a nil pointer, may have been meant as none.
func (a *attempt) ending(ctx context.Context, err error) (entry, error) {
	var stop *stopped
	if errors.Is(err, ErrSkip) || errors.As(err, &stop) {
		return entry{kind: listen.Tried, key: a.key}, err
	}
	doubt := a.doubtful || unreadable(err) != nil || inDoubt(ctx, err)
	f := failureOf(err)
	return a.failed(f, doubt), meet(f)
}

// failed is the entry of an attempt that failed. Code that replays meets the error again, unless
// a replay passes over the effect together with the one around it.
func (a *attempt) failed(f *failure.Failure, doubt bool) entry {
	e := entry{kind: listen.Tried, key: a.key, free: a.free, checks: a.checks, doubt: doubt}
	if a.p.replays && !a.inner {
		e.kind, e.value = listen.Failed, f.Encode()
	}
	return e
}

// end records how the attempt ended. Effects that ran meanwhile become part of it.
func (a *attempt) end(ran bool, ending entry, about listen.Entry) {
	if !a.began.IsZero() {
		about.Took = time.Since(a.began)
	}
	switch {
	case errors.Is(about.Err, ErrSkip):
		about.Err, about.Reason = nil, "skipped"
	case ending.kind == listen.Happened && a.began.IsZero():
		about.Reason = "a check found it done"
	}
	l := a.p.at.Load()
	a.p.locked(func(l *ledger) {
		l.ended(a.key)
		if !ran {
			return
		}
		l.st.done.nest(min(a.since, len(l.st.done)))
		l.grow(ending, about)
		switch ending.kind {
		case listen.Happened:
			a.p.used = append(a.p.used, a.key)
			return
		case listen.Failed:
			a.p.met = append(a.p.met, a.key)
		}
		a.p.used = slices.DeleteFunc(a.p.used, func(key string) bool { // what ran inside may be asked for again
			return l.st.done.find(func(e *entry) bool { return e.kind == listen.Nested && e.key == key }) != nil
		})
	})
	if l.notes != nil {
		l.noteEnded(&entry{kind: listen.Tried, key: a.key})
	}
}

// effectContext is a context without its end, whose effects know which pass they are inside of.
type effectContext struct {
	values context.Context
	life   context.Context // of all effects of the runtime
	p      *Pass
}

func (l *effectContext) Deadline() (end time.Time, ok bool) { return end, false }
func (l *effectContext) Done() <-chan struct{}              { return l.life.Done() }
func (l *effectContext) Err() error                         { return l.life.Err() }
func (l *effectContext) Value(key any) any {
	if key == (inside{}) {
		return l.p
	}
	if v := l.life.Value(key); v != nil { // package context finds the parent by a key
		return v
	}
	return l.values.Value(key)
}

// shield makes the context of an effect: no effect is cut in the middle because its client stopped
// waiting. It has the values of the author's context, and of its cancellation only what the
// author added. It ends with the effect's own time, and when Close gives up on effects. An
// effect inside another lives in the context of that one. The error is that of a round which
// has ended: then the effect does not begin.
func (a *attempt) shield(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc, error) {
	if a.inner {
		ctx, cancel := context.WithTimeout(ctx, within)
		return ctx, cancel, nil
	}
	l := a.p.at.Load()
	life := l.life
	if a.p.asker != nil {
		life = a.p.asker.Life()
	}
	if err := life.Err(); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	until := time.Now().Add(within)
	if own, ok := ctx.Deadline(); ok && own.Before(until) {
		if end, ok := life.Deadline(); !ok || own.Before(end) {
			until = own
		}
	}
	a.p.locked(func(l *ledger) {
		for i := range l.running {
			if e := &l.running[i]; e.key == a.key {
				e.until = until
			}
		}
	})
	a.effectContext = effectContext{ctx, l.target.rt.effects, a.p}
	bounded, end := context.WithDeadline(&a.effectContext, until)
	if ctx == life { // all that could end it is what it is shielded from
		return bounded, end, nil
	}
	shielded, cancel := context.WithCancelCause(bounded)
	unhook := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled && life.Err() == nil {
			cancel(context.Cause(ctx))
		}
	})
	return shielded, func() { unhook(); cancel(context.Canceled); end() }, nil
}
