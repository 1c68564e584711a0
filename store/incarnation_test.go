package store_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
)

func TestEpochsOfTheSameContentsAreKin(t *testing.T) {
	a, b := store.EpochOf("ABC", "1"), store.EpochOf("ABC", "2")
	require.NotEqual(t, a, b)
	require.NoError(t, store.Key{Epoch: a, Name: "a"}.Check())
	require.Equal(t, "ABC", store.Contents(a))
	for _, c := range []struct {
		a, b string
		kin  bool
	}{{a, b, true}, {a, a, true}, {a, "ABC", true}, {a, store.EpochOf("ABD", "1"), false}, {"", "", false}, {"-1", "-1", false}} {
		require.Equal(t, c.kin, store.Kin(c.a, c.b), "%q %q", c.a, c.b)
	}
}

// Writes that run side by side may end in any order. One that began when a later one had
// ended proves that the store has gone back, and so does one behind what its key knows.
func TestAWriteThatGoesBackEndsTheEpoch(t *testing.T) {
	var h store.HighWater
	ended, broken := 0, errors.New("broken")
	var endErr error
	write := func(epoch string, after, at store.Revision, err error) error {
		_, err = h.Write(store.Key{Epoch: epoch, Name: "a", After: after},
			func() (store.Revision, error) { return at, err }, func() error { ended++; return endErr })
		return err
	}
	require.NoError(t, write("a", 0, 5, nil))
	require.ErrorIs(t, write("a", 0, 9, broken), broken)
	require.Equal(t, store.Revision(5), h.Reached("a"), "a write that failed has come nowhere")
	require.NoError(t, write("a", 5, 6, nil))
	require.Zero(t, ended)
	for _, c := range []struct{ after, at store.Revision }{{0, 6}, {0, 5}, {7, 7}, {9, 7}} {
		require.ErrorIs(t, write("a", c.after, c.at, nil), store.ErrForgotten)
	}
	require.Equal(t, 4, ended)
	endErr = broken
	err := write("a", 0, 6, nil)
	require.ErrorIs(t, err, broken, "nobody knows of the end yet: it is no verdict")
	require.False(t, store.IsVerdict(err))
	require.NoError(t, write("b", 0, 1, nil))
	require.Equal(t, store.Revision(1), h.Reached("b"))
	require.Zero(t, h.Reached("a"))

	_, err = h.Write(store.Key{Epoch: "b", Name: "a"}, func() (store.Revision, error) {
		require.NoError(t, write("b", 0, 3, nil)) // meanwhile
		return 2, nil
	}, func() error { t.Error("it is in time"); return nil })
	require.NoError(t, err)
	require.Equal(t, store.Revision(3), h.Reached("b"))
}

func TestSettingsAreLookedAtOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks, found := 0, error(nil)
		var s store.Settings
		require.NoError(t, s.Check(t.Context()), "nobody looks")
		require.NoError(t, s.Hold(t.Context(), func(context.Context) error { looks++; return found }))
		check := func(want error, n int) {
			t.Helper()
			for range 3 {
				require.ErrorIs(t, s.Check(t.Context()), want)
			}
			require.Equal(t, n, looks)
		}
		check(nil, 1)
		unfit := store.Misuse("it may lose records")
		found = unfit
		check(nil, 1)
		time.Sleep(time.Minute)
		check(unfit, 2)
		found = errors.New("no answer")
		time.Sleep(time.Minute)
		check(unfit, 3)
		time.Sleep(5 * time.Second)
		found = nil
		check(nil, 4)
		time.Sleep(time.Minute - 1)
		check(nil, 4)
		s.LookAgain()
		check(nil, 5)
	})
}

func TestAClockThatIsMovedHasTwoReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := store.NewClock()
		time.Sleep(time.Minute)
		now := time.Now()
		for _, by := range []time.Duration{-2 * time.Hour, 0, 2 * time.Hour} {
			early, late := c.Readings(now.Round(0).Add(by), now)
			require.True(t, early.Equal(now.Add(min(by, 0))), by)
			require.True(t, late.Equal(now.Add(max(by, 0))), by)
		}
		require.Equal(t, time.Hour, c.Ahead(time.Hour).Early().Sub(c.Early()))
		require.Equal(t, -time.Hour, c.Ahead(-time.Hour).Late().Sub(c.Late()))
	})
}
