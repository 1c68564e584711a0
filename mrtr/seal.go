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
func (rd *round) openRound(ctx context.Context) error {
	rt, ex, t := rd.target.rt, &rd.ex, rd.target
	if !rt.registrations.serve(ex.method, ex.name, t) {
		return rd.misregistered(ctx)
	}
	var err error
	if rd.principal, err = rt.principal(ctx, ex.request); err != nil {
		return rd.unidentified(ctx, err)
	}
	if ex.legacy != nil && ex.legacy.last != nil {
		rd.takeUp(ex.legacy.last)
		return nil
	}
	if ex.token == "" {
		// Sealing would refuse them too, but after the handler has acted.
		if err := statecodec.CheckArguments(ex.arguments); err != nil {
			return rd.refuse(ctx, RequestRefused, "its arguments have no canonical form", err, badArguments())
		}
		rd.st = newState(newID(), t.version)
		rd.identify()
		return rd.remember(ctx)
	}
	st, ok, err := rd.openState(ex.token)
	switch {
	case err != nil:
		return rd.notOpened(ctx, err)
	case !ok:
		return rd.refuseState(ctx, "sealed by another release")
	}
	st.nextRound()
	rd.st = st
	rd.identify()
	if reason := rd.stale(); reason != "" {
		return rd.refuseState(ctx, reason)
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
func (rd *round) openState(token string) (st state, ok bool, err error) {
	p := payloads.Get().(*payloadBuffer)
	defer p.release()
	if p.b, err = rd.target.rt.codec.AppendOpen(p.b, rd.binding(), token); err != nil {
		return st, false, err
	}
	st, ok = decodeState(p.b)
	return st, ok, nil
}

// takeUp goes on with a call whose round before was here. The registrations of that round
// hold until the handler is entered.
func (rd *round) takeUp(last *round) {
	rd.st, rd.own.hooks = last.st, last.call().hooks
	rd.st.nextRound()
	rd.identify()
}

func (rd *round) notOpened(ctx context.Context, err error) error {
	var bad *statecodec.TokenError
	if errors.As(err, &bad) {
		return rd.refuseState(ctx, string(bad.Reason()))
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
func (rd *round) suspend() (*asked, error) {
	requests, err := rd.st.requests(rd.ex.client)
	if err != nil {
		return nil, err
	}
	rd.nameVisits(requests)
	if rd.remembered() && (rd.begins() || rd.claim != nil) {
		_, ttl := rd.states()
		rd.st.nextTurn(time.Now().Add(ttl))
	}
	if err := rd.countRound(len(requests) > 0); err != nil {
		return nil, err
	}
	rd.settleWordings()
	if err := rd.holdFrame(); err != nil {
		return nil, err
	}
	token, err := rd.seal()
	if err != nil {
		return nil, err
	}
	rd.st.keepForms()
	rd.tellTask(&rd.st)
	rd.out = asked{requests: requests, token: token}
	return &rd.out, nil
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
func (rd *round) states() (sealer, time.Duration) {
	t := rd.target
	if t.codec == nil {
		return rd.target.rt.codec, t.ttl
	}
	if ttl := rd.target.rt.StateTTL(); ttl > t.ttl && rendezvous.TaskRoundOf(rd.life).IsTask() {
		return rd.target.rt.codec, ttl
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

func (rd *round) seal() (string, error) {
	rd.st.sealBy(rd.target.version)
	p := payloads.Get().(*payloadBuffer)
	defer p.release()
	rd.mu.Lock() // a held handler may be let go of at once, and ends its effects
	p.b = rd.st.appendTo(p.b)
	rd.mu.Unlock()
	if limit := rd.target.rt.opts.MaxStateBytes; len(p.b) > limit {
		return "", limitExceeded(limit, "bytes of state")
	}
	if rd.ex.legacy != nil {
		return "", nil
	}
	codec, _ := rd.states()
	token, err := codec.Seal(rd.binding(), p.b)
	switch {
	case errors.Is(err, statecodec.ErrArguments):
		return "", badArguments()
	case errors.Is(err, statecodec.ErrTooLarge):
		return "", limitExceeded(rd.target.rt.opts.State.MaxToken, "bytes of sealed state")
	}
	return token, err
}

// binding ties a state to its request, so that it opens for no other.
func (rd *round) binding() statecodec.Binding {
	b := statecodec.Binding{
		Method:    rd.ex.method,
		Target:    rd.ex.name,
		Arguments: rd.ex.arguments,
		Principal: rd.principal,
		Audience:  rd.target.audience,
	}
	// A call stays in the era it began in, whose handler may be another one, and
	// a legacy call in its session.
	if e := rd.ex.client.Era; e != era.Modern {
		b.Session = e.String()
		if session := rd.ex.session(); session != nil {
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
