package durable_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
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
	for name := range everyStyle(secretive(nil)) {
		t.Run(name, func(t *testing.T) {
			kept, seen, did := &written{store.NewMemory(nil), map[string]string{}}, &recorder{}, &deeds{}
			opts := withStore(kept)
			opts.Listener = observe.With(seen)
			opts.Principal = func(ctx context.Context, _ mcp.Request) (string, error) {
				who, _ := ctx.Value(whoKey{}).(string)
				return who, nil
			}
			rt := newTripRuntime(t, opts)
			tool := newTrip(rt, everyStyle(secretive(did))[name], "")
			play := func(who string) (rounds []tripReply) {
				ctx := as(t.Context(), who)
				last := tool.round(ctx, "", "", nil)
				for last.asks != nil {
					rounds = append(rounds, last)
					last = tool.round(ctx, "", last.state, accepting(last, "secret of "+who))
					require.NoError(t, last.err)
				}
				return rounds
			}
			anns := play("ann")
			call := seen.of(observe.CallCompleted)[0]
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
				ended(t, tool.round(as(t.Context(), "ann"), "", round.state, accepting(round, "another")).err, mrtr.ResultNotKept)
			}
			require.Equal(t, 2, did.count("pay"), "one for each caller")
			last := bobs[1]
			require.NoError(t, tool.round(as(t.Context(), "bob"), "", last.state, accepting(last, "secret of bob")).err)
			erased, err = rt.Erase(t.Context(), call.Principal, call.Call)
			require.NoError(t, err)
			require.Zero(t, erased, "nothing is left")
		})
	}
}

// secretive repeats the first answer in its result and in an effect's value.
func secretive(did *deeds) stageFunc[tripIn, tripOut] {
	return func(s *stage, _ tripIn) (tripOut, error) {
		first := ask(s, text("seat"))
		ask(s, text("ok"))
		paid := once(s, "pay", func(context.Context, string) (string, error) {
			did.note("pay")
			return first, nil
		})
		return tripOut{Plan: strings.ToLower(paid)}, nil
	}
}

// A round that runs keeps its record, and Erase says so.
func TestEraseLeavesARoundThatRuns(t *testing.T) {
	seen := &recorder{}
	opts := withStore(store.NewMemory(nil))
	opts.Listener = observe.With(seen)
	rt := newTripRuntime(t, opts)
	var during error
	tool := newTrip(rt, everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		plan := ask(s, text("seat"))
		_, during = rt.Erase(s.ctx, "", s.ID())
		return tripOut{Plan: plan}, nil
	})["native"], "")
	asked := tool.begin()
	require.Equal(t, tripReply{plan: "window"}, tool.answer(asked, "window"))
	require.ErrorContains(t, during, "still running")
	require.Equal(t, tripReply{plan: "window"}, tool.answer(asked, "window"))

	_, err := newTripRuntime(t, nil).Erase(t.Context(), "", "x")
	misuse(t, err)
}

// An instance that has not heard that its store was wiped erases the calls which others began
// since.
func TestEraseLearnsThatTheStoreWasWiped(t *testing.T) {
	memory := newHookedStore()
	memory.scope = store.Machine
	seen, did := &recorder{}, &deeds{}
	late := newTripRuntime(t, &mrtr.Options{Durable: durable.In(memory, nil)})
	tool := newTrip(late, everyStyle(secretive(did))["native"], "")
	require.NoError(t, tool.begin().err)
	memory.Memory = store.NewMemory(nil)

	other := newTrip(newTripRuntime(t, &mrtr.Options{Durable: durable.In(memory, nil), Listener: observe.With(seen)}), everyStyle(secretive(did))["native"], "")
	seat := other.answer(other.begin(), "window")
	require.NoError(t, seat.err)
	call := seen.of(observe.QuestionsAsked)[0]
	erased, err := late.Erase(t.Context(), call.Principal, call.Call)
	require.NoError(t, err)
	require.Equal(t, 2, erased)
}
