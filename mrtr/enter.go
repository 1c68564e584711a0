package mrtr

import (
	"cmp"
	"context"

	"github.com/mrtr-go/sdk/internal/stack"
	"github.com/mrtr-go/sdk/mrtr/keep"
)

// A handler is entered on a goroutine of its own, whose guard tells how it returned.

// enterer runs a handler.
type enterer interface {
	enter(ctx context.Context, p *Pass) (need *IncompleteResult, value any, err error)
}

// advanceGuarded enters the handler, and waits for it.
func (r *round) advanceGuarded() (keep.Outcome, error) {
	g, ok := r.target.rt.guards.Get().(*guardedRound)
	if !ok {
		g = &guardedRound{done: make(chan struct{}, 1)}
		g.run = func() {
			stack.Grow[[4 << 10]byte]()
			g.main()
		}
	}
	g.round = r
	go g.run()
	<-g.done
	out, err := g.out, g.err
	*g = guardedRound{run: g.run, done: g.done}
	r.target.rt.guards.Put(g)
	return out, err
}

// guardedRound is the guard around round.advance. It is reused, so that a round allocates
// nothing for it.
type guardedRound struct {
	run  func() // main, on a stack with room for it
	done chan struct{}

	round *round
	out   keep.Outcome
	err   error
}

func (g *guardedRound) main() {
	returned := false
	defer func() {
		g.err = ended(returned, recover(), g.err)
		g.done <- struct{}{}
	}()
	g.out, g.err = g.round.advance()
	returned = true
}

// advance enters the handler until it completes, or needs an answer that it does not have. It
// enters again at once where nobody has to be asked: each question got its default, or is
// lenient.
func (r *round) advance() (keep.Outcome, error) {
	if r.st.round > 1 && !r.target.continues(r.st.style) {
		return keep.Outcome{}, r.target.difference(new(Pass).begin(&r.ledger))
	}
	limit := r.maxAsks()
	r.locked(func() { r.entered = true })
	p := &r.first
	if p.at.Load() != nil { // it ran before
		p = new(Pass)
	}
	p.begin(&r.ledger)
	for range limit + 1 {
		need, value, err := r.handler.enter(r.life, p)
		p = p.current()
		switch {
		case p.mistake != nil:
			return keep.Outcome{}, p.mistake
		case r.refused && (need != nil || err != nil):
			return r.askAgain()
		case err != nil:
			return keep.Outcome{}, err
		}
		if err := p.unmet(); err != nil {
			return keep.Outcome{}, cmp.Or(r.misworded(need), err)
		}
		if need == nil {
			for _, fn := range p.complete {
				fn(r.life)
			}
			return r.complete(value), nil
		}
		settled, err := r.take(p, need)
		if err != nil {
			return keep.Outcome{}, err
		}
		if !settled {
			return r.suspend(true)
		}
		p = new(Pass).begin(&r.ledger)
	}
	return keep.Outcome{}, tooManyRounds(limit)
}

// complete is the outcome of a call that is complete. Its value is encoded here, in the guard: the
// author's methods may panic.
func (r *round) complete(value any) (o keep.Outcome) {
	if o.Value = value; r.keeps {
		r.target.keep(&o)
	}
	return o
}
