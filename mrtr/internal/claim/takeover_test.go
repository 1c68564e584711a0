package claim_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/store"
)

// deafStore is a memory store of one machine, or of one process, whose updates do as the
// next of a list says.
type deafStore struct {
	*store.Memory
	local   bool
	updates []func(ctx context.Context, do func() (store.Revision, error)) (store.Revision, error)
	gone    bool // Get finds nothing

	mu    sync.Mutex // a late write has a goroutine of its own
	wrote int
	last  []byte
}

func (s *deafStore) Scope() store.Scope {
	if s.local {
		return store.Process
	}
	return store.Machine
}

func (s *deafStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	value = append([]byte(nil), value...)
	s.mu.Lock()
	s.wrote++
	s.mu.Unlock()
	do := func() (store.Revision, error) {
		s.mu.Lock()
		s.last = value
		s.mu.Unlock()
		return s.Memory.Update(context.WithoutCancel(ctx), key, at, value, ttl)
	}
	if len(s.updates) == 0 {
		return do()
	}
	next := s.updates[0]
	s.updates = s.updates[1:]
	return next(ctx, do)
}

func (s *deafStore) written() (times int, last []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote, s.last
}

func (s *deafStore) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if s.gone {
		return nil, 0, store.ErrNotFound
	}
	return s.Memory.Get(ctx, key)
}

type update = func(ctx context.Context, do func() (store.Revision, error)) (store.Revision, error)

func fails(err error) update {
	return func(context.Context, func() (store.Revision, error)) (store.Revision, error) { return 0, err }
}

// late writes are done when their callers have given up.
func late(after time.Duration) update {
	return func(_ context.Context, do func() (store.Revision, error)) (store.Revision, error) {
		time.AfterFunc(after, func() { _, _ = do() })
		return 0, errSilence
	}
}

func slowly(d time.Duration) update {
	return func(_ context.Context, do func() (store.Revision, error)) (store.Revision, error) {
		time.Sleep(d)
		return do()
	}
}

const aLease = 15 * time.Second

// onDeaf plays with a store, a turn in it, and a table. A table that another makes dies
// when it is closed.
func onDeaf(t *testing.T, play func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn)) {
	synctest.Test(t, func(t *testing.T) {
		s := &deafStore{Memory: store.NewMemory(nil)}
		play(t, s, newTable(t, s), turnOf(t, s))
	})
}

// died has the turn claimed by a process that dies, with an effect noted as begun.
func died(t *testing.T, s store.Store, turn claim.Turn) {
	t.Helper()
	dead := newTable(t, s)
	answer, err := dead.Take(t.Context(), turn)
	require.NoError(t, err)
	require.NoError(t, answer.Held.Note(t.Context(), pay))
	dead.Close()
}

func TestARunThatNotedNothingIsNotTakenOver(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		turn.Noted = false
		dead := newTable(t, s)
		takes(t, dead, turn)
		dead.Close()
		answer, err := table.Take(t.Context(), turn)
		require.NoError(t, err)
		require.True(t, answer.Unknown)
		require.Nil(t, answer.Held)
	})
}

// A run that noted an effect is gone on with by those who can.
func TestARunThatCannotGoOnIsNotTakenOver(t *testing.T) {
	for _, noted := range []bool{true, false} { // from its start
		onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
			turn.Noted = noted
			died(t, s, turn)
			turn.Goes = goes(false)
			answer, err := table.Take(t.Context(), turn)
			require.NoError(t, err)
			require.True(t, answer.Unknown)
			require.Nil(t, answer.Held)
			require.JSONEq(t, string(pay), string(answer.Left), "its client is told")
			turn.Goes = goes(true)
			answer, err = table.Take(t.Context(), turn)
			require.NoError(t, err)
			require.True(t, answer.TookOver)
			require.NoError(t, answer.Held.Finish(t.Context(), nil, nil))
		})
	}
}

func TestAFencedRequestTakesNothingOver(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		died(t, s, turn)
		answer, err := table.Follow(t.Context(), turn)
		require.ErrorIs(t, err, claim.ErrInFlight)
		require.Nil(t, answer.Held)
		next := takes(t, table, turn)
		next.LetGo(t.Context(), nil)
		answer, err = table.Follow(t.Context(), turn)
		require.ErrorIs(t, err, claim.ErrInFlight)
		require.Nil(t, answer.Held)
	})
}

// A holder that lost its first turn claims nothing when the call is over meanwhile.
func TestAFencedRequestBeginsNoCall(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		turn.Call, turn.Over = "call", func(context.Context, json.RawMessage) (over, left bool, _ error) { return true, false, nil }
		died(t, s, turn)
		require.NoError(t, takes(t, table, turn).Finish(t.Context(), json.RawMessage(`"end"`), nil))
		before, _ := s.written()
		answer, err := table.Follow(t.Context(), turn)
		require.ErrorIs(t, err, claim.ErrInFlight)
		require.Nil(t, answer.Held)
		time.Sleep(time.Second)
		now, _ := s.written()
		require.Equal(t, before, now)
	})
}

func takes(t *testing.T, table *claim.Table, turn claim.Turn) *claim.Held {
	t.Helper()
	answer, err := table.Take(t.Context(), turn)
	require.NoError(t, err)
	require.NotNil(t, answer.Held)
	return answer.Held
}

// A holder in this process is at work however long it says nothing.
func TestAHolderOfThisProcessIsNotTakenForDead(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
		s.local = true
		table := newTable(t, s)
		held := takes(t, table, turn)
		time.Sleep(5 * aLease)
		for range 3 {
			answer, err := table.Take(t.Context(), turn)
			require.ErrorIs(t, err, claim.ErrInFlight)
			require.Nil(t, answer.Held)
		}
		require.NoError(t, held.Finish(t.Context(), nil, nil))
	})
}

// A note that took more than half of a lease is made again, and three times at most.
func TestANoteThatIsAlwaysTooLateIsGivenUp(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		held := takes(t, table, turn)
		s.updates = []update{slowly(aLease * 6 / 10)}
		require.NoError(t, held.Note(t.Context(), pay))
		require.Equal(t, 2, s.wrote)
		s.updates = []update{slowly(aLease * 6 / 10), slowly(aLease * 6 / 10), slowly(aLease * 6 / 10)}
		require.ErrorContains(t, held.Note(t.Context(), pay), "took longer")
		require.NoError(t, held.Finish(t.Context(), nil, nil))
	})
}

// The end of an effect is written with the next write, and soon if none follows.
func TestTheEndOfAnEffectTravelsWithTheNextWrite(t *testing.T) {
	ended := json.RawMessage(`[{"key":"pay","value":1}]`)
	next := map[string]struct {
		does func(t *testing.T, held *claim.Held)
		left json.RawMessage
	}{
		"nothing":        {func(*testing.T, *claim.Held) {}, ended},
		"another effect": {func(t *testing.T, held *claim.Held) { require.NoError(t, held.Note(t.Context(), pay)) }, pay},
		"the result":     {func(t *testing.T, held *claim.Held) { require.NoError(t, held.Finish(t.Context(), nil, nil)) }, nil},
		"the release":    {func(t *testing.T, held *claim.Held) { held.LetGo(t.Context(), ended) }, ended},
	}
	require.Len(t, next, 4)
	for what, c := range next {
		t.Run(what, func(t *testing.T) {
			onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
				held := takes(t, table, turn)
				require.NoError(t, held.Note(t.Context(), pay))
				before, _ := s.written()
				require.True(t, held.Ended(ended))
				now, _ := s.written()
				require.Equal(t, before, now)
				c.does(t, held)
				time.Sleep(aLease / 50)
				synctest.Wait()
				now, last := s.written()
				require.Equal(t, before+1, now)
				var written struct{ Effects json.RawMessage }
				require.NoError(t, json.Unmarshal(last, &written))
				require.Equal(t, string(c.left), string(written.Effects))
			})
		})
	}
}

// A holder goes on to give signs of life after a write that took so long that one of them
// fell into it.
func TestASlowNoteDoesNotEndTheSignsOfLife(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		held := takes(t, table, turn)
		time.Sleep(aLease/3 - time.Second)
		s.updates = []update{slowly(2 * time.Second)}
		require.NoError(t, held.Note(t.Context(), pay))
		time.Sleep(3 * aLease)
		_, err := newTable(t, s).Take(t.Context(), turn)
		require.ErrorIs(t, err, claim.ErrInFlight)
		require.NoError(t, held.Finish(t.Context(), nil, nil))
	})
}

// A result that does not fit is noted as not kept, and the record of a turn that is done keeps no
// effects. A turn whose result somebody has to look after is not done without it.
func TestAResultThatTheStoreDoesNotTake(t *testing.T) {
	for _, refusal := range []error{nil, store.ErrTooLarge, store.ErrFull} {
		for _, due := range []bool{false, true} {
			onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
				held := takes(t, table, turn)
				require.NoError(t, held.Note(t.Context(), pay))
				if due {
					held.Due(time.Now(), time.Now().Add(time.Hour))
				}
				want := `"result"`
				if refusal != nil {
					s.updates, want = []update{fails(refusal)}, ""
				}
				err := held.Finish(t.Context(), json.RawMessage(`"result"`), nil)
				if due && refusal != nil {
					require.ErrorIs(t, err, claim.ErrNotTaken)
					require.ErrorIs(t, err, refusal)
					held.LetGo(t.Context(), pay)
					answer, err := table.Take(t.Context(), turn)
					require.NoError(t, err)
					require.Equal(t, string(pay), string(answer.Left))
					require.NoError(t, answer.Held.Finish(t.Context(), nil, nil))
					return
				}
				require.NoError(t, err)
				require.NotContains(t, string(s.last), "pay")
				require.NotContains(t, string(s.last), "effects")
				require.Equal(t, due, strings.Contains(string(s.last), `"due"`))
				answer, err := table.Take(t.Context(), turn)
				require.NoError(t, err)
				require.Equal(t, want, string(answer.Result))
			})
		}
	}
}

// A turn that was let go of by a write that was lost is free a moment later.
func TestLettingGoIsTriedAgain(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		held := takes(t, table, turn)
		s.updates = []update{fails(errSilence)}
		held.LetGo(t.Context(), nil)
		began := time.Now()
		require.NoError(t, takes(t, newTable(t, s), turn).Finish(t.Context(), nil, nil))
		require.Less(t, time.Since(began), time.Second)
	})
}

// A takeover whose write comes late, or is done unheard, holds up nobody, and the turn
// keeps what it has.
func TestATakeoverThatNobodyConfirmedIsDisowned(t *testing.T) {
	for name, how := range map[string]update{
		"late": late(100 * time.Millisecond), "lost": fails(errSilence),
		"unheard": func(_ context.Context, do func() (store.Revision, error)) (store.Revision, error) {
			_, _ = do()
			return 0, errSilence
		},
	} {
		t.Run(name, func(t *testing.T) {
			onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
				takes(t, table, turn).LetGo(t.Context(), pay)
				s.updates = []update{how}
				_, err := table.Take(t.Context(), turn)
				require.ErrorIs(t, err, errSilence)
				time.Sleep(3 * time.Second)
				began := time.Now()
				answer, err := newTable(t, s).Take(t.Context(), turn)
				require.NoError(t, err)
				require.Zero(t, time.Since(began), "nobody holds it")
				require.False(t, answer.TookOver)
				require.JSONEq(t, string(pay), string(answer.Left))
				require.NoError(t, answer.Held.Finish(t.Context(), nil, nil))
			})
		})
	}
}

// A holder whose record is gone holds nothing any more.
func TestAHolderWhoseRecordIsGoneIsFenced(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		held := takes(t, table, turn)
		s.updates = []update{fails(errSilence), fails(store.ErrConflict)}
		require.ErrorIs(t, held.Note(t.Context(), nil), errSilence)
		s.gone = true
		require.ErrorIs(t, held.Note(t.Context(), nil), claim.ErrFenced)
		require.ErrorIs(t, held.Finish(t.Context(), nil, nil), claim.ErrFenced)
	})
}

// A read that lags behind is no sign of life.
func TestALaggingReadIsNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.Equal(t, 3*time.Second, claim.SilenceAfter(time.Second, 5, 4, 5, 5))
		require.Equal(t, time.Second, claim.SilenceAfter(time.Second, 5, 4, 6, 6))
	})
}
