package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
