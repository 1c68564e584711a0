package mrtr

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/mrtr/internal/audience"
	"github.com/mrtr-go/sdk/mrtr/internal/digest"
	"github.com/mrtr-go/sdk/mrtr/internal/question"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/keep"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/sse/era"
	"github.com/mrtr-go/sdk/statecodec"
)

// The first and the last hop of a round: the state that came in is opened, and the one that
// goes out is sealed, both bound to the request.

// open begins a call, or takes up the one whose state came back.
func (r *round) open(ctx context.Context) (err error) {
	rt, t := r.target.rt, r.target
	if !rt.registrations.Serve(r.ex.method, r.ex.name, t) {
		return r.misregistered()
	}
	if r.principal, err = rt.Sender(ctx, r.ex.request); err != nil {
		return r.unidentified(err)
	}
	if r.ex.token == "" {
		// Sealing would refuse them too, but after the handler has acted.
		if err := statecodec.CheckArguments(r.ex.arguments); err != nil {
			return r.reject(listen.RefusedRequest, "its arguments have no canonical form", err, badArguments())
		}
		r.begins = true
		r.st = state{id: digest.NewID(), round: 1, version: t.version, style: t.print}
		if err := r.beginKept(ctx); err != nil {
			return err
		}
		if !r.st.isKept() {
			return nil
		}
		return r.resolveIntent(ctx)
	}
	return r.takeUp()
}

// beginKept makes a call that begins one whose rounds are kept. Those of a legacy client are
// not: its one request asks, and the state stays with it.
func (r *round) beginKept(ctx context.Context) (err error) {
	rt := r.target.rt
	if rt.keeper == nil || r.target.unstored || r.ex.client.Era == era.Legacy {
		return nil
	}
	if r.st.mark, err = rt.keeper.Begin(ctx); err != nil {
		return r.rejectKept(ctx, err)
	}
	return nil
}

// takeUp opens the state that came back.
func (r *round) takeUp() error {
	if issued, ok := statecodec.Issued(r.ex.token); ok {
		r.ex.waited = max(0, time.Since(issued))
	}
	st, err := r.unseal(r.ex.token, time.Now())
	if err != nil {
		return err
	}
	switch {
	case !st.isKept():
	case r.target.rt.keeper == nil:
		return r.reject(listen.RefusedState, "its rounds are remembered in a store, and this instance has none", nil, badState())
	case time.Since(time.UnixMilli(st.until)) > r.target.rt.skew:
		return r.reject(listen.RefusedState, string(statecodec.ReasonExpired), nil, badState())
	}
	r.st = st
	r.st.round++
	return nil
}

// unsealKept opens the token of an outcome that was kept, for the request of this round.
func (r *round) unsealKept(token string) (state, error) {
	issued, _ := statecodec.Issued(token)
	return r.unseal(token, issued)
}

// unseal opens a token for the request of this round, as of a time.
func (r *round) unseal(token string, at time.Time) (st state, err error) {
	p := digest.NewBuffer()
	defer p.Release()
	p.B, err = r.target.rt.codec.AppendOpen(p.B, r.binding(), token, at)
	if err != nil {
		var bad *statecodec.TokenError
		if errors.As(err, &bad) {
			return st, r.reject(listen.RefusedState, string(bad.Reason()), nil, badState())
		}
		return st, err
	}
	st, ok := readState(p.B)
	if !ok {
		return st, r.reject(listen.RefusedState, "sealed by another release", nil, badState())
	}
	return st, nil
}

// reject notes for the listener why a request is refused, and returns the error for its client.
func (r *round) reject(part listen.RefusedPart, why string, cause, err error) error {
	r.rejected = &rejection{part, why, cause}
	return err
}

// rejectKept refuses a round as its Keeper does.
func (r *round) rejectKept(ctx context.Context, err error) error {
	var refused *keep.Refusal
	switch {
	case errors.As(err, &refused):
		return r.reject(listen.RefusedRound, refused.Why, refused.Cause, err)
	case ctx.Err() != nil:
		return r.reject(listen.RefusedRound, listen.ClientLeft, nil, err)
	}
	return r.reject(listen.RefusedRound, err.Error(), nil, err)
}

// unidentified refuses a request whose principal is not known.
func (r *round) unidentified(cause error) error {
	var panicked *PanicError
	if errors.As(cause, &panicked) {
		return r.reject(listen.RefusedPrincipal, "Options.Principal panicked", cause, panicked)
	}
	why := "Options.Principal returned an error"
	if errors.Is(cause, errNoUser) {
		why = "its token names no user: have the verifier set UserID, or set Options.Principal"
	}
	return r.reject(listen.RefusedPrincipal, why, cause, &report.Refusal{
		Text: "This request was refused: its sender is not identified.", Kind: "unidentified", Expected: true, Cause: cause,
	})
}

// suspend seals the state that goes out with the questions. A round that has run begins
// another turn. One that asks again without its handler stays in the turn that it came with.
func (r *round) suspend(ran bool) (_ keep.Outcome, err error) {
	fail := func(err error) (keep.Outcome, error) { return keep.Outcome{Err: err}, err }
	if r.st.asked++; r.st.asked > r.maxAsks() {
		return fail(tooManyRounds(r.maxAsks()))
	}
	was, seal := r.st.line, r.sealAsIs // its questions are those of the handler that asked them
	if ran {
		seal = r.seal
		if r.st.isKept() {
			r.nextTurn()
		}
		r.st.frame = ""
		if r.park != nil {
			if r.st.frame, err = r.park(); err != nil {
				return fail(err)
			}
		}
	}
	token, err := seal()
	if err != nil {
		return fail(err)
	}
	r.mu.Lock() // a held handler may be let go of at once, and its round with it
	asks := r.st.pending
	r.mu.Unlock()
	question.Keep(asks)
	r.send(token, asks)
	return keep.Outcome{Token: token, Extend: r.extend(was)}, nil
}

// states are the sealer of this round's states, and how long those open.
func (r *round) states() (sealer, time.Duration) {
	t := r.target
	if ttl := t.rt.StateTTL(); t.codec == nil || ttl > t.ttl && (isTask(r.life) || r.st.round == 0) { // which becomes one
		return t.rt.codec, max(t.ttl, ttl)
	}
	return t.codec, t.ttl
}

func (r *round) seal() (string, error) {
	if r.st.sealed = r.target.version; r.st.sealed == r.st.version {
		r.st.sealed = ""
	}
	if r.st.style = r.target.print; r.begins && r.st.round == 0 {
		r.st.style = ""
	}
	return r.sealAsIs()
}

// sealAsIs seals the state with the version and the style that it has.
func (r *round) sealAsIs() (string, error) {
	p := digest.NewBuffer()
	defer p.Release()
	r.mu.Lock() // a held handler may be let go of at once, and ends its effects
	p.B = r.st.appendTo(p.B)
	r.mu.Unlock()
	if limit := r.target.rt.opts.Limits.MaxStateBytes; len(p.B) > limit {
		return "", limitExceeded(limit, "bytes of state")
	}
	codec, _ := r.states()
	token, err := codec.Seal(r.binding(), p.B)
	switch {
	case errors.Is(err, statecodec.ErrArguments):
		return "", badArguments()
	case errors.Is(err, statecodec.ErrTooLarge):
		return "", limitExceeded(r.target.rt.state.MaxToken, "bytes of sealed state")
	}
	return token, err
}

// binding ties a state to its request, so that it opens for no other.
func (r *round) binding() statecodec.Binding {
	b := statecodec.Binding{
		Method: r.ex.method, Target: r.ex.name, Arguments: r.ex.arguments, Principal: r.principal, Audience: r.target.Audience,
	}
	// A call stays in the era it began in, whose handler may be another one, and a legacy call
	// in its session.
	if e := r.ex.client.Era; e != era.Modern {
		b.Session = e.String()
		if session := r.ex.session(); session != nil {
			b.Session += " " + session.ID()
		}
	}
	return b
}

// requests are those of the questions that a token goes out with.
func (r *round) requests(token string) (mcp.InputRequestMap, error) {
	if r.sent.token != token { // it is the outcome of an earlier request
		of := r.beside()
		var err error
		if of.st, err = of.unsealKept(token); err != nil {
			return nil, err
		}
		r.send(token, of.st.pending)
	}
	return question.Requests(r.sent.asks, r.ex.client.Era, r.st.id)
}

// send notes the questions that go out, and tells a task of their deadlines.
func (r *round) send(token string, asks []question.Pending) {
	r.locked(func() { r.sent = sent{token, asks} })
	if until := question.Deadlines(asks, r.target.rt.skew); until != nil {
		if task := rendezvous.TaskRoundOf(r.life); task != nil {
			task.AnswerBy(until)
		}
	}
}

// Inspect opens a state, for teaching and debugging. The binding is the modern client's request;
// its method is tools/call if empty. The content has answers and values of effects.
func (rt *Runtime) Inspect(state string, request statecodec.Binding) (json.RawMessage, error) {
	request.Method = cmp.Or(request.Method, toolsCall)
	request.Audience = audience.Of(rt.opts.Audience, request.Audience)
	payload, err := rt.codec.Open(request, state)
	if err != nil {
		return nil, err
	}
	if _, ok := readState(payload); !ok {
		return nil, errors.New("mrtr: the state was sealed by another release")
	}
	return payload, nil
}

// maxAsks bounds the rounds of this call that ask.
func (r *round) maxAsks() int {
	limit := r.target.rt.opts.Limits.MaxRounds
	if r.ex.client.Era != era.Modern || isTask(r.life) { // this server alone follows its rounds
		return limit
	}
	return min(limit, followedAsks)
}

func tooManyRounds(limit int) error {
	return limitExceeded(limit, "rounds of questions in one call")
}

// endedByAnswers reports whether a call was ended by the answers of its user.
func endedByAnswers(err error) bool {
	e, ok := err.(*Error)
	return ok && slices.Contains([]Reason{Declined, Cancelled, Unanswered, Diverged}, e.Reason)
}

// misregistered refuses a request for a name that two handlers are registered under.
func (r *round) misregistered() error {
	cause := misuse("two handlers are registered as %s %q with one Runtime: give each server a Runtime and Options.Audience of its own, or its handlers a HandlerOptions.Audience, or register one handler with both", r.ex.method, r.ex.nameInLog())
	return r.reject(listen.RefusedRequest, cause.Error(), cause, &report.Refusal{
		Text: "This request was refused: its server is not set up correctly.", Kind: report.TypeOf(cause), Cause: cause,
	})
}
