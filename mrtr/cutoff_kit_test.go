package mrtr_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// The places at which an instance stops, in the round that pays.
const (
	afterClaim  = "after the claim"
	effectBegun = "effect noted as begun"
	afterEffect = "after the effect"
	effectNoted = "after its record"
)

// instance is one process of several on one store. It can stop at a place, as with
// SIGSTOP: its code stands still, and so do its writes.
type instance struct {
	shared
	at      string // where it stops; "" for nowhere
	stopped chan struct{}
	thaw    chan struct{}
	frozen  atomic.Bool
	events  recorder
}

func newInstance(s *store.Memory, stopsAt string) *instance {
	return &instance{shared: shared{s}, at: stopsAt, stopped: make(chan struct{}), thaw: make(chan struct{})}
}

func (i *instance) reach(place string) {
	if i.at != place {
		return
	}
	i.at = ""
	i.frozen.Store(true)
	close(i.stopped)
	<-i.thaw
}

func (i *instance) goOn() {
	i.frozen.Store(false)
	close(i.thaw)
}

func (i *instance) stand(ctx context.Context) error {
	if i.frozen.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (i *instance) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := i.stand(ctx); err != nil {
		return 0, err
	}
	return i.shared.Create(ctx, key, value, ttl)
}

func (i *instance) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := i.stand(ctx); err != nil {
		return 0, err
	}
	return i.shared.Update(ctx, key, at, value, ttl)
}

// cutOffStyles pay in the round after the question, through one effect.
var cutOffStyles = map[string]struct {
	style func(i *instance, did *deeds, opts *mrtr.OnceOptions[string]) mrtr.Style[tripIn, tripOut]
	again mrtr.Interrupted
}{
	"native":           {style: nativePays},
	"native, again":    {style: nativePays, again: mrtr.InterruptedAgain},
	"coroutine":        {style: linearPays(mrtr.Coroutine[tripIn, tripOut])},
	"journal":          {style: linearPays(mrtr.Journal[tripIn, tripOut])},
	"journal, unknown": {style: linearPays(mrtr.Journal[tripIn, tripOut]), again: mrtr.InterruptedUnknown},
	"resumable":        {style: linearPays(mrtr.Resumable[tripIn, tripOut])},
	"steps": {style: func(i *instance, did *deeds, opts *mrtr.OnceOptions[string]) mrtr.Style[tripIn, tripOut] {
		var list tripSteps
		seat := mrtr.AskStep(&list, "seat", asks("seat", &deeds{}))
		paid := mrtr.DoStepWith(&list, "pay", opts, func(ctx context.Context, _ *tripAt, idem string) (string, error) {
			return pays(i, did)(ctx, idem)
		})
		mrtr.AskStep(&list, "after", func(context.Context, *tripAt) (mrtr.Question[string], error) {
			i.reach(effectNoted)
			return mrtr.Known(""), nil
		})
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
			return tripOut{Plan: seat.Of(at) + " " + paid.Of(at)}, nil
		})
		return list.MustBuild()
	}},
}

func pays(i *instance, did *deeds) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) {
		i.reach(effectBegun)
		did.note("paid")
		i.reach(afterEffect)
		return "paid", nil
	}
}

func nativePays(i *instance, did *deeds, opts *mrtr.OnceOptions[string]) mrtr.Style[tripIn, tripOut] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		seat, ok := mrtr.Answer(c, text("seat"))
		if !ok {
			return mrtr.Need(text("seat")), tripOut{}, nil
		}
		i.reach(afterClaim)
		paid, err := mrtr.OnceWith(ctx, c, "pay", opts, pays(i, did))
		i.reach(effectNoted)
		return nil, tripOut{Plan: seat + " " + paid}, err
	})
}

func linearPays(style func(mrtr.LinearFunc[tripIn, tripOut]) mrtr.Style[tripIn, tripOut]) func(*instance, *deeds, *mrtr.OnceOptions[string]) mrtr.Style[tripIn, tripOut] {
	return func(i *instance, did *deeds, opts *mrtr.OnceOptions[string]) mrtr.Style[tripIn, tripOut] {
		return style(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			seat, err := mrtr.Ask(ctx, c, text("seat"))
			if err != nil {
				return tripOut{}, err
			}
			i.reach(afterClaim)
			paid, err := mrtr.OnceWith(ctx, c, "pay", opts, pays(i, did))
			i.reach(effectNoted)
			return tripOut{Plan: seat + " " + paid}, err
		})
	}
}

func (i *instance) serve(t *testing.T, name string, did *deeds, opts *mrtr.OnceOptions[string]) *tripTool {
	s := cutOffStyles[name]
	rt := newTripRuntime(t, &mrtr.Options{Store: i, Observer: &i.events})
	return &tripTool{handler: mrtr.Tool(rt, s.style(i, did, opts), &mrtr.HandlerOptions{Interrupted: s.again})}
}
