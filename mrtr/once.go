package mrtr

import (
	"context"
	"encoding/json"
	"time"
)

// Once runs an effect, an action that must not happen twice, and remembers its
// value under key. Asked for again in a later entry of the handler, as in a later
// round, the effect does not run and Once returns the value.
//
//	booking, err := mrtr.Once(ctx, c, "book", func(ctx context.Context, idem string) (Booking, error) {
//		return desk.Book(ctx, idem, place)
//	})
//
// The same line without Once, above a guard or between two questions of journaled
// code, runs again in every round.
//
//   - The value is always returned as it is after encoding it as JSON and decoding
//     it, the first time as well as later.
//   - Effects are matched by key, not by position. In a loop, give each turn a key of
//     its own.
//   - idem is for systems that honour idempotency keys: pass it on. It is a function
//     of the call, the key, and the answers that the call had when it first tried
//     this effect (their keys, values and the wording of their questions). So it is the
//     same in every attempt and every replay, and differs where the user went back
//     and answered otherwise.
//   - The effect stands on the answers that the call had when it was made. A call in
//     which one of them changes, or whose handler asks for more or completes without
//     coming to the effect, ends with [Diverged], unless [EffectOptions] AnyAnswers allows it.
//   - An error is not remembered: the effect counts as not having happened,
//     and runs when it is asked for again. Code that is replayed ([Journal],
//     [Resumable]) meets the error again on its way there.
//   - Other errors leave it in doubt: a timeout, a context that ended, a connection that
//     was reset, broken, closed or came to its end, [ErrIndeterminate], a panic of f and
//     its Goexit. An effect in doubt is not run again, in this round or a later one, by
//     this instance or another: asked for again it is [OutcomeUnknown], unless
//     [EffectOptions] settle it. A dial that failed did nothing, and [NotDone] says so of
//     any error.
//   - An error is returned as a later replay will return it. It keeps its text.
//     [errors.Is] compares the errors in its chain by type and text. Their own Is methods
//     count only for sentinels of packages context and io/fs. [errors.As] finds errors
//     that survive a round trip through JSON, and those with a Timeout or a ToolError…
//     method. Compare with errors.Is, not with ==.
//   - A panic of f goes on as a panic with a [*PanicError], also in a replay.
//   - The error that ends a call names its effects in doubt.
//   - ctx in f has the values of Once's, and is not cancelled by a client that hangs up
//     or a drain: nothing is cut in the middle because somebody stopped waiting. It ends
//     with the effect's own time ([EffectOptions] Within), with a deadline or a cancel
//     that the author put on the context, and at the end of [Runtime.Close]. An effect
//     that is asked for when the round has ended does not begin.
//   - A report to a client that has left, such as progress, returns an error: f must not
//     fail because of that.
//   - A key stands for one effect: the same key twice in one entry of the handler is a
//     [UsageError], unless the first attempt failed. So is a question asked by linear
//     code while an effect runs.
//   - An effect inside another is part of it: give it the ctx of the outer one.
//   - A value that cannot be encoded is a UsageError, now and whenever it is
//     asked for again: the effect did run, and does not run twice.
//
// A client that cannot be asked is found out when a question is asked: effects
// above the first question have run by then, unless [HandlerOptions] Needs name it.
//
// The promise is "once along one chain of states". A client that sends the same
// state twice, on purpose or for a lost response, gets the effects after that state
// twice; a state that only the client holds cannot prevent that. With [Options.Store]
// the promise is: at most once, or an error that says that it is unknown.
// [EffectOptions] can find out. They may be left out, and nil is the same; more than
// one is a UsageError.
func Once[T any](ctx context.Context, c *Call, key string, f func(ctx context.Context, idem string) (T, error), opts ...*EffectOptions[T]) (T, error) {
	var none T
	if err := checkKey(key); err != nil {
		return none, err
	}
	opt, err := effectOptions(key, opts)
	if err != nil {
		return none, err
	}
	value, idem, err := c.begin(key, opt.anyAnswers())
	if err != nil {
		return none, err
	}
	if idem == "" {
		if lost := c.lost(value, new(T)); lost != "" {
			return none, c.diverged("the value of effect %q %s", key, lost)
		}
		return decodeEffect[T](value, key)
	}
	run := effectRun{call: c, key: key, inner: ctx.Value(insideEffect{}) == c, free: opt.anyAnswers()}
	if value, err = runEffect(ctx, &run, idem, opt, f); err != nil {
		if run.failed != nil {
			err = replayError(run.failed)
		}
		return none, err
	}
	return decodeEffect[T](value, key)
}

// EffectOptions configure one effect of [Once] or [DoStep]. They decide what happens to
// an effect that began and whose outcome nobody knows: the instance died, its time ran
// out, or the answer was lost. The zero value, and nil, leave it unknown.
//
// The effects of a round that was cut off come up again if the handler runs again,
// see [InterruptedAgain].
type EffectOptions[T any] struct {
	// Check asks the system that has the effect. (v, true, nil) says that the effect
	// happened, with the value v. (_, false, nil) says that it did not and that it will
	// not: then it runs. With an error it stays unknown. A payment system that is
	// asked by idem can say so; one that may still get the first request cannot. It is
	// also asked at once when the function ends in doubt.
	Check func(ctx context.Context, idem string) (T, bool, error)
	// Again runs the effect again, with the same idem. It may then happen twice, unless
	// the system that has it honours idempotency keys.
	Again bool
	// AnyAnswers says that the effect stands whatever the answers: a seat that is held
	// while the user looks at others, a page that was counted. Its idem does not depend on
	// them. Any other effect stands on the answers that the call had when it was made: if
	// one of them changes, the call ends with [Diverged].
	AnyAnswers bool
	// Within bounds the effect; 5 minutes if zero. A negative value is a [UsageError].
	Within time.Duration
}

func (o *EffectOptions[T]) anyAnswers() bool { return o != nil && o.AnyAnswers }

// defaultWithin bounds an effect, and a round with a store.
const defaultWithin = 5 * time.Minute

func (o *EffectOptions[T]) within() time.Duration {
	if o == nil || o.Within == 0 {
		return defaultWithin
	}
	return o.Within
}

// effectOptions returns the options of an effect, nil if it has none.
func effectOptions[T any](key string, opts []*EffectOptions[T]) (*EffectOptions[T], error) {
	switch len(opts) {
	case 0:
		return nil, nil
	case 1:
		if o := opts[0]; o != nil && o.Within < 0 {
			return nil, misuse("effect %q has a negative EffectOptions.Within", key)
		}
		return opts[0], nil
	}
	return nil, misuse("effect %q has %d EffectOptions: put all of them into one", key, len(opts))
}

// untyped returns the options for a step, which does not know its type.
func (o *EffectOptions[T]) untyped() *EffectOptions[any] {
	if o == nil {
		return nil
	}
	untyped := &EffectOptions[any]{Again: o.Again, AnyAnswers: o.AnyAnswers, Within: o.Within}
	if check := o.Check; check != nil {
		untyped.Check = func(ctx context.Context, idem string) (any, bool, error) { return check(ctx, idem) }
	}
	return untyped
}

func decodeEffect[T any](value json.RawMessage, key string) (v T, _ error) {
	var none T
	if len(value) == 0 {
		return none, lostValue(misuse("effect %q ran, but its value could not be remembered", key))
	}
	if err := json.Unmarshal(value, &v); err != nil {
		err = misuse("effect %q ran, but its value is not a %T: %v", key, none, err)
		return none, &effectsReported{error: err, effect: effectApplied}
	}
	return v, nil
}

// lostValue marks the error of an effect that ran and whose value is lost.
func lostValue(err error) error { return &effectsReported{error: err, effect: effectUnknown} }

// begin finds the remembered value of an effect, or marks it as running and makes
// its idem.
func (c *Call) begin(key string, free bool) (value json.RawMessage, idem string, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.linear != nil {
		if err := c.linear.failure(c, key); err != nil {
			return nil, "", err
		}
	}
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind.isEffect() && e.key == key {
			if c.linear == nil && e.read || c.linear != nil && c.linear.claimed[key] && !c.linear.ending {
				return nil, "", twice(key, "effects")
			}
			if c.linear != nil {
				c.linear.claim(key)
			}
			e.noteRead()
			return e.value, "", nil
		}
	}
	if c.linear != nil {
		if err := c.linear.mayRun(c, key); err != nil {
			return nil, "", err
		}
	}
	if c.phase == stopping {
		return nil, "", misuse("effect %q does not run: its call has stopped", key)
	}
	if _, running := c.running.keys()[key]; running {
		return nil, "", twice(key, "effects")
	}
	return nil, c.runs(key, ".", free), nil
}

// finish records the outcome of an effect. The effects that ran meanwhile become
// part of it, and code that replays it need not ask for them.
func (c *Call) finish(ran entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := c.running.began[ran.key]
	c.running.end(ran.key)
	c.st.done.nest(began)
	if ran.kind != effectEntry {
		var claimed map[string]bool
		if c.linear != nil {
			claimed = c.linear.claimed
		}
		c.st.done.release(claimed)
	}
	if ran.kind == triedEntry {
		c.st.tried(ran)
		return
	}
	ran.noteRead()
	c.st.record(ran)
	switch {
	case c.linear == nil:
	case ran.kind == failedEntry:
		c.linear.countFailure(ran.key)
	default:
		c.linear.claim(ran.key)
	}
}
