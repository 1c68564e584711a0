package mrtr_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// faultyStore is a memory store whose operations can be made to fail.
type faultyStore struct {
	*store.Memory
	mu    sync.Mutex
	fault func(op string) error
}

func newFaultyStore() *faultyStore { return &faultyStore{Memory: store.NewMemory(nil)} }

// fail makes operations fail from now on; nil ends it.
func (s *faultyStore) fail(fault func(op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

func (s *faultyStore) meet(op string) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(op)
}

func (s *faultyStore) Epoch(ctx context.Context) (string, error) {
	if err := s.meet("epoch"); err != nil {
		return "", err
	}
	return s.Memory.Epoch(ctx)
}

func (s *faultyStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.meet("create"); err != nil {
		return 0, err
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

func (s *faultyStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if err := s.meet("update"); err != nil {
		return 0, err
	}
	return s.Memory.Update(ctx, key, at, value, ttl)
}

func (s *faultyStore) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := s.meet("get"); err != nil {
		return nil, 0, err
	}
	return s.Memory.Get(ctx, key)
}

// withStore is a runtime's options for a store in this process.
func withStore(s store.Store) *mrtr.Options {
	return &mrtr.Options{Store: s, State: &statecodec.Options{Ephemeral: true}}
}

// A store that fails refuses the round before anything is run, and the same request
// goes through when it works again.
func TestAStoreThatFailsRefusesTheRound(t *testing.T) {
	lost := errors.New("connection lost")
	for _, c := range []struct {
		explanation string
		fault       error
		reason      string
	}{
		{"its connection is lost", lost, "store_unavailable"},
		{"it is full", store.ErrFull, "store_full"},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			var did deeds
			s := newFaultyStore()
			s.fail(func(string) error { return c.fault })
			tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Journal(holdAndPay(&did)), "")
			retryable(t, tool.begin().err, c.reason)
			s.fail(nil)
			seat := tool.begin()
			s.fail(func(op string) error { return c.fault })
			retryable(t, tool.answer(seat, "window").err, c.reason)
			require.Zero(t, did.count("held"))
			s.fail(nil)
			pay := tool.answer(seat, "window")
			require.Equal(t, []string{"pay"}, pay.asks)
			require.Equal(t, tripReply{plan: "window yes"}, tool.answer(pay, "yes"))
			require.Equal(t, 1, did.count("paid"))
		})
	}
}

// A store that does not answer costs a request its patience and no more.
func TestAStoreThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &hangingStore{Memory: store.NewMemory(nil)}
		var did deeds
		tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Journal(holdAndPay(&did)), "")
		seat := tool.begin()
		s.hangs.Store(true)
		began := time.Now()
		retryable(t, tool.answer(seat, "window").err, "store_unavailable")
		require.Equal(t, 2*time.Second, time.Since(began))
		require.Zero(t, did.count("held"))
		s.hangs.Store(false)
		require.Equal(t, []string{"pay"}, tool.answer(seat, "window").asks)
	})
}

// A claim that arrives after its request was refused does not keep the turn from the
// next one.
func TestAClaimThatArrivesLateIsDisowned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lateStore{Memory: store.NewMemory(nil)}
		var did deeds
		tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Native(nativeOf(&did)), "")
		seat := tool.begin()
		s.late.Store(true)
		retryable(t, tool.answer(seat, "window").err, "store_unavailable")
		s.late.Store(false)
		synctest.Wait()
		time.Sleep(time.Second)
		began := time.Now()
		require.Equal(t, tripReply{plan: "window"}, tool.answer(seat, "window"))
		require.Less(t, time.Since(began), time.Second, "nobody waits for a lease")
		require.Equal(t, 1, did.count("paid"))
	})
}

// A state of a call that is remembered needs the store it was remembered in.
func TestAStateNeedsItsStore(t *testing.T) {
	var did deeds
	serve := func(s store.Store) *tripTool {
		o := &mrtr.Options{Store: s}
		return newTrip(newTripRuntime(t, o), mrtr.Native(nativeOf(&did)), "")
	}
	first := shared{store.NewMemory(nil)}
	seat := serve(first).begin()
	badStateOf(t, serve(nil).answer(seat, "window"))
	badStateOf(t, serve(shared{store.NewMemory(nil)}).answer(seat, "window"))
	require.Equal(t, tripReply{plan: "window"}, serve(first).answer(seat, "window"), "another instance")
}

func badStateOf(t *testing.T, reply tripReply) {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, reply.err, &wire)
	require.Equal(t, jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: statecodec.Refusal}, *wire)
}

// nativeOf asks for a seat, and pays.
func nativeOf(did *deeds) mrtr.GuardedFunc[tripIn, tripOut] {
	return func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		seat, ok := mrtr.Answer(c, text("seat"))
		if !ok {
			return mrtr.Need(text("seat")), tripOut{}, nil
		}
		did.note("paid")
		return nil, tripOut{Plan: seat}, nil
	}
}

// shared is a memory store as if several processes shared it, whose records are sealed.
type shared struct{ *store.Memory }

func (shared) Scope() store.Scope { return store.Machine }

// hangingStore answers no write until its caller gives up.
type hangingStore struct {
	*store.Memory
	hangs atomic.Bool
}

func (s *hangingStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if s.hangs.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

// lateStore gives up on a claim and makes it all the same, a moment later.
type lateStore struct {
	*store.Memory
	late atomic.Bool
}

func (s *lateStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	if s.late.Load() {
		value = bytes.Clone(value)
		time.AfterFunc(100*time.Millisecond, func() {
			_, _ = s.Memory.Create(context.Background(), key, value, ttl)
		})
		return 0, errors.New("no answer came")
	}
	return s.Memory.Create(ctx, key, value, ttl)
}
