package claim_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/store"
)

// silentStore takes no write any more once it is silent, and counts those that are
// tried.
type silentStore struct {
	*store.Memory
	silent atomic.Bool
	writes atomic.Int64
}

func (s *silentStore) Scope() store.Scope { return store.Machine }

func (s *silentStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if s.writes.Add(1); s.silent.Load() {
		return 0, errSilence
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

func (s *silentStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if s.writes.Add(1); s.silent.Load() {
		return 0, errSilence
	}
	return s.Memory.Update(ctx, key, at, value, ttl)
}

// However a turn ends, its table writes nothing more for it after a while, and no
// goroutine stays. The table is not closed here: a bubble that is left with a
// goroutine fails the test.
func TestATurnLeavesNothingBehind(t *testing.T) {
	for _, c := range []struct {
		explanation string
		end         func(t *testing.T, s *silentStore, table *claim.Table)
	}{
		{"it is finished", func(t *testing.T, s *silentStore, table *claim.Table) {
			require.NoError(t, taken(t, s, table).Finish(t.Context(), nil))
		}},
		{"it is let go", func(t *testing.T, s *silentStore, table *claim.Table) {
			taken(t, s, table).LetGo(t.Context(), nil)
		}},
		{"its end is never confirmed", func(t *testing.T, s *silentStore, table *claim.Table) {
			held := taken(t, s, table)
			s.silent.Store(true)
			require.ErrorIs(t, held.Finish(t.Context(), nil), errSilence)
		}},
		{"it was let go, which is never confirmed", func(t *testing.T, s *silentStore, table *claim.Table) {
			held := taken(t, s, table)
			s.silent.Store(true)
			held.LetGo(t.Context(), nil)
		}},
		{"its claim is never confirmed", func(t *testing.T, s *silentStore, table *claim.Table) {
			s.silent.Store(true)
			_, err := table.Take(t.Context(), turnOf(t, s))
			require.ErrorIs(t, err, errSilence)
		}},
		{"another request has taken over, and it ends later", func(t *testing.T, s *silentStore, table *claim.Table) {
			held := taken(t, s, table)
			s.silent.Store(true)
			time.Sleep(2*time.Minute + time.Millisecond) // longer than a lease, and between two signs of life
			other := newTable(t, &silentStore{Memory: s.Memory})
			require.NoError(t, taken(t, s, other).Finish(t.Context(), nil))
			s.silent.Store(false)
			_ = held.Finish(t.Context(), nil) // it is too late
		}},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &silentStore{Memory: store.NewMemory(nil)}
				table := claim.New(claim.Options{
					Store: s, Lease: 15 * time.Second, Wait: 20 * time.Second, Patience: 2 * time.Second, MaxAttempts: 3,
				})
				c.end(t, s, table)
				time.Sleep(2 * time.Minute)
				written := s.writes.Load()
				time.Sleep(time.Hour)
				require.Equal(t, written, s.writes.Load())
			})
		})
	}
}

// bubble is synctest.Test with a bound in real time. A write that goes on after its turn
// may wait for the mutex of another, and there the clock of a bubble stands still.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		synctest.Test(t, f) // a failure ends this goroutine alone
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.FailNow(t, "something of the turn is left, and waits for a mutex")
	}
}

func taken(t *testing.T, s store.Store, table *claim.Table) *claim.Held {
	t.Helper()
	answer, err := table.Take(t.Context(), turnOf(t, s))
	require.NoError(t, err)
	require.NotNil(t, answer.Held)
	return answer.Held
}
