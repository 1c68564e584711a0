package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

func TestMain(m *testing.M) { kit.Main(m) }

// operation is one of a hookedStore.
type operation struct {
	context.Context
	name  string
	key   store.Key
	value []byte
	do    func() // of a write: does it, whatever its caller hears
}

// hookedStore is a memory store that several processes can share. A test can hinder its
// operations, and watch them.
type hookedStore struct {
	*store.Memory
	scope store.Scope
	hook  atomic.Pointer[func(operation) error]
}

func newHookedStore() *hookedStore {
	memory := store.NewMemory(nil)
	return &hookedStore{Memory: memory, scope: memory.Scope()}
}

// on runs hook before each operation from now on. Its error stands for the operation.
func (s *hookedStore) on(hook func(operation) error) { s.hook.Store(&hook) }

// fail makes operations fail from now on; nil ends it.
func (s *hookedStore) fail(err error) { s.on(func(operation) error { return err }) }

func (s *hookedStore) meet(op operation) error {
	if hook := s.hook.Load(); hook != nil {
		return (*hook)(op)
	}
	return nil
}

func (s *hookedStore) Scope() store.Scope { return s.scope }

func (s *hookedStore) Epoch(ctx context.Context) (string, error) {
	if err := s.meet(operation{Context: ctx, name: "epoch"}); err != nil {
		return "", err
	}
	return s.Memory.Epoch(ctx)
}

func (s *hookedStore) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	do := func() { _, _ = s.Memory.Create(ctx, key, value, ttl) }
	if err := s.meet(operation{ctx, "create", key, value, do}); err != nil {
		return 0, err
	}
	return s.Memory.Create(ctx, key, value, ttl)
}

func (s *hookedStore) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	do := func() { _, _ = s.Memory.Update(ctx, key, at, value, ttl) }
	if err := s.meet(operation{ctx, "update", key, value, do}); err != nil {
		return 0, err
	}
	return s.Memory.Update(ctx, key, at, value, ttl)
}

// Schedule is a create or an update that says when it is due.
func (s *hookedStore) Schedule(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration, due time.Time) (store.Revision, error) {
	name := "update"
	if at == 0 {
		name = "create"
	}
	do := func() { _, _ = s.Memory.Schedule(ctx, key, at, value, ttl, due) }
	if err := s.meet(operation{ctx, name, key, value, do}); err != nil {
		return 0, err
	}
	return s.Memory.Schedule(ctx, key, at, value, ttl, due)
}

func (s *hookedStore) Get(ctx context.Context, key store.Key) ([]byte, store.Revision, error) {
	if err := s.meet(operation{Context: ctx, name: "get", key: key}); err != nil {
		return nil, 0, err
	}
	return s.Memory.Get(ctx, key)
}

func (s *hookedStore) Wait(ctx context.Context, key store.Key, at store.Revision) error {
	if err := s.meet(operation{Context: ctx, name: "wait", key: key}); err != nil {
		return err
	}
	return s.Memory.Wait(ctx, key, at)
}

// withStore is a runtime's options for a store in this process.
func withStore(s store.Store, opts ...*durable.Options) *mrtr.Options {
	return &mrtr.Options{Durable: durable.In(s, append(opts, nil)[0]), State: &statecodec.Options{Ephemeral: true}}
}

// storeIf is withStore of a new store, or options without one.
func storeIf(stored bool) *mrtr.Options {
	if !stored {
		return &mrtr.Options{}
	}
	return withStore(store.NewMemory(nil))
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
			kit.EachLinear(t, func(t *testing.T, style kit.LinearStyle) { // of which a coroutine keeps its frame
				var did kit.Deeds
				s := newHookedStore()
				s.fail(c.fault)
				tool := kit.NewTrip(kit.TripRuntime(t, withStore(s)), style(holdAndPay(&did)), "")
				retryable(t, tool.Begin().Err, c.reason)
				s.fail(nil)
				seat := tool.Begin()
				s.fail(c.fault)
				retryable(t, tool.Answer(seat, "window").Err, c.reason)
				require.Zero(t, did.Count("held"))
				s.fail(nil)
				pay := tool.Answer(seat, "window")
				require.Equal(t, []string{"pay"}, pay.Asks)
				require.Equal(t, kit.Reply{Plan: "window yes"}, tool.Answer(pay, "yes"))
				require.Equal(t, 1, did.Count("paid"))
			})
		})
	}
}

// A state of a call that is remembered needs the store it was remembered in.
func TestAStateNeedsItsStore(t *testing.T) {
	var did kit.Deeds
	serve := func(s store.Store) *kit.Trip {
		o := &mrtr.Options{}
		if s != nil {
			o.Durable = durable.In(s, nil)
		}
		return kit.NewTrip(kit.TripRuntime(t, o), mrtr.Native(nativeOf(&did)), "")
	}
	first := kit.Shared{Memory: store.NewMemory(nil)}
	seat := serve(first).Begin()
	badStateOf(t, serve(nil).Answer(seat, "window"))
	badStateOf(t, serve(kit.Shared{Memory: store.NewMemory(nil)}).Answer(seat, "window"))
	require.Equal(t, kit.Reply{Plan: "window"}, serve(first).Answer(seat, "window"), "another instance")
}

func badStateOf(t *testing.T, reply kit.Reply) {
	t.Helper()
	wire := kit.Code(t, reply.Err, jsonrpc.CodeInvalidParams)
	require.Equal(t, jsonrpc.Error{Code: wire.Code, Message: statecodec.Refusal}, *wire)
}

// nativeOf asks for a seat, and pays.
func nativeOf(did *kit.Deeds) mrtr.GuardedFunc[kit.In, kit.Out] {
	return kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		seat := kit.Ask(s, kit.Text("seat"))
		did.Note("paid")
		return kit.Out{Plan: seat}, nil
	})
}
