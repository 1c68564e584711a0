package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// An effect in Once happens once, in however many rounds it is asked for; its
// idem is the same whenever it is tried, and another in another call.
func TestOnceRunsOnce(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		idems := map[string]int{}
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems[idem]++
				return fmt.Sprint("booking ", len(idems)), nil
			})
		}))
		for call := 1; call <= 2; call++ {
			last, rounds := tool.Run()
			require.NoError(t, last.Err)
			require.Equal(t, 3, rounds)
			require.Equal(t, fmt.Sprint("booking ", call), last.Plan)
		}
		require.Len(t, idems, 2)
		for idem, times := range idems {
			require.Equal(t, 1, times)
			require.True(t, strings.HasSuffix(idem, ".book"), idem)
		}
	})
}

func TestOnceNoticesAnotherType(t *testing.T) {
	last, _ := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
		if c.Round() == 1 {
			return mrtr.Once(ctx, c, "book", func(context.Context, string) (string, error) { return "text", nil })
		}
		_, err := mrtr.Once(ctx, c, "book", func(context.Context, string) (int, error) { return 1, nil })
		return "", err
	}, "q")).Run()
	require.ErrorContains(t, last.Err, `mrtr: effect "book" ran, but its value is not a int`)
}

func TestOnceRefusesWrongKeys(t *testing.T) {
	keys := []string{"", "with space", "über", strings.Repeat("x", 65)}
	require.NotEmpty(t, keys)
	for _, key := range keys {
		var did kit.Deeds
		last := kit.ServeTrip(t, kit.GuardedTrip(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, key, did.Do("it"))
		})).Begin()
		kit.Misuse(t, last.Err, key)
		require.Zero(t, did.Count("it"))
	}
}

// The same key twice at a time is a mistake; two keys are two effects.
func TestOnceFromSeveralGoroutines(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, err := mrtr.Once(ctx, c, "same", func(ctx context.Context, _ string) (string, error) {
				refused := make(chan error)
				go func() {
					_, err := mrtr.Once(ctx, c, "same", func(context.Context, string) (string, error) { return "twice", nil })
					refused <- err
				}()
				err := <-refused
				var usage *mrtr.UsageError
				if !errors.As(err, &usage) || err.Error() != `mrtr: key "same" stands for two effects: each needs a key of its own` {
					return "", fmt.Errorf("not refused: %w", err)
				}
				return "once", nil
			})
			return "done", err
		}))
		last, _ := tool.Run()
		require.NoError(t, last.Err)

		var did kit.Deeds
		tool = kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				key := fmt.Sprint("effect-", i)
				all.Go(func() { _, errs[i] = mrtr.Once(ctx, c, key, did.Do(key)) })
			}
			all.Wait()
			return "done", errors.Join(errs...)
		}))
		last, _ = tool.Run()
		require.NoError(t, last.Err)
		for i := range 8 {
			require.Equal(t, 1, did.Count(fmt.Sprint("effect-", i)))
		}
	})
}

// Functions registered for the end run at the end, once, and not at all when the
// call does not complete: a handler that is entered three times
// registers three times, and only the last counts.
func TestOnceOnComplete(t *testing.T) {
	var did kit.Deeds
	register := func(c *mrtr.Call) { c.OnComplete(func(context.Context) { did.Note("completed") }) }
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		register(s.Call)
		for _, key := range []string{"first", "second"} {
			kit.Ask(s, kit.Text(key))
		}
		return kit.Out{}, nil
	})
	var list steps.List[kit.In, kit.Out]
	for _, key := range []string{"first", "second"} {
		steps.Ask(&list, key, func(_ context.Context, at *steps.At[kit.In]) (mrtr.Question[string], error) {
			register(at.Call)
			return kit.Text(key), nil
		})
	}
	list.End(func(_ context.Context, at *steps.At[kit.In]) (kit.Out, error) {
		register(at.Call)
		return kit.Out{}, nil
	})
	steps := kit.Build(t, &list)
	styles["steps"] = steps
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			did = kit.Deeds{}
			tool := kit.ServeTrip(t, style)
			asked := tool.Begin()
			require.Error(t, tool.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err)
			require.Zero(t, did.Count("completed"), "a decline completes nothing")
			asked = tool.Answer(tool.Begin(), "x")
			require.Equal(t, []string{"second"}, asked.Asks)
			require.Zero(t, did.Count("completed"), "nor does a question")
			require.NoError(t, tool.Answer(asked, "y").Err)
			require.Equal(t, 1, did.Count("completed"))
		})
	}
}
