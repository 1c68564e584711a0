package linear

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mrtr-go/sdk/internal/usage"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
)

// run is a handler on a goroutine of its own. It and the engine alternate: resume lets the
// handler go on, and Await hands over to the engine.
//
// The goroutine ends by returning, by a panic, or by [runtime.Goexit] when no round will go on
// with it: then deferred functions run, no recover in the handler's code can stop it, and no
// further effect of the call begins.
type run struct {
	own       *mrtr.Pass // which goes from one round to the next
	table     *frames
	how       how
	body      body
	principal string
	modern    bool // its client
	handovers chan handover
	wake      chan bool // go on, or end
	ctx       runContext
	started   bool
	input     int // bytes that the input holds

	mu      sync.Mutex // guards the fields below; the ledger's lock is taken before it, never after
	cursor  int        // answers read
	waiting bool       // for answers: no effect may begin
	ending  bool       // no effect may begin any more
	ended   bool       // its goroutine has handed over what it leaves
	alone   bool       // nobody waits for its end
	cause   error      // why the engine ended it
	err     error      // why it ended

	place // guarded by the table's lock
}

// body is the author's code with its input, and its result once it has run.
type body interface {
	run(ctx context.Context, c *mrtr.Call) error
	// weigh estimates the memory of the input, up to just over a limit.
	weigh(limit int) int
}

// handover goes from the handler to the engine when the handler stops: its questions, or
// without any, its end. There is room for two, so that the handler never waits.
type handover struct {
	questions []mrtr.AnyQuestion
	err       error
}

func (t handover) ended() bool { return len(t.questions) == 0 }

func newRun(p *mrtr.Pass, t *frames, how how, b body) *run {
	c := p.Call()
	r := &run{
		table: t, how: how, body: b, principal: c.Principal(), modern: c.Client().Era == era.Modern,
		handovers: make(chan handover, 2), wake: make(chan bool, 1),
	}
	if how.parks {
		r.input = b.weigh(t.limits.MaxFrameBytes)
	}
	r.own = p.Held(r, how.replays)
	r.ctx.Context, r.ctx.cancel = context.WithCancelCause(context.Background())
	return r
}

// runContext is the context of a held handler, as [Coroutine] describes it.
type runContext struct {
	context.Context
	cancel context.CancelCauseFunc
	round  atomic.Pointer[context.Context]
}

func (c *runContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	if round := c.round.Load(); round != nil {
		return (*round).Value(key)
	}
	return nil
}

// Life implements [mrtr.Asker].
func (r *run) Life() context.Context { return &r.ctx }

// weigh estimates the memory that a parked handler holds on to, beside its own stack and
// variables.
func (r *run) weigh() int { return r.input + r.own.HistoryBytes() }

// resume lets the handler go on until it asks, ends, or the round is over.
func (r *run) resume(ctx context.Context, p *mrtr.Pass) (handover, error) {
	r.ctx.round.Store(&ctx)
	r.mu.Lock()
	r.waiting = false
	r.mu.Unlock()
	if r.started {
		select {
		case r.wake <- true:
		default: // full: it was told to end meanwhile
		}
	} else {
		r.started = true
		go r.main()
	}
	t, err := r.receive(ctx, p)
	if err == nil && !t.ended() && !r.how.parks {
		// A run that is not held is unwinding. Its deferred functions are part of the round.
		var end handover
		if end, err = r.receive(ctx, p); end.err != nil {
			t = end
		}
	}
	return t, err
}

// receive waits for the handler as long as the round lasts. A round that is kept waits on for a
// handler that was told to end, because nobody else will; so does one whose call has ended.
func (r *run) receive(ctx context.Context, p *mrtr.Pass) (handover, error) {
	select {
	case t := <-r.handovers:
		return t, nil
	case <-ctx.Done():
	}
	waits := p.Round().Kept || keep.EndOf(context.Cause(ctx)) != nil
	r.leaveAlone(!waits)
	r.end(context.Cause(ctx))
	if !waits {
		return handover{}, ctx.Err()
	}
	for {
		if t := <-r.handovers; t.ended() || !r.how.parks {
			return t, nil
		}
		// It asked just before it was told: nobody holds it now, and its end follows.
	}
}

// end ends a run that no round will go on with.
func (r *run) end(cause error) {
	r.mu.Lock()
	r.ending = true
	if r.cause == nil {
		r.cause = cause
	}
	r.mu.Unlock()
	r.ctx.cancel(cause)
	select {
	case r.wake <- false:
	default: // it is running, and will see that it is ending
	}
}

// letGo ends a held run that nobody came back for, and tells the listener. If its call cannot go
// on without it, the call ends too, unless a Keeper sees to that.
func (r *run) letGo(reason string, cause error, goesOn bool) {
	e := listen.Entry{Kind: listen.GaveUp, Reason: reason}
	if goesOn || r.own.IsWatched() {
		e.Kind = listen.Released
	}
	r.own.Tell(e)
	r.leaveAlone(true)
	if r.how.replays {
		r.end(cause)
		return
	}
	r.table.endCallWith(r)
	r.end(cause)
	go func() {
		for t := range r.handovers {
			if t.ended() {
				break
			}
		}
		r.table.undone(r, r.own.Abandon(cause))
	}()
}

func (r *run) leaveAlone(alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alone = alone
}

// main is the handler's goroutine.
func (r *run) main() {
	returned := false
	var err error
	defer func() { r.finish(returned, recover(), err) }()
	err = r.body.run(&r.ctx, r.own.Call())
	if err == nil {
		err = r.unread()
	}
	returned = true
}

// finish is the last call of the handler's goroutine: it leaves the table and passes on how the
// handler ended.
func (r *run) finish(returned bool, panicked any, err error) {
	r.mu.Lock()
	switch {
	case panicked != nil:
		r.err = r.own.Ended(returned, panicked, nil)
	case r.err != nil: // it was unwound
	case !returned && r.ending:
		r.err = r.cause // nil where it waits for answers to its history
	case returned && r.cause != nil && errors.Is(err, context.Canceled):
		r.err = r.cause
	default:
		r.err = r.own.Ended(returned, nil, err)
	}
	r.ending, r.ended = true, true
	end, unseen := handover{err: r.err}, panicked != nil && r.alone
	r.mu.Unlock()
	if unseen {
		r.own.Tell(listen.Entry{Kind: listen.Panicked, Err: end.err})
	}
	r.ctx.cancel(context.Canceled)
	r.table.leave(r)
	r.handovers <- end
}

// unwind ends the handler's goroutine from within.
func (r *run) unwind(err error) {
	r.mu.Lock()
	r.ending = true
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	runtime.Goexit()
}

// Await implements [mrtr.Asker]. It returns when the questions have answers. When they will get
// none, it ends the goroutine instead.
func (r *run) Await(questions []mrtr.AnyQuestion) error {
	if !onRun() {
		return misuse("question %q is asked from a goroutine that the handler started: ask from the handler's own", questions[0].Key())
	}
	open, err := r.match(questions)
	if err != nil {
		return err
	}
	if len(open) > 0 {
		r.hand(open)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cursor += len(questions)
	return nil
}

// hand hands questions over to the engine, and waits for the round that has their answers.
func (r *run) hand(questions []mrtr.AnyQuestion) {
	r.mu.Lock()
	r.waiting = true
	r.mu.Unlock()
	r.handovers <- handover{questions: questions}
	if !r.how.parks {
		r.unwind(nil)
	}
	if !<-r.wake {
		r.unwind(nil)
	}
}

// Again implements [mrtr.Asker].
func (r *run) Again(q mrtr.AnyQuestion) bool {
	if !onRun() {
		return false
	}
	r.hand([]mrtr.AnyQuestion{q})
	return true
}

// match holds the questions of one round against the answers that come next in the history, and
// returns those that have none. It ends the run where the history has another question.
func (r *run) match(questions []mrtr.AnyQuestion) (open []mrtr.AnyQuestion, _ error) {
	r.mu.Lock()
	ending, cursor := r.ending, r.cursor
	r.mu.Unlock()
	if ending {
		runtime.Goexit()
	}
	answers := r.own.Asked()
	before, next := answers[:min(cursor, len(answers))], answers[min(cursor, len(answers)):]
	if len(next) == 0 {
		return questions, r.mayAsk(questions, before)
	}
	round := next[:min(len(questions), len(next))]
	for i, q := range questions {
		at := slices.Index(round, q.Key())
		switch {
		case at < 0 && i >= len(round):
			r.unwind(r.own.Diverge("question %q is asked along with others, where it was not", q.Key()))
		case at < 0:
			r.unwind(r.own.Diverge("question %q is asked where %q was", q.Key(), round[i]))
		case !r.own.Fits(q):
			open = append(open, q)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	if !r.goBack(open, next[len(round):]) {
		r.unwind(r.own.Diverge("question %q is not worded as it was", open[0].Key()))
	}
	return open, r.mayAsk(open, before)
}

// goBack takes the call back to a round of which it asks these questions again, if another version
// of the handler asked them, and the call has done nothing since.
func (r *run) goBack(asks []mrtr.AnyQuestion, later []string) bool {
	if !r.own.Replaced() {
		return false
	}
	for _, q := range asks {
		if !r.own.Forget(q.Key()) {
			return false
		}
	}
	for _, key := range later {
		if !r.own.Forget(key) {
			return false
		}
	}
	return true
}

// mayAsk says why a question must not be asked now.
func (r *run) mayAsk(questions []mrtr.AnyQuestion, answers []string) error {
	for _, q := range questions {
		if slices.Contains(answers, q.Key()) {
			return misuse("key %q stands for two questions: each needs a key of its own", q.Key())
		}
		if err := r.own.Asks(q); err != nil {
			return err
		}
	}
	return nil
}

// MayRun implements [mrtr.Asker].
func (r *run) MayRun(key string, answers int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ending:
		return misuse("effect %q does not run: its handler has ended, or is being unwound", key)
	case r.waiting:
		return misuse("effect %q does not run: its handler is waiting for an answer", key)
	case r.cursor < answers:
		r.ending, r.err = true, r.own.Diverge("effect %q is run where there was none", key)
		return r.err
	}
	return nil
}

// unread returns an error for an answer of an earlier round that the handler came to its end
// without.
func (r *run) unread() error {
	r.mu.Lock()
	cursor := r.cursor
	r.mu.Unlock()
	if answers := r.own.Asked(); cursor < len(answers) {
		return r.own.Diverge("question %q is no longer asked", answers[cursor])
	}
	return nil
}

// onRun reports whether it is called on the goroutine of a run, and not on one that the handler
// started: whether the stack begins with main. A question asked elsewhere would wait where the
// engine can neither wake nor unwind it.
func onRun() bool {
	var few [16]uintptr
	pcs := few[:]
	n := runtime.Callers(3, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 8*len(pcs))
		n = runtime.Callers(3, pcs)
	}
	bottom := pcs[max(0, n-3):n] // goexit is last, a wrapper may be before it
	return slices.Contains(bottom, bodyCall.Load()) || slices.ContainsFunc(bottom, isMain)
}

// bodyCall is the one place where main calls its body, once that is known. It saves a search
// through the program's functions, and the stack for it, which each parked handler would keep.
var bodyCall atomic.Uintptr

func isMain(pc uintptr) bool {
	f := runtime.FuncForPC(pc - 1)
	if f == nil || f.Entry() != mainEntry {
		return false
	}
	bodyCall.Store(pc)
	return true
}

var mainEntry = reflect.ValueOf((*run).main).Pointer()

func misuse(format string, args ...any) error { return usage.New("mrtr", format, args...) }
