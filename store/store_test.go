package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		const limit = 5000
		return &storetest.Subject{
			Store:    store.NewMemory(&store.MemoryOptions{MaxValue: limit}),
			MaxValue: limit,
			Wipe:     func() store.Store { return store.NewMemory(nil) },
			Small:    func() store.Store { return store.NewMemory(&store.MemoryOptions{MaxBytes: 20 << 10}) },
		}
	}, &storetest.Options{Synctest: true})
}

// The suite again with a store that is no Watcher, so that store.Wait asks.
func TestWaitAsksWhereNobodyTells(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject {
		return &storetest.Subject{
			Store:    mute{store.NewMemory(nil)},
			MaxValue: store.DefaultMaxValue,
			Wipe:     func() store.Store { return mute{store.NewMemory(nil)} },
		}
	}, &storetest.Options{Synctest: true})
}

// mute hides that a store is a Watcher.
type mute struct{ store.Store }

func TestWaitAsksLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counting{Store: store.NewMemory(nil)}
		key, at := record(t, s, "record", time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, store.Wait(ctx, s, key, at), context.DeadlineExceeded)
		require.Greater(t, s.gets, 200, "four a second")
		require.Less(t, s.gets, 250)
	})
}

type counting struct {
	store.Store
	gets int
}

func (c *counting) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	c.gets++
	return c.Store.Get(ctx, key)
}

func TestMemoryRemovesWhatExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory(nil)
		const records = 1000
		for i := range records {
			record(t, m, fmt.Sprintf("old.%d", i), time.Minute)
		}
		count, size := m.Held()
		require.Equal(t, records, count)
		require.Greater(t, size, records*256)

		time.Sleep(time.Minute)
		for i := range records / 16 {
			record(t, m, fmt.Sprintf("new.%d", i), time.Hour)
		}
		time.Sleep(time.Second)
		record(t, m, "last", time.Hour)
		count, _ = m.Held()
		require.LessOrEqual(t, count, records/16+1+16, "each write removes a few of the expired")

		time.Sleep(time.Hour)
		for i := range 10 {
			record(t, m, fmt.Sprintf("end.%d", i), time.Second)
		}
		time.Sleep(time.Second)
		record(t, m, "end", time.Second)
		count, size = m.Held()
		require.Equal(t, 1, count)
		require.Equal(t, len("end")+len("value")+256, size, "the count of bytes has not drifted")
	})
}

func TestMemoryLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	m := store.NewMemory(nil)
	for i := range 100 {
		record(t, m, fmt.Sprintf("record.%d", i), time.Hour)
	}
	require.Equal(t, before, runtime.NumGoroutine())
}

func TestMemoryOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts        store.MemoryOptions
		explanation string
	}{
		{store.MemoryOptions{MaxBytes: -1}, "no room at all"},
		{store.MemoryOptions{MaxBytes: 100}, "no record fits"},
		{store.MemoryOptions{MaxValue: -1}, "a length is not negative"},
		{store.MemoryOptions{MaxBytes: 10 << 10, MaxValue: 10 << 10}, "the longest value leaves no room for its record"},
	} {
		require.Panics(t, func() { store.NewMemory(&c.opts) }, c.explanation)
	}
	require.NotPanics(t, func() { store.NewMemory(&store.MemoryOptions{MaxBytes: 10 << 10}) }, "the limit of a value follows")
}

func TestVerdictsAreKnown(t *testing.T) {
	for _, verdict := range []error{store.ErrExists, store.ErrConflict, store.ErrNotFound, store.ErrForgotten, store.ErrFull, store.ErrTooLarge, store.Misuse("a")} {
		require.True(t, store.IsVerdict(fmt.Errorf("wrapped: %w", verdict)), verdict)
	}
	for _, unsettled := range []error{nil, context.Canceled, context.DeadlineExceeded, errors.New("connection reset")} {
		require.False(t, store.IsVerdict(unsettled), unsettled)
	}
}

func TestScopesHaveNames(t *testing.T) {
	require.Equal(t, "process machine cluster scope 0", fmt.Sprint(store.Process, store.Machine, store.Cluster, store.Scope(0)))
}

// record creates one.
func record(t testing.TB, s store.Store, name string, ttl time.Duration) (store.Key, store.Revision) {
	t.Helper()
	epoch, err := s.Epoch(t.Context())
	require.NoError(t, err)
	key := store.Key{Epoch: epoch, Name: name}
	at, err := s.Create(t.Context(), key, []byte("value"), ttl)
	require.NoError(t, err)
	return key, at
}

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

func TestKeysAreChecked(t *testing.T) {
	for _, c := range []struct {
		epoch, name string
		ok          bool
	}{
		{"e", "a", true},
		{"E-_0", "owner.call.3", true},
		{strings.Repeat("e", 64), strings.Repeat("n", store.MaxName), true},
		{"", "a", false},
		{"e.f", "a", false},
		{strings.Repeat("e", 65), "a", false},
		{"e", "", false},
		{"e", "a.", false},
		{"e", ".a", false},
		{"e", "a..b", false},
		{"e", "a b", false},
		{"e", "a*", false},
		{"e", "a\n", false},
		{"e", "ä", false},
		{"e", strings.Repeat("n", store.MaxName+1), false},
	} {
		err := store.Key{Epoch: c.epoch, Name: c.name}.Check()
		if c.ok {
			require.NoErrorf(t, err, "%q %q", c.epoch, c.name)
			continue
		}
		var usage *store.UsageError
		require.ErrorAsf(t, err, &usage, "%q %q", c.epoch, c.name)
	}
}

func TestWritesAreChecked(t *testing.T) {
	key := store.Key{Epoch: "e", Name: "a"}
	var usage *store.UsageError
	require.NoError(t, store.CheckWrite(key, make([]byte, 10), 10, store.MinTTL))
	require.NoError(t, store.CheckWrite(key, nil, 10, store.MaxTTL))
	require.ErrorIs(t, store.CheckWrite(key, make([]byte, 11), 10, store.MinTTL), store.ErrTooLarge)
	for _, ttl := range []time.Duration{0, -store.MinTTL, store.MinTTL - 1, store.MaxTTL + 1} {
		require.ErrorAs(t, store.CheckWrite(key, nil, 10, ttl), &usage, ttl)
	}
	require.ErrorAs(t, store.CheckWrite(store.Key{}, nil, 10, store.MinTTL), &usage)
}

func TestMaxValueOption(t *testing.T) {
	limit, err := store.MaxValue(0)
	require.NoError(t, err)
	require.Equal(t, store.DefaultMaxValue, limit)
	limit, err = store.MaxValue(7)
	require.NoError(t, err)
	require.Equal(t, 7, limit)
	var usage *store.UsageError
	_, err = store.MaxValue(-1)
	require.ErrorAs(t, err, &usage)
}
