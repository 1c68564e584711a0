package mrtr

import (
	"context"
	"errors"
	"runtime"
	"slices"
)

// A strand is linear code on a goroutine of the engine's. The engine and the
// handler take turns: run hands the turn over, await gives it back.
//
// The goroutine ends by returning, by a panic, or by [runtime.Goexit] when
// there is nobody to go on for: then deferred functions run, no recover in
// anybody's code can swallow it, and no effect of the call runs any more.
type strand struct {
	call    *Call // the handler's own: each round fills it, and reads it back
	body    body
	how     linearStyle
	turns   chan turn // from the handler; room for two, so that it never waits
	wake    chan bool // to the handler: go on, or end
	ctx     strandContext
	started bool

	// Guarded by call.mu.
	waiting bool  // for answers: nothing of the call may run
	ending  bool  // nothing of the call may run any more
	alone   bool  // nobody will receive the handler's last turn
	cause   error // why the engine ended it
	err     error // why it ended
	journal

	frame // its place in the table
}

// body is the author's code, with its input, and with its result once it has
// run.
type body interface {
	run(ctx context.Context, c *Call) error
}

// turn is what the handler hands back: questions, or, without, its end.
type turn struct {
	specs []*spec
	err   error
}

func (t turn) ended() bool { return len(t.specs) == 0 }

func newStrand(round *Call, how linearStyle, b body) *strand {
	s := &strand{how: how, body: b, turns: make(chan turn, 2), wake: make(chan bool, 1)}
	s.weight = len(round.ex.arguments)
	s.call = &Call{rt: round.rt, target: round.target, id: round.id, principal: round.principal, strand: s}
	s.ctx.start()
	return s
}

// run lets the handler go on until it asks, ends, or the round is over.
func (s *strand) run(ctx context.Context, round *Call) (turn, error) {
	s.fill(round)
	s.ctx.round.Store(&ctx)
	if s.started {
		select {
		case s.wake <- true:
		default: // full: it was told to end meanwhile
		}
	} else {
		s.started = true
		go s.main()
	}
	t, err := s.receive(ctx)
	if err == nil && !t.ended() && !s.how.parks {
		// A strand that does not park is unwinding: its deferred functions are
		// part of the round, which is not over before they are.
		var end turn
		if end, err = s.receive(ctx); end.err != nil {
			t = end
		}
	}
	s.readBack(round)
	return t, err
}

// fill gives the handler's call the request, and the answers, of a round.
func (s *strand) fill(round *Call) {
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	s.call.ex, s.call.st = round.ex, round.st
	s.waiting = false
}

// forget lets go of a round's request while the handler waits for the next one.
func (s *strand) forget() {
	s.ctx.round.Store(nil)
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	ex := &s.call.ex
	*ex = exchange{method: ex.method, name: ex.name, client: ex.client}
}

// readBack takes over into the round what the handler did in it. Effects that
// are still running, which only a handler that has ended leaves behind, are
// not part of it.
func (s *strand) readBack(round *Call) {
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	round.st, round.onComplete = s.call.st, s.call.onComplete
	if len(s.call.running) > 0 {
		round.st.done = slices.Clone(round.st.done)
	}
}

func (s *strand) receive(ctx context.Context) (turn, error) {
	select {
	case t := <-s.turns:
		return t, nil
	case <-ctx.Done():
		s.end(ctx.Err())
		return turn{}, ctx.Err()
	}
}

// end makes a strand end that is not going to be run again.
func (s *strand) end(cause error) {
	s.call.mu.Lock()
	s.alone = true
	s.call.mu.Unlock()
	s.stop(cause)
}

// stop makes a strand end, whose last turn the round that runs it receives.
func (s *strand) stop(cause error) {
	s.call.mu.Lock()
	s.ending = true
	if s.cause == nil {
		s.cause = cause
	}
	s.call.mu.Unlock()
	s.ctx.cancel(cause)
	select {
	case s.wake <- false:
	default: // it is running, and will see that it is ending
	}
}

func (s *strand) main() {
	returned := false
	defer func() { s.ended(returned, recover()) }()
	err := s.body.run(&s.ctx, s.call)
	returned = true
	s.call.mu.Lock()
	defer s.call.mu.Unlock()
	switch {
	case s.err != nil:
	case err == nil:
		s.err = s.unread(s.call)
	case s.cause != nil && errors.Is(err, context.Canceled):
		s.err = s.cause
	default:
		s.err = err
	}
}

// ended is the last that the handler's goroutine does.
func (s *strand) ended(returned bool, panicked any) {
	s.call.mu.Lock()
	switch {
	case panicked != nil:
		s.err = panicError(panicked)
	case returned || s.err != nil:
	case s.ending:
		s.err = s.cause // nil where it waits for answers to its journal
	default:
		s.err = misuse("the handler ended its goroutine with runtime.Goexit")
	}
	s.ending = true
	end, alone := turn{err: s.err}, s.alone
	s.call.mu.Unlock()
	if panicked != nil && alone {
		s.call.observe(context.Background(), Event{Kind: CallStopped, Err: end.err})
	}
	s.ctx.cancel(context.Canceled)
	s.call.rt.frames.leave(s)
	s.turns <- end
}

// await is Ask on the handler's side. It returns when the questions have
// answers, and not at all when nobody will answer them.
func (s *strand) await(c *Call, specs []*spec) error {
	if !onStrand() {
		return misuse("question %q is asked from a goroutine that the handler started: ask from the handler's own", specs[0].key)
	}
	if answered, err := s.replay(c, specs); answered || err != nil {
		return err
	}
	s.turns <- turn{specs: specs}
	if !s.how.parks || !<-s.wake {
		s.unwind(nil)
	}
	return s.resumed(c, specs)
}

// unwind ends the handler's goroutine from within.
func (s *strand) unwind(err error) {
	s.call.mu.Lock()
	s.ending = true
	if s.err == nil {
		s.err = err
	}
	s.call.mu.Unlock()
	runtime.Goexit()
}
