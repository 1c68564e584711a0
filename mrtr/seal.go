package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// The first and the last hop of a round: the state token that came in is opened,
// and the one that goes out is sealed, both bound to the request.

// openRound begins a call, or takes up one whose state came back.
func (c *Call) openRound(ctx context.Context) error {
	rt, ex, t := c.rt, &c.ex, c.target
	if !rt.registrations.serve(ex.method, ex.name, t) {
		return c.misregistered(ctx)
	}
	var err error
	if c.principal, err = rt.principal(ctx, ex.request); err != nil {
		return c.unidentified(ctx, err)
	}
	if ex.legacy != nil && ex.legacy.last != nil {
		c.takeUp(ex.legacy.last)
		return nil
	}
	if ex.token == "" {
		// Sealing would refuse them too, but after the handler has acted.
		if err := statecodec.CheckArguments(ex.arguments); err != nil {
			return c.refuse(ctx, RequestRefused, "its arguments have no canonical form", err, badArguments())
		}
		c.st = newState(newID(), t.version)
		c.identify()
		return c.remember(ctx)
	}
	st, ok, err := c.openState(ex.token)
	switch {
	case err != nil:
		return c.notOpened(ctx, err)
	case !ok:
		return c.refuseState(ctx, "sealed by another release")
	}
	st.nextRound()
	c.st = st
	c.identify()
	if reason := c.stale(); reason != "" {
		return c.refuseState(ctx, reason)
	}
	return nil
}

// payloads are buffers for states outside of their tokens. They are wiped after use.
var payloads = sync.Pool{New: func() any { return &payloadBuffer{b: make([]byte, 0, 512)} }}

type payloadBuffer struct{ b []byte }

// maxPayloadBuffer bounds a buffer that is kept.
const maxPayloadBuffer = 16 << 10

func (p *payloadBuffer) release() {
	clear(p.b)
	if cap(p.b) <= maxPayloadBuffer {
		p.b = p.b[:0]
		payloads.Put(p)
	}
}

// openState opens a token for the request of this round. It is not ok for the state of
// another release.
func (c *Call) openState(token string) (st state, ok bool, err error) {
	p := payloads.Get().(*payloadBuffer)
	defer p.release()
	if p.b, err = c.rt.codec.AppendOpen(p.b, c.binding(), token); err != nil {
		return st, false, err
	}
	st, ok = decodeState(p.b)
	return st, ok, nil
}

// takeUp goes on with a call whose round before was here. The registrations of that round
// hold until the handler is entered.
func (c *Call) takeUp(last *Call) {
	c.st, c.hooks = last.st, last.hooks
	c.st.nextRound()
	c.identify()
}

func (c *Call) notOpened(ctx context.Context, err error) error {
	var bad *statecodec.TokenError
	if errors.As(err, &bad) {
		return c.refuseState(ctx, string(bad.Reason()))
	}
	return err
}

// refuseState tells the observer why, and the client nothing of it.
func (l *ledger) refuseState(ctx context.Context, reason string) error {
	l.observe(ctx, Event{Kind: StateRefused, Reason: reason})
	return badState()
}

// asked is the answer to a request whose call is not complete.
type asked struct {
	requests mcp.InputRequestMap // never nil: an empty map only carries state
	token    string
}

// suspend makes the requests for the questions that are still open, holds the handler
// where its style does so, and seals the state.
func (c *Call) suspend() (*asked, error) {
	requests, err := c.st.requests(c.ex.client)
	if err != nil {
		return nil, err
	}
	c.nameVisits(requests)
	if c.remembered() && (c.begins() || c.claim != nil) {
		_, ttl := c.states()
		c.st.nextTurn(time.Now().Add(ttl))
	}
	if err := c.countRound(len(requests) > 0); err != nil {
		return nil, err
	}
	c.st.done.settleWordings() // before the handler is held: it shares the entries
	if err := c.holdFrame(); err != nil {
		return nil, err
	}
	token, err := c.seal()
	if err != nil {
		return nil, err
	}
	c.st.keepForms()
	c.tellTask(&c.st)
	c.out = asked{requests: requests, token: token}
	return &c.out, nil
}

// requests are those for the questions that are still open, as this client can be shown
// them.
func (st *state) requests(client era.Client) (mcp.InputRequestMap, error) {
	requests := make(mcp.InputRequestMap, len(st.pending))
	for i := range st.pending {
		p := &st.pending[i]
		if p.settled() {
			continue
		}
		request, err := p.request(p.note, client)
		if err != nil {
			return nil, err
		}
		requests[p.key] = request
	}
	return requests, nil
}

// states is what seals the states of this round, and how long they open.
func (c *Call) states() (sealer, time.Duration) {
	t := c.target
	if t.codec == nil {
		return c.rt.codec, t.ttl
	}
	if ttl := c.rt.StateTTL(); ttl > t.ttl && rendezvous.TaskRoundOf(c.life).IsTask() {
		return c.rt.codec, ttl
	}
	return t.codec, t.ttl
}

// sealFor gives a handler the codec of its own StateTTL.
func (rt *Runtime) sealFor(t *target) {
	codec, sealed := rt.codec.(*statecodec.Codec)
	if !sealed { // a test leaves states open
		return
	}
	own, err := codec.Lasting(t.ttl)
	if err != nil {
		panic(misuse("HandlerOptions.StateTTL is %v: %v", t.ttl, err))
	}
	t.codec = own
	if m := rt.memory; m != nil {
		m.lengthen(t.ttl)
	}
}

func (c *Call) seal() (string, error) {
	c.st.sealBy(c.target.version)
	p := payloads.Get().(*payloadBuffer)
	defer p.release()
	p.b = c.st.appendTo(p.b)
	if limit := c.rt.opts.MaxStateBytes; len(p.b) > limit {
		return "", limitExceeded(limit, "bytes of state")
	}
	if c.ex.legacy != nil {
		return "", nil
	}
	codec, _ := c.states()
	token, err := codec.Seal(c.binding(), p.b)
	switch {
	case errors.Is(err, statecodec.ErrArguments):
		return "", badArguments()
	case errors.Is(err, statecodec.ErrTooLarge):
		return "", limitExceeded(c.rt.opts.State.MaxToken, "bytes of sealed state")
	}
	return token, err
}

// binding ties a state to its request, so that it opens for no other.
func (c *Call) binding() statecodec.Binding {
	b := statecodec.Binding{
		Method:    c.ex.method,
		Target:    c.ex.name,
		Arguments: c.ex.arguments,
		Principal: c.principal,
		Audience:  c.target.audience,
	}
	// A call stays in the era it began in, whose handler may be another one, and
	// a legacy call in its session.
	if e := c.ex.client.Era; e != era.Modern {
		b.Session = e.String()
		if session := c.ex.session(); session != nil {
			b.Session += " " + session.ID()
		}
	}
	return b
}

// SealedFor names the request of a modern client that a state belongs to. A
// state opens for that request and for no other.
type SealedFor struct {
	Method    string // tools/call if empty
	Name      string // of the tool or prompt, or the resource's address
	Arguments json.RawMessage
	Principal string // "" for a caller who is not known
}

// Inspect opens a state with the runtime's keys and returns its content as
// JSON, for teaching and for debugging. It checks all that a round checks, so a
// state that has expired, was changed, or belongs to another request is refused
// with a [statecodec.TokenError], whose Reason is for the log and must not reach
// a client.
//
// The content holds what users answered, what effects returned, and the token
// of a held handler: whoever sees it sees everything that the seal hides. Its
// members may change from one release to the next; no program should depend on
// them. A server never needs Inspect to serve its rounds, and a client must not
// be offered it.
func (rt *Runtime) Inspect(state string, r SealedFor) (json.RawMessage, error) {
	if r.Method == "" {
		r.Method = "tools/call"
	}
	b := statecodec.Binding{
		Method:    r.Method,
		Target:    r.Name,
		Arguments: r.Arguments,
		Principal: r.Principal,
		Audience:  rt.opts.Audience,
	}
	payload, err := rt.codec.Open(b, state)
	if err != nil {
		return nil, err
	}
	if _, ok := decodeState(payload); !ok {
		return nil, errors.New("mrtr: the state was sealed by another release")
	}
	return payload, nil
}
