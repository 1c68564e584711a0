package claim_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr/internal/claim"
	"github.com/mrtr-go/sdk/store"
)

// farStore is a store whose writes take their time: whoever reads meanwhile sees the record
// as it was.
type farStore struct{ *store.Memory }

func (farStore) Scope() store.Scope { return store.Cluster }

func (s farStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	time.Sleep(10 * time.Millisecond)
	return s.Memory.Update(ctx, key, at, value, ttl)
}

// Of several instances that wait for one that is dead, or for one that lets go, one runs the
// turn, and the others wait for it.
func TestOneOfThoseWhoWaitRunsTheTurn(t *testing.T) {
	for _, ends := range []string{"it dies", "it lets go"} {
		t.Run(ends, func(t *testing.T) {
			onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
				far := farStore{s.Memory}
				dying := newTable(t, far)
				held := takes(t, dying, turn)
				var all sync.WaitGroup
				answers := make(chan claim.Answer, 3)
				for range cap(answers) {
					waiting := newTable(t, far)
					all.Go(func() {
						answer, err := waiting.Take(t.Context(), turn)
						if err != nil && !errors.Is(err, claim.ErrInFlight) {
							t.Error(err)
						}
						answers <- answer
					})
				}
				time.Sleep(time.Second)
				if ends == "it dies" {
					dying.Close()
				} else {
					held.LetGo(t.Context(), pay)
				}
				all.Wait()
				close(answers)
				running := 0
				for answer := range answers {
					if answer.Held != nil {
						running++
						answer.Held.LetGo(t.Context(), nil)
					}
				}
				require.Equal(t, 1, running)
			})
		})
	}
}

// The effects of a turn outlive the instances that run it, however many of them die, and the
// last one that may try is told of them.
func TestEffectsOutliveSeveralDeaths(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
		died(t, s, turn)
		for range 2 {
			next := newTable(t, s)
			answer, err := next.Take(t.Context(), turn)
			require.NoError(t, err)
			require.NotNil(t, answer.Held)
			require.True(t, answer.TookOver)
			require.JSONEq(t, string(pay), string(answer.Left))
			next.Close()
		}
		for range 2 {
			answer, err := newTable(t, s).Take(t.Context(), turn)
			require.NoError(t, err)
			require.True(t, answer.Unknown, "it was cut off too often")
			require.JSONEq(t, string(pay), string(answer.Left))
		}
		turn.Late = true
		for n := range 4 { // whoever ends the call enters no handler, and may try as often again
			next := newTable(t, s)
			_, err := next.Take(t.Context(), turn)
			require.ErrorIs(t, err, claim.ErrInFlight)
			time.Sleep(aLease)
			answer, err := next.Take(t.Context(), turn)
			require.NoError(t, err)
			require.Equal(t, n < 3, answer.TookOver)
			require.Equal(t, n == 3, answer.Unknown)
			next.Close()
		}
	})
}

// A clock does not tell whether a holder is alive: its record is watched for a lease, however old
// it seems.
func TestOnlySightingsJudgeSilence(t *testing.T) {
	for _, age := range []time.Duration{0, aLease, 2 * time.Minute, 50 * time.Minute} {
		onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
			died(t, s, turn)
			time.Sleep(age)
			began := time.Now()
			takes(t, newTable(t, s), turn).LetGo(t.Context(), nil)
			require.Equal(t, aLease, time.Since(began), "a record of age %v", age)
		})
	}
}

// lagging answers reads with a record as it was, for a while.
type lagging struct {
	*deafStore
	value []byte
	at    store.Revision
	until time.Time
}

func (s *lagging) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if time.Now().Before(s.until) {
		return s.value, s.at, nil
	}
	return s.deafStore.Get(ctx, key)
}

// A takeover that nobody confirmed is let go of even if reads lag behind the record that it
// would replace.
func TestADisownedClaimIsLookedForBehindALaggingRead(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		held := takes(t, table, turn)
		slow := &lagging{deafStore: s}
		var err error
		slow.value, slow.at, err = s.Get(t.Context(), turn.Key)
		require.NoError(t, err)
		held.LetGo(t.Context(), pay)
		s.updates = []update{func(ctx context.Context, do func() (store.Revision, error)) (store.Revision, error) {
			slow.until = time.Now().Add(200 * time.Millisecond)
			return late(400*time.Millisecond)(ctx, do)
		}}
		other := newTable(t, slow)
		_, err = other.Take(t.Context(), turn)
		require.ErrorIs(t, err, errSilence)
		time.Sleep(5 * time.Second)
		began := time.Now()
		answer, err := newTable(t, s).Take(t.Context(), turn)
		require.NoError(t, err)
		require.Zero(t, time.Since(began), "nobody holds it")
		require.JSONEq(t, string(pay), string(answer.Left))
		answer.Held.LetGo(t.Context(), nil)
	})
}

// A first claim that arrives after its request was refused holds up nobody.
func TestAFirstClaimThatComesLateIsDisowned(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
		_, err := newTable(t, &lateFirst{deafStore: s}).Take(t.Context(), turn)
		require.ErrorIs(t, err, errSilence)
		time.Sleep(5 * time.Second)
		began := time.Now()
		takes(t, newTable(t, s), turn).LetGo(t.Context(), nil)
		require.Zero(t, time.Since(began))
	})
}

// Questions whose record arrived unheard stay: others may have joined the call by them.
func TestQuestionsThatNobodyConfirmedStay(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
		turn.Call, turn.Result = "call", json.RawMessage(`"questions"`)
		_, err := newTable(t, &lateFirst{deafStore: s, unheard: true}).Take(t.Context(), turn)
		require.ErrorIs(t, err, errSilence)
		time.Sleep(5 * time.Second)
		answer, err := newTable(t, s).Take(t.Context(), turn)
		require.NoError(t, err)
		require.Nil(t, answer.Held)
		require.JSONEq(t, string(turn.Result), string(answer.Result))
	})
}

// A call that takes the place of one which did nothing has the record under its own id.
func TestACallIsErasedThatTookAFreeTurn(t *testing.T) {
	onDeaf(t, func(t *testing.T, _ *deafStore, table *claim.Table, turn claim.Turn) {
		turn.Call = "nothing done"
		takes(t, table, turn).LetGo(t.Context(), nil)
		turn.Call, turn.Result = "own", json.RawMessage(`"questions"`)
		takes(t, table, turn)
		_, erased, err := table.Erase(t.Context(), turn.Key, "own", turn.Expires, nil)
		require.NoError(t, err)
		require.True(t, erased)
	})
}

// An effect that begins with the claim of a turn that was let go of is written down.
func TestAnEffectThatBeginsInAFreeTurnIsNoted(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, table *claim.Table, turn claim.Turn) {
		takes(t, table, turn).LetGo(t.Context(), nil)
		turn.Call, turn.Effects = "own", pay
		dead := newTable(t, s)
		takes(t, dead, turn)
		dead.Close()
		answer, err := table.Take(t.Context(), turn)
		require.NoError(t, err)
		require.True(t, answer.TookOver)
		require.JSONEq(t, string(pay), string(answer.Left))
	})
}

// lateFirst makes its first record a moment later, if none was made meanwhile, or unheard at once.
type lateFirst struct {
	*deafStore
	made, unheard bool
}

func (s *lateFirst) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if s.made {
		return s.deafStore.Create(ctx, key, value, ttl)
	}
	s.made = true
	if s.unheard {
		_, _ = s.deafStore.Create(ctx, key, value, ttl)
		return 0, errSilence
	}
	value = append([]byte(nil), value...)
	time.AfterFunc(100*time.Millisecond, func() { _, _ = s.Memory.Create(context.Background(), key, value, ttl) })
	return 0, errSilence
}

// A holder that was silent, and cannot tell whether its last write was done, does not write
// over the record of the one that took over.
func TestAHolderThatWakesUpLeavesTheTurnToAnother(t *testing.T) {
	onDeaf(t, func(t *testing.T, s *deafStore, _ *claim.Table, turn claim.Turn) {
		silent := newTable(t, s)
		held := takes(t, silent, turn)
		silent.Close() // its signs of life end, and fail
		next := takes(t, newTable(t, s), turn)
		require.ErrorIs(t, held.Note(t.Context(), pay), claim.ErrFenced)
		require.ErrorIs(t, held.Finish(t.Context(), nil, nil), claim.ErrFenced)
		require.NoError(t, next.Finish(t.Context(), nil, nil))
	})
}
