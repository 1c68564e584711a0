package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/internal/callerror"
	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
)

// round is the way of one request through the engine:
//
//	open    the state, or begin a call                      seal.go
//	judge   the answers by the questions that were sent     judge.go
//	keep    the round, or get its outcome: with a Keeper    this file, and package durable
//	enter   the handler, once all answers are there         enter.go, and the styles
//	ask     the questions that the handler returned         enter.go
//	seal    the state that goes out with them               seal.go
type round struct {
	ledger
	handler enterer

	begins    bool    // the call begins with this request
	taskPrint string  // of the arguments of a call whose client has a key for its task
	intent    *intent // of a first request, where others may mean the same
	known     *known  // of a branch that became a separate call
	keeps     bool    // the Keeper has the round
	ends      error   // why its request ends the call, nil if it doesn't
	over      error   // why the call ends before the handler is entered, nil if it doesn't
	first     Pass
	rejected  *rejection // of a request that was refused
}

// A rejection is why a request was refused. Its client is not told.
type rejection struct {
	part  listen.RefusedPart
	why   string
	cause error
}

// newRound is a round that enters no handler.
func newRound(t *target, ex exchange) *round {
	return &round{ledger: ledger{target: t, ex: ex}}
}

// beside is another round of the same request, for opening another state than its own.
func (r *round) beside() *round {
	of := newRound(r.target, r.ex)
	of.principal, of.life = r.principal, r.life
	return of
}

// serve takes one request from the state that came in to the outcome that goes out.
func (r *round) serve(ctx context.Context) (o keep.Outcome) {
	if err := r.open(ctx); err != nil {
		r.st, o.Err, r.life = state{}, err, ctx
		r.endedOrRefused(ctx, o)
		return o
	}
	if r.target.task != (rendezvous.TaskPolicy{}) {
		if start, err := r.offerTask(ctx); start || err != nil {
			return r.start(err)
		}
	}
	ctx = r.began(ctx)
	r.life = ctx
	o = r.play(ctx)
	if o.Repeated {
		r.reportAnswers(listen.HowRepeated)
		r.leave(r.intent == nil) // a first round has run here, and its outcome is another one's
	}
	if !o.Orphaned && (!r.keeps || r.intent != nil && r.intent.untold || o.Repeated || r.rejected != nil) {
		r.endedOrRefused(ctx, o)
	}
	return o
}

// play judges the answers, and runs the round or has it kept.
func (r *round) play(ctx context.Context) keep.Outcome {
	if r.st.round == 1 {
		if err := r.refuseUnaskable(); err != nil {
			return r.run(ctx, noNotes{}, err)
		}
	}
	if r.ends = endOf(ctx); r.ends != nil {
		ctx = context.WithoutCancel(ctx)
	}
	if !r.judgeAll(ctx) {
		r.reportAnswers("")
		o, err := r.suspend(false)
		if err == nil || r.st.isKept() { // a better answer goes on with a call that is kept
			o.Err = r.outcome().report(o.Err)
			return o
		}
		return r.run(ctx, noNotes{}, err)
	}
	if !r.st.isKept() || r.begins && r.intent == nil || r.over != nil && isProtocolError(r.over) {
		return r.run(ctx, noNotes{}, r.over)
	}
	return r.keep(ctx)
}

// judgeAll judges the answers, and reports whether the round has all that it needs.
func (r *round) judgeAll(ctx context.Context) bool {
	r.over = r.ends
	if len(r.st.pending) == 0 || r.ends != nil && len(r.ex.answers) == 0 {
		return true
	}
	settled, err := r.judge(ctx)
	if err != nil && (r.ends == nil || endedByAnswers(err)) {
		r.over = err
	}
	if !settled && r.over == nil {
		r.over = r.wait()
	}
	return settled || r.over != nil
}

// judgeAgain judges the answers by the time at which the turn was first claimed, which decides
// which of them came in time.
func (r *round) judgeAgain(ctx context.Context, since time.Time) {
	if since.IsZero() || since.Equal(r.asOf) {
		return
	}
	if st, err := r.beside().unseal(r.ex.token, time.Now()); err == nil {
		r.asOf = since
		r.judgeFrom(ctx, st)
		if r.known != nil {
			r.split()
		}
	}
}

// judgeFrom judges the answers anew, from the state that came with them.
func (r *round) judgeFrom(ctx context.Context, st state) {
	r.locked(func() { r.st, r.fresh = st, nil })
	r.st.round++
	r.judgeAll(ctx)
}

// keep has the Keeper run the round.
func (r *round) keep(ctx context.Context) keep.Outcome {
	r.keeps = true
	for {
		o, err := r.target.rt.keeper.Keep(ctx, r.turn(r.over), r.runKept)
		switch {
		case err == nil && o.Joins != nil:
			switch goesOn, err := r.join(&o); {
			case err != nil:
				return keep.Outcome{Err: r.reject(listen.RefusedRound, "the questions of its call cannot be sealed", err, err)}
			case goesOn:
				continue
			}
			return o
		case err == nil:
			return o
		case errors.Is(err, keep.ErrSplit):
			if st, err := r.beside().unseal(r.ex.token, time.Now()); r.entered && err == nil { // it lost the turn at work
				r.again()
				r.judgeFrom(ctx, st)
			}
			r.split()
		case errors.Is(err, keep.ErrBeginAgain):
			if err := r.beginKept(ctx); err != nil {
				return keep.Outcome{Err: err}
			}
		case r.over == nil && endOf(ctx) != nil: // it came before the round had begun
			r.ends = endOf(ctx)
			r.over, ctx = r.ends, context.WithoutCancel(ctx)
		default:
			if r.entered { // its questions reach no client
				r.leave(false)
			}
			return keep.Outcome{Err: r.rejectKept(ctx, err)}
		}
	}
}

// runKept may go on when its request has left: from here on the round is the Keeper's.
func (r *round) runKept(ctx context.Context, n keep.Notes) keep.Outcome {
	if r.entered {
		r.again()
	}
	if own := n.Call(); own != "" {
		r.locked(func() { r.st.id = own })
	}
	r.judgeAgain(ctx, n.Since())
	o := r.run(ctx, n, r.over)
	o.Entered = r.entered
	given := r.isGiven()
	if r.intent != nil {
		if r.intent.untold = n.Call() == ""; r.intent.untold { // it may yet be another request's
			return o
		}
	}
	if !errors.Is(given, errGivenUp) && !errors.Is(given, keep.ErrElsewhere) { // it has told already, and another request goes on
		r.endedWith(ctx, o)
	}
	return o
}

// again takes back a first run that has done nothing, so that another can resume the run of an
// equal request.
func (r *round) again() {
	r.leave(false)
	r.locked(func() {
		r.st = state{id: r.st.id, round: 1, version: r.st.version, style: r.st.style, trace: r.st.trace, mark: r.st.mark, line: r.st.line}
		r.given, r.fresh, r.ledger.open, r.running, r.refused, r.entered = nil, nil, nil, nil, false, false
		r.local, r.park = nil, nil
	})
}

var errGivenUp = errors.New("the handler did not end with its context")

// GiveUp implements [keep.Effects]. The effects that have ended are undone, unless the next request goes
// on with them.
func (r *round) GiveUp(why string) keep.Outcome {
	r.give(errGivenUp)
	o := r.cutShort(why)
	if !o.Free {
		failed := r.undo(r.life, r.undos(), o.Err)
		r.locked(func() {
			for _, e := range r.running {
				about := listen.Entry{Kind: listen.InDoubt, Key: shown(e.key)}
				if e.undoes {
					about.Kind, about.Doubt, about.Reason = listen.Undone, true, "it is still being undone"
				}
				r.hear(about)
			}
		})
		if failed != nil {
			o = keep.Outcome{Err: failed, Free: true, Left: r.Left()}
		}
		o.Err = r.outcome().report(o.Err)
	}
	r.endedWith(r.life, o)
	return o
}

// run enters the handler, and undoes the effects of a call that ends without completing.
func (r *round) run(ctx context.Context, n keep.Notes, over error) keep.Outcome {
	r.life, r.base = ctx, len(r.st.done)
	remains := readRemains(n.Left())
	left := remains.done
	r.locked(func() {
		r.st.takeOver(remains, r.target.version)
		r.st.done = r.st.done[:r.base:r.base].with(left, over != nil)
	})
	if r.keeps {
		r.notes = n
		n.Watch(r)
		r.doubts = n.Doubts()
		r.doubtUndoings(left)
	}
	r.reportAnswers("")
	var err error
	switch {
	case n.CutOff() && len(r.st.pending) == 0 && r.intent == nil && !r.target.goesOn(left): // its handler was entered
		err = &Error{Reason: OutcomeUnknown}
	case r.doubts && over == nil && !r.target.goesOn(left): // it may have been
		err = &Error{Reason: OutcomeUnknown, Detail: forgetful}
	case over != nil:
		err = over
	case left.hasStopped():
		err = &Error{Reason: OutcomeUnknown, Detail: "the server that ran this round was cut off while it undid its effects"}
	default:
		var o keep.Outcome
		if o, err = r.advanceGuarded(); err == nil && r.isGiven() == nil {
			r.lookAfter(&o)
			return o
		}
	}
	return r.end(ctx, err)
}

// end ends the call with an error, or frees the round for the next request.
func (r *round) end(ctx context.Context, err error) keep.Outcome {
	switch given := r.isGiven(); {
	case given == nil:
		err = safeError(err)
	case reasonOf(given) == OutcomeUnknown && !r.outcome().canBeChecked(): // the next request finds out no more
		err = given
	default:
		r.leave(false)
		return keep.Outcome{Err: r.outcome().report(given), Free: true, Left: r.Left()}
	}
	if why := r.cutOff(ctx, err); why != "" {
		o := r.cutShort(why)
		if o.Free {
			r.leave(false)
			return o
		}
		err = o.Err
	}
	if end := endOf(ctx); end != nil && r.entered {
		err = end
	}
	free := r.frees(ctx, err)
	r.leave(false)
	if !free {
		if failed := r.undo(ctx, r.undos(), err); failed != nil { // the next request resumes the undoing
			return keep.Outcome{Err: r.outcome().report(failed), Free: true, Left: r.Left()}
		}
	}
	stop := (*stopped)(nil)
	if errors.As(err, &stop) && !free {
		if fates := r.outcome().fates(); len(fates.Unknown)+len(fates.Kept) == 0 {
			o := r.target.stopped(stop.out)
			if r.keeps && o.Err == nil {
				_ = guard(func() error { r.target.keep(&o); return nil })
			}
			return o
		}
		err = &Error{Reason: NotUndone}
	}
	return keep.Outcome{Err: r.outcome().report(err), Free: free, Left: r.Left()}
}

// wait has a held handler wait as long again. The error is for one that is gone.
func (r *round) wait() error {
	if r.target.wait == nil {
		return nil
	}
	return r.target.wait(new(Pass).begin(&r.ledger))
}

// leave lets go of what the style holds for the call.
func (r *round) leave(elsewhere bool) {
	if r.target.leave != nil {
		r.target.leave(new(Pass).begin(&r.ledger), elsewhere)
	}
}

// cutOff says why the Keeper has ended a round before its time, "" if it has not, or if the handler
// has come to an end of its own. That is a verdict; of a handler that can't run again any other error
// is one too, unless it tells of the end of the context.
func (r *round) cutOff(ctx context.Context, err error) (why string) {
	cause := (*keep.CutOff)(nil)
	if !r.keeps || !r.entered || ctx.Err() == nil || !errors.As(context.Cause(ctx), &cause) || isVerdict(err) || isProtocolError(err) {
		return ""
	}
	if r.runsAgain() || errors.Is(err, context.Canceled) || errors.Is(err, cause) || reasonOf(err) == ShuttingDown {
		return cause.Why
	}
	return ""
}

// isVerdict reports whether an error is what a handler decided about its call, however its context
// ended meanwhile.
func isVerdict(err error) bool {
	var stop *stopped
	reason := reasonOf(err)
	return reason != "" && reason != ShuttingDown || errors.As(err, &stop)
}

// frees reports whether an error is no outcome of the round: the next request of its kind resumes
// where this one ended.
func (r *round) frees(ctx context.Context, err error) bool {
	switch {
	case r.st.isKept() && !r.keeps && !r.begins:
		return true // the request ends, and its turn was not taken
	case !r.keeps, r.intent != nil && r.intent.alone, endOf(ctx) != nil, r.outcome().hasStopped(), r.intent == nil && !r.target.replays && r.target.holds && r.entered:
		return false
	case isProtocolError(err) && !callerror.LeavesOpen(err), ctx.Err() != nil && (!r.entered || r.runsAgain()) && !isVerdict(err):
		return true
	}
	var e *Error
	if errors.As(err, &e) {
		switch e.Reason {
		case Declined, Cancelled, Unanswered, LimitExceeded, OutcomeUnknown, Abandoned, NotUndone:
			return false
		case FrameGone:
			return r.target.replays
		case Diverged: // its effects stand on other answers, and no request can resume it
			return !r.outcome().hasEffects()
		}
		return true
	}
	var misused *UsageError
	var retry interface{ ToolErrorRetryable() bool }
	return errors.As(err, &misused) && misused != errExited || errors.As(err, &retry) && retry.ToolErrorRetryable()
}

// runsAgain reports whether an interrupted handler may run again. In a first round it may if its
// request can be repeated.
func (r *round) runsAgain() bool {
	if r.intent != nil {
		return !r.intent.alone
	}
	return r.target.again || r.target.cancel && !(r.target.holds && !r.target.replays)
}

// cutShort is the outcome of an interrupted run, or of one whose handler outlived its context. If the
// run noted its effects, the next request resumes it. If not, they are unknown, and the handler must
// not run again.
func (r *round) cutShort(why string) keep.Outcome {
	if r.runsAgain() {
		return keep.Outcome{Err: callerror.NotBegun("Stopped: "+why+sendAgain, "cut_off"), Free: true, Left: r.Left()}
	}
	return keep.Outcome{Err: &Error{Reason: OutcomeUnknown, Detail: why}}
}

// began tells the listener that a round has begun, and returns the context of the round.
func (r *round) began(ctx context.Context) context.Context {
	listener := r.target.rt.opts.Listener
	if listener == nil {
		return ctx
	}
	r.life = ctx
	at, own := r.describe(), ctx
	_ = guard(func() error {
		if made := listener.Began(ctx, at); made != nil {
			own = made
		}
		if tracer, ok := listener.(listen.Tracer); ok && r.st.round <= 1 {
			r.st.trace = tracer.Trace(own)
		}
		return nil
	})
	return context.WithValue(own, ledgerKey{}, &r.ledger)
}

// endedWith tells the listener how a round ended, after what it has heard of it.
func (r *round) endedWith(ctx context.Context, o keep.Outcome) {
	if r.target.rt.opts.Listener == nil {
		return
	}
	var out sent
	r.locked(func() { out = r.sent })
	e := listen.End{StateBytes: len(o.Token), Stopped: o.Stopped, Err: o.Err, Repeated: o.Repeated}
	for i := range out.asks {
		if p := &out.asks[i]; out.token == o.Token && !p.Answered() {
			e.Asks = append(e.Asks, p.Key)
		}
	}
	r.tellEnded(ctx, e)
}

// refusedWith tells the listener of a request that was refused.
func (r *round) refusedWith(ctx context.Context, err error) {
	if r.target.rt.opts.Listener == nil {
		return
	}
	if r.rejected.part != listen.RefusedRound { // which may run on
		r.locked(func() {})
	}
	r.tellEnded(ctx, listen.End{Err: err, Refused: r.rejected.part, Why: r.rejected.why, Cause: r.rejected.cause})
}

func (r *round) endedOrRefused(ctx context.Context, o keep.Outcome) {
	if r.rejected != nil {
		r.refusedWith(ctx, o.Err)
		return
	}
	r.endedWith(ctx, o)
}

func (r *round) tellEnded(ctx context.Context, e listen.End) {
	at, listener := r.describe(), r.target.rt.opts.Listener
	_ = guard(func() error { listener.Ended(ctx, at, e); return nil })
}
