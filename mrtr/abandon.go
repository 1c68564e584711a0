package mrtr

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/sse/era"
)

// A call is abandoned when its states have expired and nobody has gone on with it. If it has
// effects with a declared undo, the outcome that asked is due then, and keeps the request that
// asked: whichever instance finds it claims the turn that the user never took, and undoes them.

const (
	// settled is added to the end of the states, after which every instance refuses them.
	settled = 5 * time.Second
	// lookedAfter is how long the instances may all be down.
	lookedAfter = 24 * time.Hour
	// maxLookedAfter bounds the arguments that are kept with an outcome.
	maxLookedAfter = 64 << 10
)

// due is when nobody can go on with the call any more.
func (r *round) due() time.Time {
	return time.UnixMilli(r.st.until).Add(2*r.target.rt.skew + settled)
}

// canUndo reports whether the call has effects whose undo is declared.
func (r *round) canUndo() bool {
	return slices.ContainsFunc(r.st.done, func(e entry) bool {
		return e.mayStand() && slices.ContainsFunc(r.target.undos, func(u Undoing) bool { return u.key == shown(e.key) })
	})
}

// lookAfter makes an outcome that asks due, if the call has effects to undo.
func (r *round) lookAfter(o *Outcome) {
	if !r.keeps || o.Token == "" || len(r.ex.arguments) > maxLookedAfter || !r.canUndo() || !r.target.rt.watches {
		return
	}
	r.locked(func() { r.watched = true })
	at := r.due()
	o.Due = Due{at, at.Add(lookedAfter)}
	w := jsontext.Begin(nil, "v", recordFormat)
	w.Text("method", r.ex.method)
	w.Text("name", r.ex.name)
	w.Text("principal", r.principal)
	w.Text("audience", r.target.audience)
	w.Text("arguments", string(r.ex.arguments))
	o.call = w.End()
}

// endAbandoned ends the call of an outcome that is due, unless somebody has gone on with it.
func (rt *Runtime) endAbandoned(ctx context.Context, outcome []byte) (done bool) {
	o, _ := jsontext.Open(outcome, "v")
	token, call := o.Text("token"), o.Raw("call")
	c, format := jsontext.Open(call, "v")
	ex := exchange{method: c.Text("method"), name: c.Text("name"), client: era.Client{Era: era.Modern}}
	principal, audience := c.Text("principal"), c.Text("audience")
	ex.arguments = json.RawMessage(c.Text("arguments"))
	t := rt.registrations.find(ex.method, ex.name, audience)
	if format != recordFormat || t == nil {
		return false
	}
	r := newRound(t, ex)
	r.principal, r.keeps, r.life = principal, true, ctx
	var err error
	if r.st, err = r.unsealKept(token); err != nil {
		return false
	}
	why := &Error{Reason: Abandoned}
	turn := r.turn(why)
	turn.Late = true
	_, err = rt.keeper.Keep(ctx, turn, func(ctx context.Context, n Notes) Outcome {
		r.st.round++
		ctx = r.began(ctx)
		r.locked(func() { r.hear(Entry{Kind: GaveUp, Reason: "no answer came in time"}) })
		o := r.run(ctx, n, why)
		r.endedWith(ctx, o)
		return o
	})
	wire := (*jsonrpc.Error)(nil)
	return err == nil || errors.Is(err, ErrSplit) || errors.As(err, &wire) && wire.Code == jsonrpc.CodeInvalidParams
}
