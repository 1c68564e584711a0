package mrtr

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/era"
)

// target is one registered tool, prompt or resource.
type target struct {
	policy  LegacyPolicy
	version string
	replays bool
}

// enterFunc runs the author's code for one round. No result and no error
// means that the call is complete.
type enterFunc func(ctx context.Context, c *Call) (*IncompleteResult, error)

// asked is the engine's answer when the call is not complete.
type asked struct {
	requests mcp.InputRequestMap // never nil: an empty map only carries state
	token    string
}

// round is the engine: one request of a call, from the state that came in to
// the state that goes out. It returns what to ask, or nil when the call is
// complete, or the error that ended it.
func (rt *Runtime) round(ctx context.Context, ex exchange, t *target, enter enterFunc) (*asked, error) {
	began := time.Now()
	c, err := rt.open(ctx, ex, t)
	if err != nil {
		return nil, err
	}
	c.observe(ctx, Event{Kind: RoundStarted})
	out, err := rt.advance(ctx, c, enter)
	if ex.client.Era == era.Legacy {
		noteRound(ctx, c, out != nil)
	}
	switch {
	case err != nil:
		c.abandonStrand()
		if c.hasEffects() && !isProtocolError(err) {
			err = afterEffect{err}
		}
		c.observe(ctx, Event{Kind: CallStopped, Err: err, Duration: time.Since(began)})
	case out == nil:
		c.observe(ctx, Event{Kind: CallCompleted, Duration: time.Since(began)})
	case rt.observer != nil:
		keys := make([]string, 0, len(c.st.pending))
		for i := range c.st.pending {
			if p := &c.st.pending[i]; !p.settled() {
				keys = append(keys, p.key)
			}
		}
		c.observe(ctx, Event{Kind: QuestionsAsked, Questions: keys, StateBytes: len(out.token), Duration: time.Since(began)})
	}
	return out, err
}

// advance settles what was asked, and enters the handler only when all of it
// is answered; then asks what the handler needs. All code of the author's runs
// in here, so that its panics end this call and nothing else.
func (rt *Runtime) advance(ctx context.Context, c *Call, enter enterFunc) (_ *asked, err error) {
	defer recovered(&err)
	if len(c.st.pending) > 0 {
		settled, err := c.settle()
		if err != nil {
			return nil, err
		}
		if !settled {
			return rt.ask(c)
		}
	}
	// The handler is entered again at once when nobody has to be asked: every
	// question got its default, or a no that counts as an answer.
	for range maxAsks + 1 {
		if c.strand == nil { // else the handler is not entered, but goes on
			c.onComplete = nil
		}
		need, err := enter(ctx, c)
		if err != nil {
			return nil, err
		}
		if need == nil {
			for _, fn := range c.onComplete {
				fn(ctx)
			}
			return nil, nil
		}
		answered, err := c.take(need)
		if err != nil {
			return nil, err
		}
		if !answered {
			return rt.ask(c)
		}
	}
	return nil, limitExceeded(maxAsks, "rounds of questions in one call")
}

func (c *Call) observe(ctx context.Context, e Event) {
	if c.rt.observer == nil {
		return
	}
	defer func() { _ = recover() }() // watching a call must not end it, nor the process
	e.Call, e.Method, e.Name, e.Era = c.id, c.ex.method, c.ex.name, c.ex.client.Era
	e.Round = c.st.round
	e.HasEffects = c.hasEffects()
	c.rt.observer.Observe(ctx, e)
}
