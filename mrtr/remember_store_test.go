package mrtr_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

func TestRememberOptionsAreChecked(t *testing.T) {
	memory := store.NewMemory(nil)
	ephemeral, keyed := &statecodec.Options{Ephemeral: true}, &statecodec.Options{Keys: keys(1)}
	for explanation, opts := range map[string]*mrtr.Options{
		"the store of a process, and keys that others have": {Store: memory, State: keyed},
		"a store that lives on, and a key that does not":    {Store: shared{memory}, State: ephemeral},
		"the same, with the key of a process by default":    {Store: shared{memory}},
		"nothing to remember in":                            {Remember: &mrtr.RememberOptions{}},
		"a negative lease":                                  {Store: memory, Remember: &mrtr.RememberOptions{Lease: -1}},
		"a lease that no clock keeps":                       {Store: memory, Remember: &mrtr.RememberOptions{Lease: 1}},
		"a negative wait":                                   {Store: memory, Remember: &mrtr.RememberOptions{Wait: -1}},
		"negative patience":                                 {Store: memory, Remember: &mrtr.RememberOptions{Patience: -1}},
		"negative attempts":                                 {Store: memory, Remember: &mrtr.RememberOptions{MaxAttempts: -1}},
		"a negative result":                                 {Store: memory, Remember: &mrtr.RememberOptions{MaxResult: -1}},
	} {
		_, err := mrtr.New(opts)
		var usage *mrtr.UsageError
		require.ErrorAs(t, err, &usage, explanation)
	}
	rt, _ := newRuntime(t, &mrtr.Options{Store: memory})
	var did deeds
	require.Panics(t, func() {
		mrtr.Tool(rt, mrtr.Coroutine(holdAndPay(&did)), &mrtr.HandlerOptions{Interrupted: mrtr.InterruptedAgain})
	}, "a coroutine cannot run again")
	require.Panics(t, func() {
		mrtr.Tool(rt, mrtr.Journal(holdAndPay(&did)), &mrtr.HandlerOptions{Interrupted: 7})
	})
}

// A result that is too large goes out once, and nothing runs for it again.
func TestAResultThatIsTooLargeIsNotKept(t *testing.T) {
	opts := withStore(store.NewMemory(nil))
	opts.Remember = &mrtr.RememberOptions{MaxResult: 100}
	var did deeds
	tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
	seat := tool.begin()
	long := strings.Repeat("x", 200)
	require.Equal(t, tripReply{plan: long}, tool.answer(seat, long))
	err := tool.answer(seat, long).err
	ended(t, err, mrtr.ResultNotKept)
	require.EqualError(t, err, "This round was completed before, and its result was not kept: do not call the tool again without checking.")
	require.Equal(t, 1, did.count("paid"))
}

// A handler that forgets is served as without a store, which may be down.
func TestAHandlerMayForget(t *testing.T) {
	s := newFaultyStore()
	s.fail(func(op string) error { return store.ErrFull })
	var did deeds
	rt := newTripRuntime(t, withStore(s))
	tool := &tripTool{handler: mrtr.Tool(rt, mrtr.Native(nativeOf(&did)), &mrtr.HandlerOptions{Forgets: true})}
	seat := tool.begin()
	require.Equal(t, tripReply{plan: "window"}, tool.answer(seat, "window"))
	require.Equal(t, tripReply{plan: "aisle"}, tool.answer(seat, "aisle"))
	require.Equal(t, 2, did.count("paid"))
}

// A call that asks nothing leaves no record.
func TestACallThatAsksNothingIsNotRecorded(t *testing.T) {
	s := newFaultyStore()
	tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Native(func(context.Context, *mrtr.Call, tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		return nil, tripOut{Plan: "done"}, nil
	}), "")
	tool.begin() // which asks for the epoch
	s.fail(func(op string) error { return store.ErrFull })
	require.Equal(t, tripReply{plan: "done"}, tool.begin())
}

func TestEventsOfRememberedRounds(t *testing.T) {
	seen := &recorder{}
	opts := withStore(store.NewMemory(nil))
	opts.Observer = seen
	var did deeds
	tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
	seat := tool.begin()
	again := tool.round(t.Context(), "", seat.state, nil) // the answer is missing
	tool.answer(again, "window")
	tool.answer(seat, "window")
	tool.answer(seat, "aisle")
	var kinds []mrtr.EventKind
	for _, e := range seen.all() {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []mrtr.EventKind{
		mrtr.RoundStarted, mrtr.HandlerEntered, mrtr.QuestionsAsked,
		mrtr.RoundStarted, mrtr.AnswerRefused, mrtr.QuestionsAsked,
		mrtr.RoundStarted, mrtr.RoundClaimed, mrtr.HandlerEntered, mrtr.CallCompleted,
		mrtr.RoundStarted, mrtr.RoundRepeated,
		mrtr.RoundStarted, mrtr.RoundRefused,
	}, kinds)
}

// The states of one turn are worth the same: the one that was sent first, and the one
// with which its question was asked again.
func TestARoundThatIsAskedAgainIsTheSameTurn(t *testing.T) {
	for _, style := range duplicateStyles {
		t.Run(style.name, func(t *testing.T) {
			var did deeds
			tool := newTrip(newTripRuntime(t, remembering()), style.style(t, &did), "")
			seat := tool.begin()
			again := tool.round(t.Context(), "", seat.state, nil)
			require.NoError(t, again.err)
			pay := tool.answer(seat, "window") // the earlier state
			require.Equal(t, []string{"pay"}, pay.asks)
			require.Equal(t, pay, tool.answer(again, "window"))
			refusedOtherwise(t, tool.answer(again, "aisle"))
			require.Equal(t, tripReply{plan: "window yes"}, tool.answer(pay, "yes"))
			require.Equal(t, 1, did.count("held"))
		})
	}
}

// A turn does not outlive the time of its first state, however often its question is
// asked again: its record is gone then.
func TestATurnEndsWithItsFirstState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := remembering()
		opts.State.TTL, opts.State.Skew = time.Minute, time.Second
		var did deeds
		tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeOf(&did)), "")
		seat := tool.begin()
		time.Sleep(50 * time.Second)
		again := tool.round(t.Context(), "", seat.state, nil)
		require.NoError(t, again.err)
		time.Sleep(10 * time.Second)
		require.Equal(t, tripReply{plan: "window"}, tool.answer(again, "window"))
		time.Sleep(2 * time.Second)
		badStateOf(t, tool.answer(again, "window"))
		require.Equal(t, 1, did.count("paid"))
	})
}

// A store that is down for a moment costs no frame.
func TestAFrameOutlivesAStoreThatFails(t *testing.T) {
	s := newFaultyStore()
	var did deeds
	tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Coroutine(holdAndPay(&did)), "")
	seat := tool.begin()
	s.fail(func(op string) error { return store.ErrFull })
	retryable(t, tool.answer(seat, "window").err, "store_full")
	s.fail(nil)
	require.Equal(t, []string{"pay"}, tool.answer(seat, "window").asks)
}

// The end of a list of steps may have effects of its own, and does not run twice.
func TestTheEndOfStepsRunsAtMostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		memory := store.NewMemory(nil)
		serve := func(i *instance) *tripTool {
			var list tripSteps
			seat := mrtr.AskStep(&list, "seat", asks("seat", &deeds{}))
			list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
				did.note("paid")
				i.reach(afterEffect)
				return tripOut{Plan: seat.Of(at)}, nil
			})
			return newTrip(newTripRuntime(t, &mrtr.Options{Store: i}), list.MustBuild(), "")
		}
		first, second := newInstance(memory, afterEffect), newInstance(memory, "")
		dying, living := serve(first), serve(second)
		seat := dying.begin()
		own := make(chan tripReply, 1)
		go func() { own <- dying.answer(seat, "window") }()
		<-first.stopped
		e := ended(t, living.answer(seat, "window").err, mrtr.OutcomeUnknown)
		require.Equal(t, []string{"end"}, e.Unknown)
		first.goOn()
		require.Error(t, (<-own).err)
		require.Equal(t, 1, did.count("paid"))
	})
}

// What leaves the process is sealed.
func TestRecordsAreSealed(t *testing.T) {
	s := &spyingStore{Memory: store.NewMemory(nil)}
	var did deeds
	tool := newTrip(newTripRuntime(t, &mrtr.Options{Store: s}), mrtr.Journal(holdAndPay(&did)), "")
	pay := tool.answer(tool.begin(), "canary")
	require.Equal(t, tripReply{plan: "canary yes"}, tool.answer(pay, "yes"))
	require.NotEmpty(t, s.values)
	for _, value := range s.values {
		for _, word := range []string{"canary", "held", "status"} {
			require.False(t, bytes.Contains(value, []byte(word)), word)
		}
	}
}

// spyingStore keeps the values that are written.
type spyingStore struct {
	*store.Memory
	mu     sync.Mutex
	values [][]byte
}

func (s *spyingStore) Scope() store.Scope { return store.Cluster }

func (s *spyingStore) spy(value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, bytes.Clone(value))
}

func (s *spyingStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	s.spy(value)
	return s.Memory.Create(ctx, key, value, ttl)
}

func (s *spyingStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	s.spy(value)
	return s.Memory.Update(ctx, key, at, value, ttl)
}
