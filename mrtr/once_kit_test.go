package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// guardedTrip asks its questions one a round, and runs body at the top of each.
// When all are answered the result is what body gave last.
func guardedTrip(body func(ctx context.Context, c *mrtr.Call) (string, error), keys ...string) mrtr.Style[tripIn, tripOut] {
	return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		plan, err := body(ctx, c)
		if err != nil {
			return nil, tripOut{}, err
		}
		for _, key := range keys {
			if _, ok := mrtr.Answer(c, text(key)); !ok {
				return mrtr.Need(text(key)), tripOut{}, nil
			}
		}
		return nil, tripOut{Plan: plan}, nil
	})
}

// onceStyles are the styles in which an author writes Once: body runs before
// each question and at the end.
var onceStyles = map[string]func(body func(ctx context.Context, c *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut]{
	"guarded": func(body func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut] {
		return guardedTrip(body, "q", "r")
	},
	"coroutine": func(body func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut] {
		return mrtr.Coroutine(around(body))
	},
	"journal": func(body func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut] {
		return mrtr.Journal(around(body))
	},
	"resumable": func(body func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut] {
		return mrtr.Resumable(around(body))
	},
}

func around(body func(ctx context.Context, c *mrtr.Call) (string, error)) mrtr.LinearFunc[tripIn, tripOut] {
	return func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		for _, key := range []string{"q", "r"} {
			if _, err := body(ctx, c); err != nil {
				return tripOut{}, err
			}
			if _, err := mrtr.Ask(ctx, c, text(key)); err != nil {
				return tripOut{}, err
			}
		}
		plan, err := body(ctx, c)
		return tripOut{Plan: plan}, err
	}
}

func eachOnce(t *testing.T, test func(t *testing.T, style func(func(context.Context, *mrtr.Call) (string, error)) mrtr.Style[tripIn, tripOut])) {
	require.NotEmpty(t, onceStyles)
	for name, style := range onceStyles {
		t.Run(name, func(t *testing.T) { test(t, style) })
	}
}
