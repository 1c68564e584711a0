package roundcost

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/store"
)

// elsewhere is a store whose records outlive the process, so that they are sealed.
type elsewhere struct{ store.Store }

func (elsewhere) Scope() store.Scope { return store.Cluster }

// The bare writes are those of a remembered round, in number, in length and in the shape
// of their names; the calls without a store make none.
func TestBareWritesAreLikeThoseOfARound(t *testing.T) {
	for name, inner := range map[string]store.Store{"in the clear": store.NewMemory(nil), "sealed": elsewhere{store.NewMemory(nil)}} {
		t.Run(name, func(t *testing.T) {
			spy := &recorder{Store: inner}
			s := begin(t, func() store.Store { return spy })
			defer s.end(t)
			writesOf := func(do func(n int) error) []write {
				spy.written = nil
				require.NoError(t, do(5))
				return spy.written
			}
			require.Empty(t, writesOf(s.without))
			real := writesOf(s.remembered)
			s.name(5)
			bare := writesOf(s.beside)
			require.Len(t, real, 10)
			require.Len(t, bare, 10)
			names := map[string]bool{}
			for i := range real {
				require.Equal(t, real[i].key.Epoch, bare[i].key.Epoch)
				require.Regexp(t, `^[\w-]{12}\.\w{32}\.1$`, real[i].key.Name)
				require.Regexp(t, `^[\w-]{12}\.\w{32}\.1$`, bare[i].key.Name)
				require.InDelta(t, len(real[i].value), len(bare[i].value), 2, "the name of a claim differs in length")
				require.InDelta(t, real[i].ttl.Seconds(), bare[i].ttl.Seconds(), 60)
				names[bare[i].key.Name] = true
			}
			require.Len(t, names, 5, "each call has records of its own")
		})
	}
}

// Each kind of work is measured for itself: a bare write allocates, and a remembered round
// allocates more.
func TestEachKindOfWorkIsCountedForItself(t *testing.T) {
	s := begin(t, func() store.Store { return store.NewMemory(nil) })
	defer s.end(t)
	r := s.round(t, pace{blocks: 2}, 400) // under the race detector pools drop what they hold, now and then
	for kind, cost := range map[string]Cost{"remembered": r.Remembered, "without": r.Without, "beside": r.Beside} {
		require.Positive(t, cost.Wall, kind)
		require.Positive(t, cost.Bytes, kind)
	}
	require.Greater(t, r.Beside.Allocs, r.Without.Allocs)
	require.Greater(t, r.Remembered.Allocs, r.Beside.Allocs)
	require.Equal(t, 1200, s.served)
}
