package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/store"
)

// written keeps the values that a store holds, by key.
type written struct {
	*store.Memory
	values map[string]string
}

func (w *written) Create(ctx context.Context, key store.Key, value []byte, ttl time.Duration) (store.Revision, error) {
	at, err := w.Memory.Create(ctx, key, value, ttl)
	if err == nil {
		w.values[key.Name] = string(value)
	}
	return at, err
}

func (w *written) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	now, err := w.Memory.Update(ctx, key, at, value, ttl)
	if err == nil {
		w.values[key.Name] = string(value)
	}
	return now, err
}

// Erase empties all records of a call in every style, and of no other. Nothing runs again:
// a repeat is told that the result was not kept.
func TestEraseEmptiesTheRecordsOfACall(t *testing.T) {
	for name := range kit.EveryStyle(secretive(nil)) {
		t.Run(name, func(t *testing.T) {
			kept, seen, did := &written{store.NewMemory(nil), map[string]string{}}, &kit.Recorder{}, &kit.Deeds{}
			opts := withStore(kept)
			opts.Listener = observe.With(seen)
			opts.Principal = func(ctx context.Context, _ mcp.Request) (string, error) {
				who, _ := ctx.Value(whoKey{}).(string)
				return who, nil
			}
			rt := kit.TripRuntime(t, opts)
			tool := kit.NewTrip(rt, kit.EveryStyle(secretive(did))[name], "")
			play := func(who string) (rounds []kit.Reply) {
				ctx := as(t.Context(), who)
				last := tool.Round(ctx, "", "", nil)
				for last.Asks != nil {
					rounds = append(rounds, last)
					last = tool.Round(ctx, "", last.State, kit.Accepting(last, "secret of "+who))
					require.NoError(t, last.Err)
				}
				return rounds
			}
			anns := play("ann")
			call := seen.Of(observe.CallCompleted)[0]
			bobs := play("bob")
			require.Len(t, anns, 2)
			all := func() (text string) {
				for _, value := range kept.values {
					text += value
				}
				return text
			}
			require.Contains(t, all(), "secret of ann")

			erased, err := rt.Erase(t.Context(), "bob", call.Call)
			require.NoError(t, err)
			require.Zero(t, erased, "it is not his call")
			erased, err = rt.Erase(t.Context(), call.Principal, call.Call)
			require.NoError(t, err)
			require.Equal(t, 3, erased, "the record of the first round says which call it was")
			require.NotContains(t, all(), "secret of ann")
			require.Contains(t, all(), "secret of bob")
			for _, round := range anns {
				kit.Ended(t, tool.Round(as(t.Context(), "ann"), "", round.State, kit.Accepting(round, "another")).Err, mrtr.ResultNotKept)
			}
			require.Equal(t, 2, did.Count("pay"), "one for each caller")
			last := bobs[1]
			require.NoError(t, tool.Round(as(t.Context(), "bob"), "", last.State, kit.Accepting(last, "secret of bob")).Err)
			erased, err = rt.Erase(t.Context(), call.Principal, call.Call)
			require.NoError(t, err)
			require.Zero(t, erased, "nothing is left")
		})
	}
}

// A call that was split off late has its first turn where the other call had its last, and may have as
// many more. Its user is to be forgotten there too.
func TestEraseFollowsACallThatWasSplitOff(t *testing.T) {
	kept, seen := &written{store.NewMemory(nil), map[string]string{}}, &kit.Recorder{}
	opts := withStore(kept)
	opts.Listener, opts.Principal = observe.With(seen), func(context.Context, mcp.Request) (string, error) { return "ann", nil }
	rt := kit.TripRuntime(t, opts)
	tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		for n, before := 0, ""; ; n++ {
			said := kit.Ask(s, kit.Text(fmt.Sprint("q", n)))
			if said == "end" {
				return kit.Out{Plan: before}, nil
			}
			before = said
		}
	})["journal"], "")
	answer := func(at kit.Reply, times int, value string) kit.Reply {
		for range times {
			at = tool.Answer(at, value)
			require.NoError(t, at.Err)
		}
		return at
	}
	const rounds = 8
	one := answer(tool.Begin(), rounds, "more")
	two := answer(tool.Begin(), rounds, "more")
	answer(one, 1, "end")
	require.Equal(t, "secret", answer(answer(two, rounds, "secret"), 1, "end").Plan)
	require.Len(t, seen.Of(observe.CallSplit), 1)
	holds := func() (names []string) {
		for name, value := range kept.values {
			if strings.Contains(value, "secret") {
				names = append(names, name)
			}
		}
		return names
	}
	require.NotEmpty(t, holds())
	_, err := rt.Erase(t.Context(), "ann", seen.Of(observe.CallCompleted)[1].Call)
	require.NoError(t, err)
	require.Empty(t, holds())
}

// secretive repeats the first answer in its result and in an effect's value.
func secretive(did *kit.Deeds) kit.StageFunc[kit.In, kit.Out] {
	return func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		first := kit.Ask(s, kit.Text("seat"))
		kit.Ask(s, kit.Text("ok"))
		paid := kit.Once(s, "pay", func(context.Context, string) (string, error) {
			did.Note("pay")
			return first, nil
		})
		return kit.Out{Plan: strings.ToLower(paid)}, nil
	}
}

// A round that runs keeps its record, and Erase says so.
func TestEraseLeavesARoundThatRuns(t *testing.T) {
	seen := &kit.Recorder{}
	opts := withStore(store.NewMemory(nil))
	opts.Listener = observe.With(seen)
	rt := kit.TripRuntime(t, opts)
	var during error
	tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		plan := kit.Ask(s, kit.Text("seat"))
		_, during = rt.Erase(s.Ctx, "", s.ID())
		return kit.Out{Plan: plan}, nil
	})["native"], "")
	asked := tool.Begin()
	require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(asked, "window"))
	require.ErrorContains(t, during, "still running")
	require.Equal(t, kit.Reply{Plan: "window"}, tool.Answer(asked, "window"))

	_, err := kit.TripRuntime(t, nil).Erase(t.Context(), "", "x")
	kit.Misuse(t, err)
}

// An instance that has not heard that its store was wiped erases the calls which others began
// since.
func TestEraseLearnsThatTheStoreWasWiped(t *testing.T) {
	memory := newHookedStore()
	memory.scope = store.Machine
	seen, did := &kit.Recorder{}, &kit.Deeds{}
	late := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(memory, nil)})
	tool := kit.NewTrip(late, kit.EveryStyle(secretive(did))["native"], "")
	require.NoError(t, tool.Begin().Err)
	memory.Memory = store.NewMemory(nil)

	other := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(memory, nil), Listener: observe.With(seen)}), kit.EveryStyle(secretive(did))["native"], "")
	seat := other.Answer(other.Begin(), "window")
	require.NoError(t, seat.Err)
	call := seen.Of(observe.QuestionsAsked)[0]
	erased, err := late.Erase(t.Context(), call.Principal, call.Call)
	require.NoError(t, err)
	require.Equal(t, 2, erased)
}

// failing refuses to update one of the records for a while.
type failing struct {
	kit.Shared
	suffix string
	fails  atomic.Bool
}

func (f *failing) Update(ctx context.Context, key store.Key, at store.Revision, value []byte, ttl time.Duration) (store.Revision, error) {
	if f.fails.Load() && strings.HasSuffix(key.Name, f.suffix) {
		return 0, errors.New("away")
	}
	return f.Shared.Update(ctx, key, at, value, ttl)
}

// A call that has completed stays so when it is erased, also in part: nobody undoes it, and its
// client's key begins no other one.
func TestErasureOutlivesACall(t *testing.T) {
	for _, suffix := range []string{"", ".0"} {
		kit.InBubble(t, "fails at "+suffix, func(t *testing.T) {
			did, seen := &kit.Deeds{}, &kit.Recorder{}
			f := &failing{Shared: kit.Shared{Memory: store.NewMemory(nil)}, suffix: suffix}
			rt := kit.TripRuntime(t, &mrtr.Options{
				Durable:   durable.In(f, &durable.Options{LookEvery: 10 * time.Minute}),
				Principal: func(context.Context, mcp.Request) (string, error) { return "anna", nil },
				SameKey:   func(context.Context, mcp.Request) string { return "the key of this call" },
				Listener:  observe.With(seen),
			})
			tool := kit.NewTrip(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Ask(s, kit.Text("seat"))
				kit.Once(s, "hold", did.Do("held"))
				kit.Ask(s, kit.Text("pay"))
				kit.Once(s, "charge", did.Do("charged"))
				return kit.Out{Plan: "done"}, nil
			})["journal"].OnStop(kit.UndoWith("hold", func() error { did.Note("undone"); return nil })), "")
			pay := tool.Answer(tool.Begin(), "window")
			require.Equal(t, kit.Reply{Plan: "done"}, tool.Answer(pay, "yes"))
			f.fails.Store(suffix != "")
			_, err := rt.Erase(t.Context(), "anna", seen.Of(observe.QuestionsAsked)[0].Call)
			require.Equal(t, suffix != "", err != nil, "%v", err)
			f.fails.Store(false)
			time.Sleep(3 * time.Hour)
			require.Zero(t, did.Count("undone"))
			again := tool.Begin()
			require.Empty(t, again.Asks)
			require.Equal(t, 1, did.Count("charged"))
		})
	}
}
