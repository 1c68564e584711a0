package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

type tripSteps = mrtr.Steps[tripIn, tripOut]

type tripAt = mrtr.At[tripIn]

// asks makes the function of an asking step.
func asks(key string, did *deeds) func(context.Context, *tripAt) (mrtr.Question[string], error) {
	return func(context.Context, *tripAt) (mrtr.Question[string], error) {
		did.note("question " + key)
		return text(key), nil
	}
}

// does makes the function of a doing step, whose value is v.
func does[T any](key string, did *deeds, v T) func(context.Context, *tripAt, string) (T, error) {
	return func(context.Context, *tripAt, string) (T, error) {
		did.note("do " + key)
		return v, nil
	}
}

func ends(plan string) func(context.Context, *tripAt) (tripOut, error) {
	return func(context.Context, *tripAt) (tripOut, error) { return tripOut{Plan: plan}, nil }
}

func mustBuild(t testing.TB, list *tripSteps) mrtr.Style[tripIn, tripOut] {
	t.Helper()
	style, err := list.Build()
	require.NoError(t, err)
	return style
}

type ticket struct {
	Seat string `json:"seat"`
	Row  int    `json:"row"`
}
