// Package linear has the styles whose handlers read from top to bottom: they ask, and go on
// below with the answer. A handler is held where it asks ([Coroutine]), run again from its
// history ([Journal]), or both ([Resumable]). Its effects belong in [mrtr.Once].
package linear

import (
	"context"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/weight"
)

// Func is a linear handler. It asks with [Ask].
type Func[In, Out any] func(ctx context.Context, c *mrtr.Call, in In) (Out, error)

// Ask asks q and returns its answer. The handler stops here until there is one. When the user
// declines or dismisses the question, the call ends: deferred functions run, and Ask does not
// return.
//
// It returns a [mrtr.UsageError], and asks nothing, when q is wrong, when it is called from
// another goroutine than the handler's, and in a handler of another style.
func Ask[T any](ctx context.Context, c *mrtr.Call, q mrtr.Question[T]) (v T, _ error) {
	if err := c.Await(q); err != nil {
		return v, err
	}
	v, _ = mrtr.Answer(c, q)
	return v, nil
}

// AskAll asks several questions in one round. Their answers are read with [mrtr.Answer].
func AskAll(ctx context.Context, c *mrtr.Call, questions ...mrtr.AnyQuestion) error {
	return c.Await(questions...)
}

// Coroutine holds a linear handler where it asks, and lets it go on when the answer comes. Its
// goroutine is parked in this process, so the next round has to reach this process: anywhere
// else, and after a restart or too long a wait, the call ends with [mrtr.FrameGone]. On several
// instances use [Resumable] or [Journal], or route each round to the instance that asked, as
// mcphttp.Router does.
//
// The context of a held handler has a life of its own: it carries the values of the running
// round, is cancelled with that round, with the frame and with the runtime, and has no deadline
// of an earlier round.
func Coroutine[In, Out any](h Func[In, Out]) mrtr.Style[In, Out] {
	return style(h, "a coroutine", how{parks: true})
}

// Journal holds nothing: in each round the handler runs again from its top, and every question
// and effect that happened before returns its earlier value. The rest of the code must do the
// same each time: put the clock, chance, and anything else that may differ into [mrtr.Once]. A
// handler that takes another way than before ends the call with [mrtr.Diverged], unless a
// deployment changed a question and the call can go back to it.
//
// Deferred functions run at the end of every round, also of one that only asks: do not release
// in one a resource that Once acquired.
func Journal[In, Out any](h Func[In, Out]) mrtr.Style[In, Out] {
	return style(h, "journaled code", how{replays: true})
}

// Resumable holds a linear handler as [Coroutine] does, and replays its history where the frame
// is gone. It asks of the handler the same as [Journal]. If others need the room, a handler that
// has waited long is let go before its time, so its call is never refused for want of room.
func Resumable[In, Out any](h Func[In, Out]) mrtr.Style[In, Out] {
	return style(h, "journaled code", how{parks: true, replays: true})
}

// how a linear handler survives between two rounds: it is held (parks), or can run again from
// its history (replays).
type how struct{ parks, replays bool }

func style[In, Out any](h Func[In, Out], print string, how how) mrtr.Style[In, Out] {
	if h == nil {
		return mrtr.Style[In, Out]{}
	}
	return mrtr.Style[In, Out]{
		Print: print, Replays: how.replays, Holds: how.parks, Again: how.replays, Wait: how.wait, Leave: leave,
		Enter: func(ctx context.Context, p *mrtr.Pass, in In) (_ *mrtr.IncompleteResult, none Out, _ error) {
			r, err := runOf(p, how, func() body { return &handler[In, Out]{h: h, in: in} })
			if err != nil {
				return nil, none, err
			}
			b, ok := r.body.(*handler[In, Out])
			if !ok { // the tool's name stands for a handler with other types now
				r.end(context.Canceled)
				return nil, none, &mrtr.Error{Reason: mrtr.FrameGone}
			}
			r.own.Attach(p)
			t, err := r.resume(ctx, p)
			switch {
			case err != nil: // the handler may still be ending
				return nil, none, err
			case t.ended():
				*p.Scratch() = hasLeft{}
				return nil, b.out, t.err
			}
			if how.parks {
				p.Hold(func() (string, error) { return framesOf(p).hold(r) })
			}
			return mrtr.Need(t.questions...), none, nil
		},
	}
}

// handler is a linear handler in one of its calls.
type handler[In, Out any] struct {
	h   Func[In, Out]
	in  In
	out Out
}

func (b *handler[In, Out]) run(ctx context.Context, c *mrtr.Call) (err error) {
	b.out, err = b.h(ctx, c, b.in)
	return err
}

func (b *handler[In, Out]) weigh(limit int) int { return weight.Of(&b.in, limit) }

// runOf is the run that a round goes on with: one of this round, the one that was held, or a
// new one. A frame that is gone ends the call, unless its handler can run again.
func runOf(p *mrtr.Pass, how how, body func() body) (*run, error) {
	if r, ok := (*p.Scratch()).(*run); ok && how.parks { // entered again in the same round
		return r, nil
	}
	t := framesOf(p)
	r := t.take(p)
	switch {
	case r != nil:
	case p.Call().Round() > 1 && !how.replays:
		return nil, &mrtr.Error{Reason: mrtr.FrameGone}
	default:
		r = newRun(p, t, how, body())
		if err := t.enter(r); err != nil {
			return nil, err
		}
		p.Enter("")
	}
	*p.Scratch() = r
	return r, nil
}

// wait holds a handler as long again whose questions go out again, and ends the call of one that is
// gone, unless it can run again.
func (h how) wait(p *mrtr.Pass) error {
	if token := p.Frame(); token == "" || framesOf(p).touch(token) || h.replays {
		return nil
	}
	return &mrtr.Error{Reason: mrtr.FrameGone}
}

// leave lets go of a handler whose call has ended, or goes on at another instance.
func leave(p *mrtr.Pass, elsewhere bool) {
	t := framesOf(p)
	r := t.take(p)
	own := *p.Scratch()
	if r == nil {
		r, _ = own.(*run)
	}
	switch {
	case r == nil:
		if _, had := own.(hasLeft); !had {
			t.tellOfEnd(p)
		}
	case elsewhere:
		r.letGo("another instance ran its round", &mrtr.Error{Reason: mrtr.FrameGone}, r.how.replays)
	default:
		r.end(context.Canceled)
	}
	*p.Scratch() = hasLeft{}
}

// hasLeft is in place of the run that a round had.
type hasLeft struct{}
