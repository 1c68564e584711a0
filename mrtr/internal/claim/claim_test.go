package claim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/store"
)

// fate is what becomes of a write.
type fate int

const (
	done    fate = iota
	lost         // it is not done, and its caller does not know
	unheard      // it is done, and its caller does not know
)

// fickleStore is a memory store for several processes, whose writes have fates.
type fickleStore struct {
	*store.Memory
	mu    sync.Mutex
	fates []fate // of the next updates
}

var errSilence = errors.New("no answer came")

func (s *fickleStore) Scope() store.Scope { return store.Machine }

func (s *fickleStore) next() fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fates) == 0 {
		return done
	}
	f := s.fates[0]
	s.fates = s.fates[1:]
	return f
}

func (s *fickleStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	switch s.next() {
	case lost:
		return 0, errSilence
	case unheard:
		if _, err := s.Memory.Update(ctx, key, at, value, ttl); err != nil {
			return 0, err
		}
		return 0, errSilence
	}
	return s.Memory.Update(ctx, key, at, value, ttl)
}

// pay stands for the effects of a turn, whatever they are.
var pay = json.RawMessage(`[{"key":"pay"}]`)

func newTable(t *testing.T, s store.Store) *claim.Table {
	sweeper, _ := s.(store.Sweeper)
	table := claim.New(claim.Options{
		Store: s, Lease: 15 * time.Second, Wait: 20 * time.Second, Patience: 2 * time.Second, MaxAttempts: 3, Sweeper: sweeper,
	})
	t.Cleanup(table.Close)
	return table
}

func turnOf(t *testing.T, s store.Store) claim.Turn {
	epoch, err := s.Epoch(t.Context())
	require.NoError(t, err)
	return claim.Turn{
		Key: store.Key{Epoch: epoch, Name: "owner.call.1"}, Fingerprint: "answers",
		Expires: time.Now().Add(time.Hour), Noted: true, Goes: goes(true),
	}
}

// goes says whether a request goes on with a run that was cut off.
type goes bool

func (g goes) Goes([]byte) bool { return bool(g) }

// A holder does not mistake its own write, of which it did not hear, for another's, and
// a result that the store did not take at once is there a moment later.
func TestWritesThatNobodyConfirmed(t *testing.T) {
	for _, c := range []struct {
		explanation string
		fates       []fate
	}{
		{"all is well", nil},
		{"the note is lost", []fate{lost}},
		{"the note is done", []fate{unheard}},
		{"the result is lost", []fate{done, lost}},
		{"the result is done", []fate{done, unheard}},
		{"both are lost, and again", []fate{lost, lost, lost}},
		{"both are done", []fate{unheard, unheard}},
		{"one is lost, and the next done", []fate{lost, unheard, lost, unheard}},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fickleStore{Memory: store.NewMemory(nil), fates: c.fates}
				table, turn := newTable(t, s), turnOf(t, s)
				held, err := table.Take(t.Context(), turn)
				require.NoError(t, err)
				err = held.Held.Note(t.Context(), pay)
				if len(c.fates) > 0 && c.fates[0] != done {
					require.ErrorIs(t, err, errSilence, "an effect whose note is in doubt must not begin")
				} else {
					require.NoError(t, err)
				}
				_ = held.Held.Finish(t.Context(), json.RawMessage(`"result"`), nil)
				again, err := newTable(t, s).Take(t.Context(), turn)
				require.NoError(t, err)
				require.Equal(t, `"result"`, string(again.Result))
				require.Nil(t, again.Held)
			})
		})
	}
}

// A result that the store has taken may be another request's already: its holder, which did not hear of
// that, does not take it back.
func TestAResultIsNotTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fickleStore{Memory: store.NewMemory(nil), fates: []fate{done, unheard}}
		turn := turnOf(t, s)
		held := takes(t, newTable(t, s), turn)
		require.NoError(t, held.Note(t.Context(), pay))
		held.Due(time.Now().Add(time.Hour), time.Now().Add(2*time.Hour))
		require.ErrorIs(t, held.Finish(t.Context(), json.RawMessage(`"questions"`), nil), claim.ErrNotTaken)
		held.LetGo(t.Context(), pay)
		again, err := newTable(t, s).Take(t.Context(), turn)
		require.NoError(t, err)
		require.Nil(t, again.Held)
		require.Equal(t, `"questions"`, string(again.Result))
	})
}

// A turn that was let go of with nothing done binds nobody to its answers.
func TestALetGoTurn(t *testing.T) {
	for _, c := range []struct {
		explanation string
		left        json.RawMessage
		want        error
	}{
		{"nothing was done", nil, nil},
		{"an effect has begun", pay, claim.ErrOtherwise},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fickleStore{Memory: store.NewMemory(nil)}
				table, turn := newTable(t, s), turnOf(t, s)
				first, err := table.Take(t.Context(), turn)
				require.NoError(t, err)
				first.Held.LetGo(t.Context(), c.left)
				require.ErrorIs(t, first.Held.Note(t.Context(), nil), claim.ErrFenced, "it has ended")

				other := turn
				other.Fingerprint = "other answers"
				otherwise, err := table.Take(t.Context(), other)
				require.ErrorIs(t, err, c.want)
				if c.want == nil {
					otherwise.Held.LetGo(t.Context(), nil)
				}
				same, err := table.Take(t.Context(), turn)
				require.NoError(t, err)
				require.Equal(t, string(c.left), string(same.Left))
				require.False(t, same.TookOver)
				require.NoError(t, same.Held.Finish(t.Context(), nil, nil))
			})
		})
	}
}

// A turn of a store that was wiped is not taken for a new one.
func TestATurnOfAnotherEpochIsForgotten(t *testing.T) {
	s := store.NewMemory(nil)
	turn := turnOf(t, s)
	turn.Key.Epoch = "another"
	_, err := newTable(t, s).Take(t.Context(), turn)
	require.ErrorIs(t, err, store.ErrForgotten)
}

// deadStore takes no claim, and nobody knows whether it will.
type deadStore struct{ *store.Memory }

func (deadStore) Scope() store.Scope { return store.Machine }

func (deadStore) Create(context.Context, store.Key, []byte, time.Duration) (store.Revision, error) {
	return 0, errSilence
}

func (deadStore) Get(context.Context, store.Key) ([]byte, store.Revision, error) {
	return nil, 0, errSilence
}

// While a store is down, clients that send their requests again and again leave no more
// behind than a bounded number of claims to look after, and each for a bounded time.
func TestClaimsThatAreLookedAfterAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := deadStore{store.NewMemory(nil)}
		table, turn := newTable(t, s), turnOf(t, s)
		for range 2 {
			before := runtime.NumGoroutine()
			for range 1500 {
				_, err := table.Take(t.Context(), turn)
				require.ErrorIs(t, err, errSilence)
			}
			require.LessOrEqual(t, runtime.NumGoroutine()-before, 10, "one looks after all claims of a turn")
			for i := range 1500 {
				another := turn
				another.Key.Name = fmt.Sprint("owner.call.", i)
				_, err := table.Take(t.Context(), another)
				require.ErrorIs(t, err, errSilence)
			}
			left := runtime.NumGoroutine() - before
			require.LessOrEqual(t, left, 1000)
			require.Greater(t, left, 900)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.LessOrEqual(t, runtime.NumGoroutine(), before+10) // of other tests too
		}
	})
}

// A holder that cannot tell whether its write was done looks for its own name in the
// record. No two claims have the same one, whichever table of the store made them.
func TestEveryClaimHasANameOfItsOwn(t *testing.T) {
	memory := store.NewMemory(nil)
	for _, s := range []store.Store{memory, elsewhere{memory}} {
		seen := map[string]bool{}
		for range 2 {
			table := claim.New(claim.Options{Store: s})
			for range 100 {
				seen[table.NewHolder()] = true
			}
			table.Close()
		}
		require.Len(t, seen, 200)
	}
}

// elsewhere is a store whose records outlive the process.
type elsewhere struct{ store.Store }

func (elsewhere) Scope() store.Scope { return store.Cluster }

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
				require.NoError(t, takes(t, newTable(t, s.Memory), left).Finish(t.Context(), nil, nil))

				table := newTable(t, s) // of the next process
				time.Sleep(5 * time.Minute)
				require.Equal(t, []bool{true, false}, s.swept(), "after one minute and after two")
				for range 2 {
					turn := claim.Turn{Key: store.Key{Epoch: epoch, Name: "turn"}, Expires: time.Now().Add(90 * time.Second)}
					require.NoError(t, takes(t, table, turn).Finish(t.Context(), nil, nil))
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
