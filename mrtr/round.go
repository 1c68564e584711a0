package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/sse"
	"github.com/mrtr-go/sdk/statecodec"
)

// target is one registered tool, prompt or resource.
type target struct {
	policy  Legacy
	version string
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
	if rt.observer != nil {
		c.observe(ctx, Event{Kind: RoundStarted})
	}
	out, err := rt.advance(ctx, c, enter)
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

// open begins a call, or takes up one whose state came back.
func (rt *Runtime) open(ctx context.Context, ex exchange, t *target) (*Call, error) {
	principal, err := rt.principal(ctx, ex.request)
	if err != nil {
		return nil, err
	}
	c := &Call{rt: rt, target: t, ex: ex, principal: principal}
	if ex.token == "" {
		c.id = newID()
		c.st = state{id: c.id, round: 1, version: t.version}
		return c, nil
	}
	payload, err := rt.codec.Open(c.binding(), ex.token)
	if err != nil {
		var bad *statecodec.TokenError
		if !errors.As(err, &bad) {
			return nil, err
		}
		rt.refuseState(ctx, c, string(bad.Reason()))
		return nil, badState()
	}
	st, ok := decodeState(payload)
	if !ok {
		rt.refuseState(ctx, c, "sealed by another release")
		return nil, badState()
	}
	c.id, c.st = st.id, st
	c.st.round++
	return c, nil
}

func (rt *Runtime) principal(ctx context.Context, req mcp.Request) (_ string, err error) {
	defer recovered(&err)
	return rt.opts.Principal(ctx, req)
}

func (rt *Runtime) refuseState(ctx context.Context, c *Call, reason string) {
	c.observe(ctx, Event{Kind: StateRefused, Reason: reason})
}

// binding ties a state to its request, so that it opens for no other.
func (c *Call) binding() statecodec.Binding {
	b := statecodec.Binding{
		Method:    c.ex.method,
		Target:    c.ex.name,
		Arguments: c.ex.arguments,
		Principal: c.principal,
		Audience:  c.rt.opts.Audience,
	}
	// A call stays in the era it began in, whose handler may be another one, and
	// a legacy call in its session.
	if era := c.ex.client.Era; era != sse.Modern {
		b.Session = era.String()
		if c.ex.session != nil {
			b.Session += " " + c.ex.session.ID()
		}
	}
	return b
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
	return nil, &LimitExceeded{What: "rounds of questions", Limit: maxAsks}
}

// take files what the handler needs as pending, judging at once what cannot
// be asked. It reports whether that answered everything.
func (c *Call) take(need *IncompleteResult) (answered bool, _ error) {
	specs, err := specsOf(need.questions)
	if err != nil {
		return false, err
	}
	if need.carries {
		if c.st.author, err = json.Marshal(need.author); err != nil {
			return false, misuse("the carried value cannot be encoded: %v", err)
		}
	} else if len(specs) == 0 {
		return false, misuse("an incomplete result that asks nothing and carries nothing")
	}
	if limit := c.rt.opts.MaxQuestions; len(specs) > limit {
		return false, &LimitExceeded{What: "questions in one round", Limit: limit}
	}
	c.st.pending = make([]pending, len(specs))
	for i, s := range specs {
		c.st.pending[i].spec = *s
		if c.st.pending[i].answer, err = c.gate(s); err != nil {
			return false, err
		}
	}
	return len(specs) > 0 && c.file(), nil
}

// file moves the answers of a fully answered round to what is done, in the
// order of the questions. It reports whether the round was fully answered.
func (c *Call) file() bool {
	for i := range c.st.pending {
		if !c.st.pending[i].settled() {
			return false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.st.pending {
		p := &c.st.pending[i]
		c.forget(p.key)
		c.st.done = append(c.st.done, entry{kind: answerEntry, key: p.key, digest: p.digest(), value: p.answer})
	}
	c.st.pending = nil
	return true
}

// forget drops an answer that a handler asks for again. The caller holds c.mu.
func (c *Call) forget(key string) {
	for i := range c.st.done {
		if e := &c.st.done[i]; e.kind == answerEntry && e.key == key {
			c.st.done = append(c.st.done[:i:i], c.st.done[i+1:]...)
			return
		}
	}
}

// ask seals the state and makes the requests for what is still open.
func (rt *Runtime) ask(c *Call) (*asked, error) {
	requests := make(mcp.InputRequestMap, len(c.st.pending))
	for i := range c.st.pending {
		p := &c.st.pending[i]
		if p.settled() {
			continue
		}
		request, err := p.request(p.note)
		if err != nil {
			return nil, err
		}
		requests[p.key] = request
	}
	counter, limit, what := &c.st.asked, maxAsks, "rounds of questions"
	if len(requests) == 0 {
		counter, limit, what = &c.st.carried, maxCarries, "rounds that only carry state"
	}
	if *counter++; *counter > limit {
		return nil, &LimitExceeded{What: what, Limit: limit}
	}
	if err := c.hold(); err != nil {
		return nil, err
	}
	var buf [1024]byte
	payload := c.st.appendTo(buf[:0])
	if limit := rt.opts.MaxStateBytes; len(payload) > limit {
		return nil, &LimitExceeded{What: "bytes of state", Limit: limit}
	}
	token, err := rt.codec.Seal(c.binding(), payload)
	switch {
	case errors.Is(err, statecodec.ErrArguments):
		return nil, badArguments()
	case errors.Is(err, statecodec.ErrTooLarge):
		return nil, &LimitExceeded{What: "bytes of sealed state", Limit: rt.opts.State.MaxToken}
	case err != nil:
		return nil, err
	}
	return &asked{requests: requests, token: token}, nil
}

func (c *Call) observe(ctx context.Context, e Event) {
	if c.rt.observer == nil {
		return
	}
	e.Call, e.Method, e.Name, e.Era = c.id, c.ex.method, c.ex.name, c.ex.client.Era
	e.Round = c.st.round
	e.HasEffects = c.hasEffects()
	c.rt.observer.Observe(ctx, e)
}
