package mrtr

import (
	"context"
	"errors"
	"maps"
	"runtime"
)

// linearRun is a linear handler on a goroutine that belongs to the engine. The
// two take turns: resume passes the turn to the handler, await passes it back.
//
// The goroutine ends by returning, by a panic, or by [runtime.Goexit] when no
// round will go on with it: then deferred functions run, no recover in the
// handler's code can stop it, and no further effect of the call runs.
type linearRun struct {
	call    *Call // the handler's own: each round fills it, and reads it back
	body    body
	how     linearStyle
	turns   chan turn // from the handler; room for two, so that it never waits
	wake    chan bool // to the handler: go on, or end
	ctx     linearContext
	started bool
	input   int // the memory of the input, which of a resource is its address

	// Guarded by call.mu.
	waiting bool  // for answers: no effect of the call may run
	ending  bool  // no effect of the call may run any more
	alone   bool  // no round will receive the handler's last turn
	cause   error // why the engine ended it
	err     error // why it ended
	journal

	place // in the table of frames
}

// body is the author's code with its input, and its result once it has run.
type body interface {
	run(ctx context.Context, c *Call) error
	// weigh estimates the memory of the input, up to just over a limit.
	weigh(limit int) int
}

// turn is the handler's part of a round: its questions, or, without any, its end.
type turn struct {
	specs []*spec
	err   error
}

func (t turn) ended() bool { return len(t.specs) == 0 }

func newLinearRun(round *Call, how linearStyle, b body) *linearRun {
	r := &linearRun{how: how, body: b, turns: make(chan turn, 2), wake: make(chan bool, 1)}
	if how.parks {
		r.input = b.weigh(round.rt.opts.MaxFrameBytes)
	}
	r.call = &Call{rt: round.rt, target: round.target, id: round.id, principal: round.principal, linear: r}
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
func (r *linearRun) resume(ctx context.Context, round *Call) (turn, error) {
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
	t, err := r.receive(ctx)
	if err == nil && !t.ended() && !r.how.parks {
		// A run that is not held is unwinding. Its deferred functions are part of the
		// round, which has to wait for them.
		var end turn
		if end, err = r.receive(ctx); end.err != nil {
			t = end
		}
	}
	r.readBack(round)
	return t, err
}

// fill gives the handler's call the request, and the answers, of a round.
func (r *linearRun) fill(round *Call) {
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	r.call.ex, r.call.st, r.call.answered, r.call.claim = round.ex, round.st, round.answered, round.claim
	r.call.stopping = round.stopping
	r.waiting = false
}

// readBack takes over into the round the answers and effects of the handler. Whether
// an effect happens that is still running, which only a handler that has ended
// or was given up leaves behind, the round does not learn.
func (r *linearRun) readBack(round *Call) {
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	round.st, round.onComplete, round.onStop = r.call.st, r.call.onComplete, r.call.onStop
	round.keptAnswers, r.call.keptAnswers = r.call.keptAnswers, nil
	if len(r.call.running) > 0 {
		round.st.unshare()
		round.running = maps.Clone(r.call.running)
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

func (r *linearRun) receive(ctx context.Context) (turn, error) {
	select {
	case t := <-r.turns:
		return t, nil
	case <-ctx.Done():
		r.end(context.Cause(ctx))
		return turn{}, ctx.Err()
	}
}

// end ends a run that no round will resume.
func (r *linearRun) end(cause error) {
	r.call.mu.Lock()
	r.alone = true
	r.call.mu.Unlock()
	r.stop(cause)
}

// release ends a held run that no round will resume. Its call ends with it, unless
// another run can replay it: then nothing is undone.
func (r *linearRun) release(cause error) {
	if r.how.replays {
		r.call.takeStops()
	}
	r.end(cause)
}

// stop ends a run whose last turn a round is going to receive.
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
	returned = true
	r.call.mu.Lock()
	defer r.call.mu.Unlock()
	switch {
	case r.err != nil:
	case err == nil:
		r.err = r.unread(r.call)
	case r.cause != nil && errors.Is(err, context.Canceled):
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
		r.err = exited()
	}
	r.ending = true
	end, alone := turn{err: r.err}, r.alone
	r.call.mu.Unlock()
	if panicked != nil && alone {
		r.call.observe(context.Background(), Event{Kind: CallStopped, Err: end.err})
	}
	if alone {
		r.call.runStops(&r.ctx, r.call.takeStops(), end.err)
	}
	r.ctx.cancel(context.Canceled)
	r.call.rt.frames.leave(r)
	r.turns <- end
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
	r.turns <- turn{specs: specs}
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
