package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// OnceOptions say what to do about an effect that was begun, and of which nobody knows
// whether it happened: the instance died, its time ran out, or the answer was lost.
// The zero value, and nil, leave it unknown.
//
// The effects of a round that was cut off come up again where the handler runs again,
// see [InterruptedAgain].
type OnceOptions[T any] struct {
	// Check asks the system that has the effect. (v, true, nil) tells that the effect
	// happened, with the value v. (_, false, nil) tells that it did not and that it will
	// not: then it runs. With an error it stays unknown. A payment system that is
	// asked by idem can tell; one that may still get the first request cannot.
	Check func(ctx context.Context, idem string) (T, bool, error)
	// Again runs the effect again, with the same idem. It may then happen twice, unless
	// the system that has it honours idempotency keys.
	Again bool
}

// untyped are the options of a step, which has no type.
func (o *OnceOptions[T]) untyped() *OnceOptions[any] {
	if o == nil {
		return nil
	}
	untyped := &OnceOptions[any]{Again: o.Again}
	if check := o.Check; check != nil {
		untyped.Check = func(ctx context.Context, idem string) (any, bool, error) { return check(ctx, idem) }
	}
	return untyped
}

// ErrIndeterminate, returned by an effect's function, tells that nobody knows whether
// the effect happened. The error of a context, and one that timed out, tell the same.
var ErrIndeterminate = errors.New("mrtr: nobody knows whether the effect happened")

// OnceWith is [Once] for an effect that can be asked about, or repeated. A Check is
// also asked at once when the function ends with [ErrIndeterminate].
func OnceWith[T any](ctx context.Context, c *Call, key string, opts *OnceOptions[T], f func(ctx context.Context, idem string) (T, error)) (T, error) {
	var none T
	if err := checkKey(key); err != nil {
		return none, err
	}
	value, idem, err := c.begin(key)
	if err != nil {
		return none, err
	}
	if idem == "" {
		return decodeEffect[T](value, key)
	}
	run := effectRun{call: c, key: key, inner: ctx.Value(insideEffect{}) == c}
	defer func() { run.finish(recover()) }()
	v, err := attempt(effectContext{ctx, c}, &run, idem, opts, f)
	if err != nil {
		if run.unbegun {
			return none, err
		}
		return none, run.fail(ctx, err)
	}
	value, err = json.Marshal(v)
	run.remember(value)
	if err != nil {
		return none, lostValue(misuse("effect %q ran, but its value cannot be remembered: %v", key, err))
	}
	return decodeEffect[T](value, key)
}

// attempt finds out about an earlier attempt, if there was one, and makes another.
func attempt[T any](ctx context.Context, run *effectRun, idem string, opts *OnceOptions[T], f func(ctx context.Context, idem string) (T, error)) (v T, err error) {
	var check func(context.Context, string) (T, bool, error)
	again := false
	if opts != nil {
		check, again = opts.Check, opts.Again
	}
	switch run.call.doubt(run.key) {
	case cutOffBefore:
		if check == nil && !again {
			run.unbegun = true
			return v, run.call.unknown(run.key)
		}
		if check != nil {
			v, happened, err := check(ctx, idem)
			if err != nil {
				run.unbegun = true
				return v, run.call.unknown(run.key)
			}
			if happened {
				run.foundDone(ctx)
				return v, nil
			}
		}
	case triedBefore:
		if check != nil {
			v, happened, err := check(ctx, idem)
			if happened && err == nil {
				run.foundDone(ctx)
			}
			if happened || err != nil {
				return v, stillUnknown(err)
			}
		}
	}
	if err := run.call.noteBegin(ctx, run.key); err != nil {
		run.unbegun = true
		return v, err
	}
	if v, err = perform(ctx, run, idem, f); err == nil || check == nil || ctx.Err() != nil || !ofUnknownOutcome(ctx, err) {
		return v, err
	}
	known, happened, failed := check(ctx, idem)
	switch {
	case failed != nil:
		return v, err
	case happened:
		run.foundDone(ctx)
		return known, nil
	}
	return v, &didNotHappen{err}
}

// perform calls an effect's function, and tells the observer of it.
func perform[T any](ctx context.Context, run *effectRun, idem string, f func(ctx context.Context, idem string) (T, error)) (v T, err error) {
	c := run.call
	if c.rt.observer == nil {
		return f(ctx, idem)
	}
	effect := strings.TrimPrefix(run.key, stepPrefix)
	c.observe(ctx, Event{Kind: EffectStarted, Effect: effect})
	began, returned := time.Now(), false
	defer func() {
		e := Event{Kind: EffectDone, Effect: effect, Duration: time.Since(began)}
		switch {
		case !returned:
			e.Kind, e.Reason = EffectFailed, "it did not return"
		case errors.Is(err, ErrSkip):
			e.Reason = "skipped"
		case err != nil:
			e.Kind, e.Err = EffectFailed, err
		}
		c.observe(ctx, e)
	}()
	v, err = f(ctx, idem)
	returned = true
	return v, err
}

// foundDone tells the observer that a check has found the effect done.
func (r *effectRun) foundDone(ctx context.Context) {
	r.call.observe(ctx, Event{Kind: EffectDone, Effect: strings.TrimPrefix(r.key, stepPrefix), Reason: "a check found it done"})
}

func stillUnknown(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(ErrIndeterminate, err)
}

// didNotHappen is an error of unknown outcome after a Check has told the outcome.
type didNotHappen struct{ error }

func (e *didNotHappen) Unwrap() error { return e.error }
