package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// An error chain that never ends is cut, and ends the call like any other.
func TestAnErrorThatUnwrapsToItself(t *testing.T) {
	loop := &endless{}
	last := kit.ServeTrip(t, linear.Journal(kit.Linear(kit.Around(func(ctx context.Context, c *mrtr.Call) (string, error) {
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "", loop })
		return "", err
	})))).Begin()
	require.EqualError(t, last.Err, "again")
}

// endless unwraps to an error of the same chain as often as a chain is looked at.
type endless struct{ depth int }

func (e *endless) Error() string { return "again" }
func (e *endless) Unwrap() error {
	if e.depth > 100 {
		return nil
	}
	return &endless{e.depth + 1}
}

// A replay meets the failure in the state, and one that cannot be read as an error too.
func TestFailuresAreReadFromTheState(t *testing.T) {
	var did kit.Deeds
	rt := kit.TripRuntime(t, nil)
	mrtr.Unsigned(rt)
	var met []string
	tool := kit.NewTrip(rt, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		_, err := mrtr.Once(ctx, c, "book", did.Do("book"))
		met = append(met, fmt.Sprint(err))
		return kit.Out{}, nil
	}), "")
	last := tool.Round(t.Context(), "", `{"v":4,"call":"mine","round":1,"style":"journaled code","done":[{"key":"book","kind":"failed","value":{"text":"the desk is closed"}}]}`, nil)
	require.NoError(t, last.Err)
	require.Equal(t, []string{"the desk is closed"}, met)
	last = tool.Round(t.Context(), "", `{"v":4,"call":"mine","round":1,"style":"journaled code","done":[{"key":"book","kind":"failed","value":1}]}`, nil)
	require.NoError(t, last.Err, "the handler goes on from any error")
	require.Contains(t, met[1], "cannot be read")
	require.Zero(t, did.Count("book"))
}

// FuzzFailure reads back whatever an error said.
func FuzzFailure(f *testing.F) {
	for _, text := range []string{"", "closed", "a\nb", "\xff", `"`, "\x00", "The tool failed unexpectedly."} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, wrapped bool) {
		err := errors.New(text)
		said := err
		if wrapped {
			said = fmt.Errorf("x: %w", err)
		}
		first, replayed := mrtr.Failures(said)
		require.EqualError(t, replayed, first.Error())
		require.ErrorIs(t, first, err)
		require.ErrorIs(t, replayed, err)
		require.NotErrorIs(t, replayed, kit.ErrClosed)
	})
}
