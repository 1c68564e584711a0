package claim_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/store"
)

// sweptStore notes what each sweep has left.
type sweptStore struct {
	*store.Memory
	scope store.Scope
	mu    sync.Mutex
	left  []bool
}

func (s *sweptStore) Scope() store.Scope { return s.scope }

func (s *sweptStore) Sweep(ctx context.Context) (bool, error) {
	left, err := s.Memory.Sweep(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, left)
	return left, err
}

func (s *sweptStore) swept() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.left
	s.left = nil
	return left
}

// Expired records go within about a minute though nobody calls, and a store without any is
// left in peace.
func TestExpiredRecordsGoWithoutTraffic(t *testing.T) {
	for _, scope := range []store.Scope{store.Process, store.Machine} {
		t.Run(scope.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sweptStore{Memory: store.NewMemory(nil), scope: scope}
				epoch, err := s.Epoch(t.Context())
				require.NoError(t, err)
				left := claim.Turn{Key: store.Key{Epoch: epoch, Name: "earlier"}, Expires: time.Now().Add(90 * time.Second)}
				require.NoError(t, takes(t, newTable(t, s.Memory), left).Finish(t.Context(), nil))

				table := newTable(t, s) // of the next process
				time.Sleep(5 * time.Minute)
				require.Equal(t, []bool{true, false}, s.swept(), "after one minute and after two")
				for range 2 {
					turn := claim.Turn{Key: store.Key{Epoch: epoch, Name: "turn"}, Expires: time.Now().Add(90 * time.Second)}
					require.NoError(t, takes(t, table, turn).Finish(t.Context(), nil))
					time.Sleep(5 * time.Minute)
					require.Equal(t, []bool{true, false}, s.swept())
				}
				table.Close()
				turn := claim.Turn{Key: store.Key{Epoch: epoch, Name: "late"}, Expires: time.Now().Add(time.Second)}
				_, _ = table.Take(t.Context(), turn)
				time.Sleep(5 * time.Minute)
				require.Empty(t, s.swept(), "of a table that is closed")
			})
		})
	}
}
