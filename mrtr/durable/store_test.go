package durable_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
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

// A request that waits for another one of whose instance nothing is heard gets an answer
// within the time it has, however long a wait of the store takes.
func TestNobodyWaitsWithoutABound(t *testing.T) {
	const wait = 20 * time.Second
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newHookedStore()
			s.scope = store.Machine
			goOn := make(chan struct{})
			serve := func() *kit.Trip {
				rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, &durable.Options{Lease: time.Second, Wait: wait})})
				return kit.NewTrip(rt, mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("pay"))
					return kit.Out{Plan: kit.Once(s, "pay", func(context.Context, string) (string, error) {
						<-goOn
						return "paid", nil
					})}, nil
				})), "")
			}
			one, other := serve(), serve()
			asked := one.Begin()
			first := kit.UnderWay(func() kit.Reply { return one.Answer(asked, "yes") })
			synctest.Wait()
			var operations atomic.Int64
			s.on(func(op operation) error { // it notices nothing, or says nothing at all
				if operations.Add(1); op.name == "wait" || silent && op.name == "get" {
					<-op.Done()
				}
				return op.Err()
			})
			began := time.Now()
			reply := other.Answer(asked, "yes")
			if silent {
				retryable(t, reply.Err, "store_unavailable")
				require.LessOrEqual(t, time.Since(began), time.Second)
			} else {
				retryable(t, reply.Err, "in_flight")
				require.LessOrEqual(t, time.Since(began), wait+time.Second)
				// It looks at each sign of life, and at the end of each lease.
				require.LessOrEqual(t, operations.Load(), int64(5*wait/time.Second+20))
			}
			s.fail(nil)
			close(goOn)
			require.Equal(t, kit.Reply{Plan: "paid"}, <-first)
			require.Equal(t, kit.Reply{Plan: "paid"}, other.Answer(asked, "yes"))
		})
	}
}

// A call of three rounds: it asks, asks again, and ends. Where it acts, it does so in each of them.
func threeRounds(acts bool) map[string]kit.Style {
	do := func(s *kit.Stage, effect string) {
		if acts {
			kit.Once(s, effect, func(context.Context, string) (string, error) { return effect, nil })
		}
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		do(s, "hold")
		kit.Ask(s, kit.Text("seat"))
		do(s, "reserve")
		kit.Ask(s, kit.Text("sure"))
		do(s, "pay")
		return kit.Out{Plan: "paid"}, nil
	})
	styles["guarded, again"] = styles["native"]
	var list kit.Steps
	for _, name := range []string{"hold", "seat", "reserve", "sure", "pay"} {
		switch {
		case name == "seat" || name == "sure":
			steps.Always(&list, kit.Text(name))
		case acts:
			steps.Do(&list, name, func(context.Context, *kit.At, string) (string, error) { return name, nil })
		}
	}
	list.End(func(context.Context, *kit.At) (kit.Out, error) { return kit.Out{Plan: "paid"}, nil })
	styles["steps"] = list.MustBuild()
	return styles
}

// A round costs these operations of the store: its claim, which a first round makes with its first effect
// or its questions, and the updates in this table. They are its result, and one note for each effect of
// a handler that can run again. With a key of the client's, a first round is claimed before it runs. A
// repeat costs the one create that is refused and shows the result.
func TestOperationsOfARound(t *testing.T) {
	updates := map[string][2][3]int{ // of one that asks, and of one that acts too: the first, a later one, the end
		"native":         {{0, 1, 1}, {1, 1, 1}},
		"coroutine":      {{0, 1, 1}, {1, 1, 1}},
		"guarded, again": {{0, 1, 1}, {1, 2, 2}},
		"journal":        {{0, 1, 1}, {1, 2, 2}},
		"resumable":      {{0, 1, 1}, {1, 2, 2}},
		"steps":          {{0, 1, 2}, {1, 2, 3}}, // the end is an effect too
	}
	for acts := range 2 {
		styles := threeRounds(acts == 1)
		require.Len(t, styles, len(updates))
		for name, style := range styles {
			for keyed := range 2 {
				kit.InBubble(t, fmt.Sprintf("%s, acts: %d, keyed: %d", name, acts, keyed), func(t *testing.T) {
					want := updates[name][acts]
					want[0] += keyed
					costsOfACall(t, style, name == "guarded, again", keyed == 1, want)
				})
			}
		}
	}
}

func costsOfACall(t *testing.T, style kit.Style, again, keyed bool, updates [3]int) {
	s := &hookedStore{Memory: store.NewMemory(nil), scope: store.Machine}
	done := make(chan string, 100)
	s.on(func(op operation) error {
		done <- op.name
		return nil
	})
	o := &mrtr.Options{Durable: durable.In(s, nil)}
	if keyed {
		o.Principal = func(context.Context, mcp.Request) (string, error) { return "anna", nil }
		o.SameKey = func(context.Context, mcp.Request) string { return "a key" }
	}
	opts := mrtr.HandlerOptions{}
	if again {
		opts.RunAgain = true
	}
	tool := &kit.Trip{Handler: mrtr.Tool(kit.TripRuntime(t, o), style, &opts)}
	costs := func(want ...string) {
		t.Helper()
		synctest.Wait()
		var took []string
		for len(done) > 0 {
			took = append(took, <-done)
		}
		require.Equal(t, want, took)
	}
	claimed := func(updates int) []string {
		return append([]string{"create"}, slices.Repeat([]string{"update"}, updates)...)
	}
	seat := tool.Begin()
	costs(append([]string{"epoch"}, claimed(updates[0])...)...) // which is asked for once
	sure := tool.Answer(seat, "window")
	costs(claimed(updates[1])...)
	require.Equal(t, kit.Reply{Plan: "paid"}, tool.Answer(sure, "yes"))
	costs(claimed(updates[2])...)
	for range 2 {
		require.Equal(t, kit.Reply{Plan: "paid"}, tool.Answer(sure, "yes"))
		costs("create")
	}
}

// A store that fails under an effect refuses a round that has begun: the text does not say
// that it has not.
func TestAStoreThatFailsUnderAnEffectDoesNotSayThatNothingBegan(t *testing.T) {
	s := newHookedStore()
	s.scope = store.Machine
	opts := withStore(s)
	opts.State = nil // the shared key
	rt := kit.TripRuntime(t, opts)
	tool := &kit.Trip{Handler: mrtr.Tool(rt, mrtr.Native(kit.Guarded(func(st *kit.Stage, _ kit.In) (kit.Out, error) {
		kit.Ask(st, kit.Text("q"))
		kit.Once(st, "first", func(context.Context, string) (string, error) {
			var noted atomic.Bool // that the other begins
			s.on(func(operation) error {
				if noted.CompareAndSwap(false, true) {
					return errors.New("down")
				}
				return nil
			})
			return "", nil
		})
		kit.Once(st, "second", func(context.Context, string) (string, error) { return "", nil })
		return kit.Out{}, nil
	})), &mrtr.HandlerOptions{RunAgain: true})}
	asked := tool.Begin()
	require.NoError(t, asked.Err)
	const again = "the server cannot remember it now. Send the same request again."
	require.Equal(t, "This request was not completed: "+again, kit.Code(t, tool.Answer(asked, "x").Err, -31001).Message)
	require.NoError(t, tool.Answer(asked, "x").Err)
	s.fail(errors.New("down"))
	require.Equal(t, "This request was not begun: "+again, kit.Code(t, tool.Answer(asked, "x").Err, -31001).Message)
}

// A store that a listener hears of can do all that it could before.
func TestAStoreThatIsListenedToKeepsItsAbilities(t *testing.T) {
	abilities := map[string]reflect.Type{
		"Watcher":   reflect.TypeFor[store.Watcher](),
		"Sweeper":   reflect.TypeFor[store.Sweeper](),
		"Scheduler": reflect.TypeFor[store.Scheduler](),
		"Marker":    reflect.TypeFor[store.Marker](),
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../../store/store.go", nil, 0)
	require.NoError(t, err)
	var declared []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name != "Store" {
			if _, ok := spec.Type.(*ast.InterfaceType); ok {
				declared = append(declared, spec.Name.Name)
			}
		}
		return true
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(abilities)), declared)

	own := newHookedStore()
	rt := kit.TripRuntime(t, withListener(own))
	heard := durable.Of(rt.Keeper()).Records().Store()
	require.NotEqual(t, store.Store(own), heard)
	for name, ability := range abilities {
		require.True(t, reflect.TypeOf(heard).Implements(ability), name)
	}
	key := store.Key{Name: "a"}
	key.Epoch, err = heard.Epoch(t.Context())
	require.NoError(t, err)
	at, err := heard.Create(t.Context(), key, nil, store.MinTTL)
	require.NoError(t, err)
	require.Equal(t, at, heard.(store.Marker).Reached(key.Epoch))
}

func withListener(s store.Store) *mrtr.Options {
	o := withStore(s)
	o.Listener = observe.With(&kit.Recorder{})
	return o
}
