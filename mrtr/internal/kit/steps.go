package kit

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

type Steps = steps.List[In, Out]

type At = steps.At[In]

// Asks makes the function of an asking step.
func Asks(key string, did *Deeds) func(context.Context, *At) (mrtr.Question[string], error) {
	return func(context.Context, *At) (mrtr.Question[string], error) {
		did.Note("question " + key)
		return Text(key), nil
	}
}

// Does makes the function of a doing step, whose value is v.
func Does[T any](key string, did *Deeds, v T) func(context.Context, *At, string) (T, error) {
	return func(context.Context, *At, string) (T, error) {
		did.Note("do " + key)
		return v, nil
	}
}

func End(plan string) func(context.Context, *At) (Out, error) {
	return func(context.Context, *At) (Out, error) { return Out{Plan: plan}, nil }
}

func Build(t testing.TB, list *Steps) Style {
	t.Helper()
	style, err := list.Build()
	require.NoError(t, err)
	return style
}
