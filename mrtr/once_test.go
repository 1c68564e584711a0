package mrtr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
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
