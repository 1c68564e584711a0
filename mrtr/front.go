package mrtr

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/misfit"
	"github.com/mrtr-go/sdk/internal/snapshot"
	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/sse/era"
)

// front is a registered handler: the one way from a request to a round, whichever of the
// three methods it is for.
type front[In, Out any] struct {
	rt      *Runtime
	style   Style[In, Out]
	target  *target
	mutable bool // an entry can change memory that its input shares with the next one
	format  resultFormat[Out]
}

func newFront[In, Out any](rt *Runtime, s Style[In, Out], opts *HandlerOptions, format resultFormat[Out]) *front[In, Out] {
	if !s.valid() {
		panic(misuse("the zero Style handles nothing: its handler is nil, or Build failed"))
	}
	f := &front[In, Out]{rt: rt, style: s, target: rt.target(opts, s.styleFacts), mutable: snapshot.Shares(reflect.TypeFor[In]()), format: format}
	// A handler that is held has its input.
	f.target.held = func() round { return &roundOf[In, Out]{front: f} }
	return f
}

// serve runs the round that a request asks for. The questions are nil where the call is
// complete. A legacy client never calls again: unless its handler stands in a bridge of
// its own, it is asked here while its one request is open, and gets no questions.
func (f *front[In, Out]) serve(ctx context.Context, ex exchange, in In) (*roundOf[In, Out], *asked, error) {
	if err := f.rt.enter(ctx, &ex, f.target); err != nil {
		return nil, nil, err
	}
	defer f.rt.door.leave()
	if f.rt.opts.Narrow != nil {
		var err error
		if ctx, err = f.rt.narrow(ctx, &ex, f.target); err != nil {
			return nil, nil, err
		}
	}
	if ex.client.Era == era.Modern || !f.target.policy.loops() {
		return f.round(ctx, ex, in)
	}
	rounds := sse.NewRounds(ex.client, ex.session(), ex.request.GetParams().(mcp.RequestParams), f.rt.opts.bridgeOptions())
	ctx, ex.legacy = misfit.Collect(ctx), &legacyRounds{}
	for {
		r, questions, err := f.round(ctx, ex, in)
		if err != nil || questions == nil {
			return r, nil, err
		}
		*ex.legacy, in = legacyRounds{last: &r.call, asked: time.Now()}, r.in
		answered := f.rt.asking.begins(ex.legacy)
		ex.answers, err = rounds.Ask(ctx, questions.requests, r.call.st.deadlines())
		answered()
		if err != nil {
			return r, nil, r.call.abandon(ctx, err)
		}
	}
}

// round runs one round: one of the server's, or one that lives with its request.
func (f *front[In, Out]) round(ctx context.Context, ex exchange, in In) (*roundOf[In, Out], *asked, error) {
	if f.rt.detaches(&ex, f.target) {
		return f.detach(ctx, ex, in)
	}
	r := &roundOf[In, Out]{front: f, in: in}
	questions, err := f.rt.run(ctx, ex, f.target, r)
	return r, questions, err
}

// legacyRounds are those of a legacy client's call, whose state stays here.
type legacyRounds struct {
	last  *Call     // the round before, nil in the first
	asked time.Time // when its questions went out
}

// abandon ends a call whose client was asked and has not answered: without another round
// that could, it unwinds the handler and runs the functions of OnStop. The error reports
// the call's effects.
func (c *Call) abandon(ctx context.Context, err error) error {
	stops, _ := c.unwind(ctx, nil, err)
	c.stop(ctx, stops, err)
	err = c.reportEffects(err)
	c.observe(ctx, Event{Kind: CallStopped, Err: err})
	return err
}

// round is the part of a round that knows the types of its handler.
type round interface {
	// begin makes the round's call.
	begin() *Call
	// enter runs the author's code. No result and no error means that the call is complete.
	enter(ctx context.Context, c *Call) (*IncompleteResult, error)
	// save is the result as JSON, for a store. load makes a result of that JSON again
	// which is the same, byte for byte on the wire. A result that would not be the same
	// is replaced by save with one that is.
	save() (json.RawMessage, error)
	load(saved json.RawMessage) error
}

// roundOf is the round of one request: its call, its input and its result, in one piece.
type roundOf[In, Out any] struct {
	front *front[In, Out]
	call  Call
	in    In // as the next entry gets it
	result[Out]
}

func (r *roundOf[In, Out]) begin() *Call { return &r.call }

// enter gives each entry the input as it arrived: a handler may be entered several times
// in a round.
func (r *roundOf[In, Out]) enter(ctx context.Context, c *Call) (*IncompleteResult, error) {
	in := r.in
	if r.front.mutable {
		r.in = snapshot.Of(in)
	}
	need, out, err := r.front.style.run(ctx, c, in)
	if need == nil && err == nil {
		r.out = out
		err = r.front.format.complete(&r.result)
	}
	return need, err
}

func (r *roundOf[In, Out]) save() (json.RawMessage, error) { return r.front.format.save(&r.result) }

func (r *roundOf[In, Out]) load(saved json.RawMessage) error {
	return r.front.format.load(&r.result, saved)
}
