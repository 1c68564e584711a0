package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/mrtr-go/sdk/mrtr/internal/failure"
)

// A run of an effect, by Once or as a step: how its function is called, and what is recorded
// of it, in whichever way it ends.

// runEffect runs the function of an effect that was begun, by Once or as a step, and
// records how it ended. Its value is encoded in there, and decoded when it is recorded: the
// author's methods may panic.
func runEffect[T any](ctx context.Context, run *effectRun, idem string, opt *EffectOptions[T], f func(ctx context.Context, idem string) (T, error)) (value json.RawMessage, _ error) {
	defer func(ctx context.Context) { run.finish(ctx, recover()) }(ctx)
	ctx, release, err := run.shield(ctx, opt.within())
	if err != nil {
		run.unbegun = true
		return nil, err
	}
	defer release()
	v, err := attempt(ctx, run, idem, opt, f)
	if err != nil {
		if !run.unbegun {
			run.fail(ctx, err)
		}
		return nil, err
	}
	value, err = json.Marshal(v)
	run.remember(value)
	if err != nil {
		return nil, lostValue(misuse("%s ran, but its value cannot be remembered: %v", run, err))
	}
	return value, nil
}

// effectRun is one run of an effect's function. Its outcome is recorded when
// the function has ended, in whichever way.
type effectRun struct {
	call    *Call
	key     string
	step    bool // it is a step, and not a Once
	inner   bool // it runs inside another effect
	free    bool // it stands whatever the answers
	unbegun bool // its function was not called
	// doubtful: an earlier attempt may have happened. That this one fails settles nothing.
	doubtful bool
	failed   *failure.Failure // of a Once whose function returned an error
	outcome  entry            // of no kind until it is known
}

func (r *effectRun) String() string {
	if r.step {
		return fmt.Sprintf("step %q", effectName(r.key))
	}
	return fmt.Sprintf("effect %q", r.key)
}

func (r *effectRun) open() entry { return openEffect(r.key, r.free) }

// remember records the value. A step without one is in doubt: no code asks for it by
// its key.
func (r *effectRun) remember(value json.RawMessage) {
	if r.step && len(value) == 0 {
		r.failWith(nil, true)
		return
	}
	r.outcome = entry{kind: effectEntry, key: r.key, value: value, unknown: len(value) == 0, free: r.free}
}

// fail records the error of the function. The author of a Once gets it as a replay meets it.
// One that cannot be read, such as a nil pointer, may have been meant as none.
func (r *effectRun) fail(ctx context.Context, err error) {
	unknown := r.doubtful || unreadable(err) != nil || ofUnknownOutcome(ctx, err)
	switch {
	case !r.step:
		r.failed = failureOf(unmarked(err))
	case errors.Is(err, ErrSkip):
		r.outcome = entry{kind: skippedEntry, key: r.key}
		return
	}
	r.failWith(r.failed, unknown)
}

// failWith records a failure. Code that replays meets the error again, unless a replay
// passes over the effect together with the one around it.
func (r *effectRun) failWith(f *failure.Failure, unknown bool) {
	r.outcome = entry{kind: triedEntry, key: r.key, unknown: unknown, free: r.free}
	if l := r.call.linear; l != nil && l.how.replays && !r.inner {
		r.outcome.kind, r.outcome.value = failedEntry, f.Encode()
	}
}

// finish records the outcome, and passes on the panic of a function that panicked.
func (r *effectRun) finish(ctx context.Context, panicked any) {
	var err error
	switch {
	case r.unbegun && panicked == nil:
		r.call.leave(r.key)
		return
	case panicked != nil:
		err = panicError(panicked)
		f := failureOf(err)
		if p, ok := err.(*PanicError); ok {
			p.Value = f.PanicValue(p.Value)
		}
		r.failWith(f, true)
	case r.outcome.kind == "": // it ends its goroutine
		r.failWith(failureOf(errExited), true)
	}
	r.call.finish(r.outcome)
	r.call.journalEnd(r.open())
	if r.outcome.unknown {
		r.doubt(ctx)
	}
	if err != nil {
		panic(err)
	}
}

// attempt finds out about an earlier attempt, if there was one, and makes another.
func attempt[T any](ctx context.Context, run *effectRun, idem string, opts *EffectOptions[T], f func(ctx context.Context, idem string) (T, error)) (v T, err error) {
	var check func(context.Context, string) (T, bool, error)
	again := false
	if opts != nil {
		check, again = opts.Check, opts.Again
	}
	run.doubtful = run.call.inDoubt(run.key)
	if run.doubtful && !(again && check == nil) {
		happened, failed := false, error(ErrIndeterminate)
		if check != nil {
			v, happened, failed = check(ctx, idem)
		}
		switch {
		case failed != nil:
			if run.unbegun = run.call.currentClaim() != nil; run.unbegun { // else a replay has to meet the error
				run.doubt(ctx)
			}
			return v, run.call.unknown(run.key)
		case happened:
			run.foundDone(ctx)
			return v, nil
		}
		run.call.settleDoubt(run.key)
		run.doubtful = false
	}
	if err := run.call.journalStart(ctx, run.open()); err != nil {
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
	return v, NotDone(err)
}

// perform calls an effect's function, and tells the observer of it.
func perform[T any](ctx context.Context, run *effectRun, idem string, f func(ctx context.Context, idem string) (T, error)) (v T, err error) {
	c := run.call
	if c.rt.observer == nil {
		return f(ctx, idem)
	}
	effect := effectName(run.key)
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

func (r *effectRun) doubt(ctx context.Context) { r.call.doubt(ctx, effectName(r.key)) }

// foundDone tells the observer that a check has found the effect done.
func (r *effectRun) foundDone(ctx context.Context) {
	r.call.observe(ctx, Event{Kind: EffectDone, Effect: effectName(r.key), Reason: "a check found it done"})
}

// An effect is not cut in the middle because somebody stopped waiting for it. Its context
// has the values of the round's, and neither its cancellation nor its deadline.

// effectContext is the context of an effect's function. It ends with the runtime's
// effects alone. It tells an effect inside another from one beside it.
type effectContext struct {
	context.Context // ends when Close gives up on effects
	values          context.Context
	call            *Call
}

type insideEffect struct{}

func (c effectContext) Value(key any) any {
	if key == (insideEffect{}) {
		return c.call
	}
	if v := c.Context.Value(key); v != nil { // package context finds the parent by a key
		return v
	}
	return c.values.Value(key)
}

// shield makes the context of an effect from the author's, and keeps of its cancellation
// only what the author added. An effect inside another lives in the
// context of that one. The error is that of a round which has ended, or of a context that
// the author ended: then the effect does not begin.
func (r *effectRun) shield(ctx context.Context, within time.Duration) (_ context.Context, release func(), _ error) {
	if r.inner {
		ctx, cancel := context.WithTimeout(ctx, within)
		return ctx, cancel, nil
	}
	life := r.call.roundLife()
	for _, over := range [...]error{life.Err(), ctx.Err()} {
		if over != nil {
			return nil, nil, over
		}
	}
	until := time.Now().Add(within)
	if own, ok := ctx.Deadline(); ok && own.Before(until) {
		if end, ok := life.Deadline(); !ok || own.Before(end) {
			until = own
		}
	}
	base := effectContext{Context: r.call.rt.effects, values: ctx, call: r.call}
	bounded, end := context.WithDeadline(base, until)
	shielded, cancel := context.WithCancelCause(bounded)
	unhook := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled && life.Err() == nil {
			cancel(context.Cause(ctx))
		}
	})
	cl := r.call.currentClaim()
	cl.ran(until, true)
	return shielded, func() {
		cl.ran(until, false)
		unhook()
		cancel(context.Canceled)
		end()
	}, nil
}

// roundLife is the context that ends with the round.
func (c *Call) roundLife() context.Context {
	if c.linear != nil {
		return &c.linear.ctx
	}
	return c.life
}

// ofUnknownOutcome reports whether an error of an effect leaves open whether the effect
// happened: its time ran out, it was cancelled, its connection ended after the request
// may have been sent, or the error says so itself. ctx is that of the effect.
func ofUnknownOutcome(ctx context.Context, err error) bool {
	if known := (*notDone)(nil); errors.As(err, &known) {
		return false
	}
	if dial := (*net.OpError)(nil); errors.As(err, &dial) && dial.Op == "dial" {
		return false // nothing was sent
	}
	var timeout interface{ Timeout() bool }
	var effect interface{ ToolErrorEffect() string }
	return ctx.Err() != nil ||
		slices.ContainsFunc(endsInDoubt, func(end error) bool { return errors.Is(err, end) }) ||
		errors.As(err, &timeout) && timeout.Timeout() ||
		errors.As(err, &effect) && effect.ToolErrorEffect() != "" && effect.ToolErrorEffect() != effectUndone
}

// endsInDoubt are the errors after which the other side may have done its work.
var endsInDoubt = []error{
	ErrIndeterminate, context.DeadlineExceeded, context.Canceled,
	io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE,
}

// NotDone marks an error of an effect as one after which the effect has not happened and
// will not: the bank's timeout while it only looked up the account, say. Without it a
// timeout, a cancelled context and a connection that ended leave the effect in doubt, see
// [Once]. The text and the chain stay those of err, and NotDone(nil) is nil.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return &notDone{err}
}

type notDone struct{ error }

func (e *notDone) Unwrap() error { return e.error }

// unmarked is the error as its client gets it.
func unmarked(err error) error {
	if known, ok := err.(*notDone); ok {
		return known.error
	}
	return err
}

// attemptUnknown is the detail of a round that ended with an effect in doubt.
const attemptUnknown = "an effect of this call was begun before, and nobody knows how it ended"

// unknown ends the round with an effect in doubt. The client gets the error,
// whatever the handler makes of it.
func (l *ledger) unknown(key string) error {
	err := outcomeUnknown(attemptUnknown, l.outcome().applied, []string{key})
	l.breakTurn(err)
	return err
}
