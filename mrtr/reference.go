package mrtr

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/internal/jsontext"
	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// A long state of a remembered call does not travel: its client gets a reference, sealed
// like any state. The state lies in the record of the turn that it goes out with. That
// record is written anyway, so a reference costs no write, and a repeat of the turn gets
// the same reference.

// defaultByReference is longer than the states of calls that carry a few short answers.
// A request with one of those needs no read of the store before its claim.
const defaultByReference = 1 << 10

// referenceFormat is the version of a reference. Its first member tells it from a state.
const referenceFormat = 1

// reference names the turn that has a state in its record. Together with the request it
// gives the key, so that it finds records of its own sender alone.
type reference struct {
	call  string
	turn  int
	epoch string
}

func (r reference) encode() []byte {
	w := jsontext.Begin(make([]byte, 0, 128), "stored", referenceFormat)
	w.Text("call", r.call)
	w.Number("turn", r.turn)
	w.Text("epoch", r.epoch)
	return w.End()
}

// readReference is false for the payload of a state.
func readReference(payload []byte) (ref reference, ok bool) {
	r, format := jsontext.Open(payload, "stored")
	if format != referenceFormat {
		return ref, false
	}
	ref = reference{call: r.Text("call"), turn: r.Number("turn"), epoch: r.Text("epoch")}
	return ref, r.End()
}

// refer returns a reference to the state that goes out with the turn of this round, and
// lets the record of the turn live as long as the state. It is "" for a state that goes
// out itself.
func (c *Call) refer(out *asked, held *claim.Held) string {
	if out == nil || len(out.token) <= c.rt.memory.byReference {
		return ""
	}
	c.mu.Lock()
	ref, until := reference{call: c.st.id, turn: c.st.turns.next - 1, epoch: c.st.turns.epoch}, c.st.turns.until
	c.mu.Unlock()
	token, err := c.rt.codec.Seal(c.binding(), ref.encode())
	if err != nil || len(token) >= len(out.token) {
		return ""
	}
	held.KeepUntil(c.rt.memory.lastUse(time.UnixMilli(until)))
	return token
}

// takeState opens the state of a request, also one that is in the store. It is not ok for
// the state of another release.
func (c *Call) takeState(ctx context.Context) (st state, ok bool, _ error) {
	st, ok, err := c.openState(c.ex.token)
	if err == nil && !ok {
		var kept string
		if kept, err = c.rt.dereference(ctx, c.binding(), c.ex.token); err == nil && kept != "" {
			st, ok, err = c.openState(kept)
		}
	}
	if err != nil {
		return st, false, c.notOpened(ctx, err)
	}
	return st, ok, nil
}

// notOpened answers a request whose state could not be opened.
func (c *Call) notOpened(ctx context.Context, err error) error {
	var bad *statecodec.TokenError
	switch {
	case errors.As(err, &bad):
		return c.refuseState(ctx, string(bad.Reason()))
	case errors.Is(err, errNoStore), errors.Is(err, errStateGone):
		return c.refuseState(ctx, err.Error())
	case errors.Is(err, store.ErrForgotten):
		c.rt.memory.forgotten()
		return c.refuseState(ctx, forgottenContents)
	case ctx.Err() != nil:
		return ctx.Err()
	case c.rt.memory == nil:
		return err
	}
	return c.storeFailed(ctx, err)
}

var (
	errNoStore   = errors.New("mrtr: the state is in a store, and this instance has none")
	errStateGone = errors.New("mrtr: the state is not in the store any more")
)

// dereference returns the state that a token refers to, "" if the token is no reference.
// Errors other than those above and a [statecodec.TokenError] are those of the store.
func (rt *Runtime) dereference(ctx context.Context, b statecodec.Binding, token string) (kept string, _ error) {
	payload, err := rt.codec.Open(b, token)
	if err != nil {
		return "", err
	}
	ref, ok := readReference(payload)
	if !ok {
		return "", nil
	}
	if rt.memory == nil {
		return "", errNoStore
	}
	key := store.Key{Epoch: ref.epoch, Name: turnName(b.Audience, b.Principal, ref.call, ref.turn)}
	result, err := rt.memory.turns.Result(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return "", errStateGone
	}
	if err != nil {
		return "", err
	}
	saved, ok := readSaved(result)
	if !ok || saved.token != token {
		return "", errStateGone
	}
	return saved.state, nil
}
