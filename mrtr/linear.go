package mrtr

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime"
	"sync/atomic"

	"github.com/mrtr-go/sdk/mrtr/internal/weight"
)

// LinearFunc is a handler that reads from top to bottom: it asks with [Ask] and
// goes on below with the answer. Its effects belong in [Once].
type LinearFunc[In, Out any] func(ctx context.Context, c *Call, in In) (Out, error)

// Coroutine holds a linear handler where it asks, and lets it go on when the
// answer comes. Its goroutine is parked in this process, so the next round has to reach this
// process: anywhere else, and after a restart or too long a wait, the call ends with
// [FrameGone]. On several instances use [Resumable] or [Journal], or route each round to the
// instance that asked, as mcphttp.Router does.
//
// The context of a held handler has a life of its own: it carries the values of
// the running round, is cancelled with that round, with the frame and with the
// runtime, and has no deadline of an earlier round.
func Coroutine[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{parks: true})
}

// Journal holds nothing: in each round the handler runs again from its top, and
// every question and effect that happened before returns its earlier value, from
// the journal in the state. The rest of the code must do the same each time: put
// the clock, chance, and anything else that may differ into [Once]. A handler that
// takes another way than before ends the call with [Diverged], unless a deployment
// changed a question and the call can go back to it ([HandlerOptions.Version]).
//
// Deferred functions run at the end of every round, also of one that only asks: do
// not release in one a resource that [Once] acquired.
func Journal[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{replays: true})
}

// Resumable holds a linear handler as [Coroutine] does, and replays the journal
// where the frame is gone. It asks of the handler the same as Journal. If others need the
// room, a handler that has waited long is unwound before its time, see [Limits] MaxFrames:
// so its call is never refused for want of room.
func Resumable[In, Out any](h LinearFunc[In, Out]) Style[In, Out] {
	return linear(h, linearStyle{parks: true, replays: true})
}

// linearStyle says how a linear handler survives between two rounds: it is held
// (parks), or can run again from the journal (replays).
type linearStyle struct{ parks, replays bool }

// linearBody is a linear handler in one of its calls.
type linearBody[In, Out any] struct {
	handler LinearFunc[In, Out]
	in      In
	out     Out
}

func (b *linearBody[In, Out]) run(ctx context.Context, c *Call) (err error) {
	b.out, err = b.handler(ctx, c, b.in)
	return err
}

func (b *linearBody[In, Out]) weigh(limit int) int { return weight.Of(&b.in, limit) }

func linear[In, Out any](h LinearFunc[In, Out], how linearStyle) Style[In, Out] {
	if h == nil {
		return Style[In, Out]{}
	}
	name, cutOff := coroutineStyle, cannotRunAgain
	if how.replays {
		name, cutOff = journalStyle, runsAgain
	}
	return Style[In, Out]{styleFacts: styleFacts{replays: how.replays, cutOff: cutOff}, enter: func(ctx context.Context, c *Call, in In) (*IncompleteResult, Out, error) {
		var none Out
		if err := c.useStyle(name); err != nil {
			return nil, none, err
		}
		r, err := c.takeFrame(how)
		if err != nil {
			return nil, none, err
		}
		if r == nil {
			r = newLinearRun(c, how, &linearBody[In, Out]{handler: h, in: in})
			if err := c.startRun(ctx, r); err != nil {
				return nil, none, err
			}
		}
		b, ok := r.body.(*linearBody[In, Out])
		if !ok { // the tool's name now stands for a handler with other types
			r.end(context.Canceled)
			return nil, none, &Error{Reason: FrameGone}
		}
		c.onlyHere = !how.replays
		t, err := r.resume(ctx, c)
		if err != nil {
			return nil, none, err
		}
		if t.ended() || !how.parks {
			c.linear = nil // it has left the table
		}
		if t.ended() {
			return nil, b.out, t.err
		}
		questions := make([]AnyQuestion, len(t.specs))
		for i, sp := range t.specs {
			questions[i] = sp
		}
		return Need(questions...), none, nil
	}}
}

// linearContext is the context of a held handler, as [Coroutine] describes it.
type linearContext struct {
	context.Context
	cancel context.CancelCauseFunc
	round  atomic.Pointer[context.Context]
}

func (c *linearContext) start() {
	c.Context, c.cancel = context.WithCancelCause(context.Background())
}

// endOf says why a call has ended whose handler is still held: its request ended, or
// else its user declined or did not answer, which is no more than that.
func endOf(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return context.Canceled
}

func (c *linearContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	if round := c.round.Load(); round != nil {
		return (*round).Value(key)
	}
	return nil
}

// linearRun is a linear handler on a goroutine that belongs to the engine. The
// two alternate: resume lets the handler run, and await hands over to the engine.
//
// The goroutine ends by returning, by a panic, or by [runtime.Goexit] when no
// round will go on with it: then deferred functions run, no recover in the
// handler's code can stop it, and no further effect of the call runs.
type linearRun struct {
	call      *Call // the handler's own: each round fills it, and reads it back
	pass      Call
	own       ledger
	body      body
	how       linearStyle
	handovers chan handover // from the handler; room for two, so that it never waits
	wake      chan bool     // to the handler: go on, or end
	ctx       linearContext
	started   bool
	input     int // bytes that the input holds; of a resource, those of its address

	// Guarded by call.mu.
	waiting bool // for answers: no effect of the call may run
	ending  bool // no effect of the call may run any more
	alone   bool // no round will receive the handler's last handover
	// released: its call goes on without it, with the functions of OnStop.
	released bool
	// finished: the handler's goroutine has handed over what it leaves.
	finished bool
	cause    error // why the engine ended it
	err      error // why it ended
	journal

	place // in the table of frames
}

// body is the author's code with its input, and its result once it has run.
type body interface {
	run(ctx context.Context, c *Call) error
	// weigh estimates the memory of the input, up to just over a limit.
	weigh(limit int) int
}

// handover goes from the handler to the engine when the handler stops: its questions, or,
// without any, its end.
type handover struct {
	specs []*spec
	err   error
}

func (t handover) ended() bool { return len(t.specs) == 0 }

func newLinearRun(round *Call, how linearStyle, b body) *linearRun {
	r := &linearRun{how: how, body: b, handovers: make(chan handover, 2), wake: make(chan bool, 1)}
	if how.parks {
		r.input = b.weigh(round.rt.opts.MaxFrameBytes)
	}
	r.own = ledger{rt: round.rt, target: round.target, principal: round.principal}
	r.pass = Call{ledger: &r.own, linear: r}
	r.call = &r.pass
	r.ctx.start()
	return r
}

// weigh estimates the memory that a parked handler holds on to, beside its own stack
// and variables: its input and the memory of the state.
func (r *linearRun) weigh() int {
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	return r.input + r.call.st.weight()
}

// resume lets the handler go on until it asks, ends, or the round is over.
func (r *linearRun) resume(ctx context.Context, round *Call) (handover, error) {
	r.fill(round)
	r.ctx.round.Store(&ctx)
	if r.started {
		select {
		case r.wake <- true:
		default: // full: it was told to end meanwhile
		}
	} else {
		r.started = true
		go r.main()
	}
	t, err := r.receive(ctx, round)
	if err == nil && !t.ended() && !r.how.parks {
		// A run that is not held is unwinding. Its deferred functions are part of the
		// round, which has to wait for them.
		var end handover
		if end, err = r.receive(ctx, round); end.err != nil {
			t = end
		}
	}
	r.readBack(round)
	return t, err
}

// fill gives the handler's call the request, and the answers, of a round.
func (r *linearRun) fill(round *Call) {
	if cl := round.claim; cl != nil { // whose lock comes before that of the call
		cl.mu.Lock()
		cl.runner = r.call.ledger
		cl.mu.Unlock()
	}
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	r.call.ex, r.call.st, r.call.answered, r.call.claim = round.ex, round.st, round.answered, round.claim
	r.call.phase = round.phase
	r.waiting = false
}

// readBack copies the handler's answers and effects into the round. The round does not
// learn the outcome of an effect that still runs, which only a handler that has ended or
// was given up leaves behind.
func (r *linearRun) readBack(round *Call) {
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	round.st, round.hooks = r.call.st, r.call.hooks
	if r.call.running.any() {
		round.st.unshare()
		round.running = &underway{of: r.call.ledger, began: maps.Clone(r.call.running.began)}
	}
}

// releaseRound lets go of a round's request while the handler waits for the next.
func (r *linearRun) releaseRound() {
	r.ctx.round.Store(nil)
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	ex := &r.call.ex
	*ex = exchange{method: ex.method, name: ex.name, client: ex.client}
}

// receive waits for the handler as long as the round lasts. A round of the server's waits
// on for a handler that was told to end: nobody else does. So does one whose task was
// cancelled.
func (r *linearRun) receive(ctx context.Context, round *Call) (handover, error) {
	select {
	case t := <-r.handovers:
		return t, nil
	case <-ctx.Done():
		var givenUp <-chan struct{}
		if w := round.ex.work; w != nil {
			givenUp = w.givenUp
		}
		if givenUp != nil || round.isTaskCancelled(ctx) {
			r.stop(context.Cause(ctx))
			for {
				select {
				case t := <-r.handovers:
					if t.ended() || !r.how.parks {
						return t, nil
					}
					// It asked just before it was told: nobody holds it now, and its end follows.
				case <-givenUp:
					return handover{}, ctx.Err()
				}
			}
		}
		r.end(context.Cause(ctx))
		return handover{}, ctx.Err()
	}
}

// end ends a run that no round will resume.
func (r *linearRun) end(cause error) {
	r.call.mu.Lock()
	r.alone = true
	r.call.mu.Unlock()
	r.stop(cause)
}

// leavesStops reports whether the functions of OnStop are left to the handler's goroutine,
// since it is at work: they run when it has ended, and its effect with it.
func (r *linearRun) leavesStops() bool {
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	if !r.started || r.finished || r.waiting {
		return false
	}
	r.alone = true
	return true
}

// release ends a held run that no round will resume. Its call ends with it, unless
// another run can replay it: then nothing is undone.
func (r *linearRun) release(cause error) {
	if r.how.replays {
		r.call.takeStops()
		r.call.mu.Lock()
		r.released = true
		r.call.mu.Unlock()
	}
	r.end(cause)
}

func (r *linearRun) isReleased() bool {
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	return r.released
}

// stop ends a run whose last handover a round is going to receive.
func (r *linearRun) stop(cause error) {
	r.call.mu.Lock()
	r.ending = true
	if r.cause == nil {
		r.cause = cause
	}
	r.call.mu.Unlock()
	r.ctx.cancel(cause)
	select {
	case r.wake <- false:
	default: // it is running, and will see that it is ending
	}
}

// main is the handler's goroutine.
func (r *linearRun) main() {
	returned := false
	defer func() { r.finish(returned, recover()) }()
	err := r.body.run(&r.ctx, r.call)
	cancelled := errors.Is(err, context.Canceled)
	returned = true
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	switch {
	case r.err != nil:
	case err == nil:
		r.err = r.unread(r.call)
	case r.cause != nil && cancelled:
		r.err = r.cause
	default:
		r.err = err
	}
}

// finish is the last call of the handler's goroutine: it leaves the table and
// passes on how the handler ended.
func (r *linearRun) finish(returned bool, panicked any) {
	r.call.mu.Lock()
	switch {
	case panicked != nil:
		r.err = panicError(panicked)
	case returned || r.err != nil:
	case r.ending:
		r.err = r.cause // nil where it waits for answers to its journal
	default:
		r.err = errExited
	}
	r.ending, r.finished = true, true
	end, alone := handover{err: r.err}, r.alone
	stopped := cmp.Or(end.err, r.cause)
	r.call.mu.Unlock()
	if panicked != nil && alone {
		r.call.observe(context.Background(), Event{Kind: CallStopped, Err: end.err})
	}
	if alone {
		if end := r.call.effectsEnd(); end != nil {
			<-end
		}
		r.call.runStops(&r.ctx, r.call.takeStops(), stopped)
	}
	r.ctx.cancel(context.Canceled)
	r.call.rt.frames.leave(r)
	r.handovers <- end
}

// await is [Ask] on the handler's goroutine. It returns when the questions have
// answers. When they will get none, it ends the goroutine instead.
func (r *linearRun) await(c *Call, specs []*spec) error {
	if !onLinearRun() {
		return misuse("question %q is asked from a goroutine that the handler started: ask from the handler's own", specs[0].key)
	}
	if answered, err := r.replay(c, specs); answered || err != nil {
		return err
	}
	r.handovers <- handover{specs: specs}
	if !r.how.parks || !<-r.wake {
		r.unwind(nil)
	}
	return r.resumed(c, specs)
}

// unwind ends the handler's goroutine from within.
func (r *linearRun) unwind(err error) {
	r.call.mu.Lock()
	r.ending = true
	if r.err == nil {
		r.err = err
	}
	r.call.mu.Unlock()
	runtime.Goexit()
}
