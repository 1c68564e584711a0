package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// longSeat is an answer that makes a state too long to travel.
var longSeat = strings.Repeat("window ", 400)

// longest is longer than a reference, and shorter than longSeat.
const longest = 1 << 10

// twoInstances serve one tool with one store and the same keys.
func twoInstances(t *testing.T, opts *mrtr.Options, style func() mrtr.Style[tripIn, tripOut]) (a, b *tripTool, rt *mrtr.Runtime) {
	t.Helper()
	if opts.State == nil {
		opts.State = &statecodec.Options{Keys: keys(1)}
	}
	rt = newTripRuntime(t, opts)
	return newTrip(rt, style(), ""), newTrip(newTripRuntime(t, opts), style(), ""), rt
}

// A long state stays in the store, in every style: its client gets a reference, equal
// requests get equal bytes, and any instance of the same keys and store takes it.
func TestALongStateStaysInTheStore(t *testing.T) {
	require.NotEmpty(t, duplicateStyles)
	for _, s := range duplicateStyles {
		t.Run(s.name, func(t *testing.T) {
			var did deeds
			a, b, rt := twoInstances(t, &mrtr.Options{Store: shared{store.NewMemory(nil)}}, func() mrtr.Style[tripIn, tripOut] { return s.style(t, &did) })
			other := b
			if s.name == "coroutine" { // its frame is where it was asked
				other = a
			}
			seat := a.begin()
			pay := other.answer(seat, longSeat)
			require.NoError(t, pay.err)
			require.Equal(t, []string{"pay"}, pay.asks)
			require.Less(t, len(pay.state), longest)
			content, err := rt.Inspect(pay.state, mrtr.SealedFor{Name: "trip", Arguments: mustJSON(tripIn{})})
			require.NoError(t, err)
			require.Contains(t, string(content), longSeat)

			replies := make([]tripReply, 20)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() { replies[i] = []*tripTool{a, b}[i%2].answer(seat, longSeat) })
			}
			all.Wait()
			for _, reply := range replies {
				require.Equal(t, pay, reply, "the same reference")
			}
			refusedOtherwise(t, b.answer(seat, "aisle"))

			end := tripReply{plan: longSeat + " yes"}
			require.Equal(t, end, a.answer(pay, "yes"))
			require.Equal(t, end, b.answer(pay, "yes"))
			require.Equal(t, pay, b.answer(seat, longSeat), "also after the end")
			refusedOtherwise(t, b.answer(pay, "no"))
			require.Equal(t, 1, did.count("held"))
			require.Equal(t, 1, did.count("paid"))
		})
	}
}

// A question that is asked again travels with its whole state, from a reference too.
func TestAReferenceIsAskedAgain(t *testing.T) {
	var did deeds
	tool := newTrip(newTripRuntime(t, remembering()), mrtr.Journal(holdAndPay(&did)), "")
	pay := tool.answer(tool.begin(), longSeat)
	require.Less(t, len(pay.state), longest)
	again := tool.round(t.Context(), "", pay.state, nil)
	require.Equal(t, []string{"pay"}, again.asks)
	require.Greater(t, len(again.state), len(longSeat))
	require.Equal(t, tripReply{plan: longSeat + " yes"}, tool.answer(again, "yes"))
	require.Equal(t, tripReply{plan: longSeat + " yes"}, tool.answer(pay, "yes"))
	require.Equal(t, 1, did.count("paid"))
}

// A reference opens where, when and for whom its state would, and nowhere else.
func TestAReferenceIsRefusedAsAStateIs(t *testing.T) {
	for _, c := range []struct {
		explanation string
		send        func(t *testing.T, serve func(store.Store) *tripTool, first store.Store, pay tripReply) tripReply
	}{
		{"an instance without a store", func(t *testing.T, serve func(store.Store) *tripTool, _ store.Store, pay tripReply) tripReply {
			return serve(nil).answer(pay, "yes")
		}},
		{"another store", func(t *testing.T, serve func(store.Store) *tripTool, _ store.Store, pay tripReply) tripReply {
			return serve(shared{store.NewMemory(nil)}).answer(pay, "yes")
		}},
		{"a store without the record", func(t *testing.T, serve func(store.Store) *tripTool, first store.Store, pay tripReply) tripReply {
			return serve(unfound{first}).answer(pay, "yes")
		}},
		{"other arguments", func(t *testing.T, serve func(store.Store) *tripTool, first store.Store, pay tripReply) tripReply {
			return serve(first).round(t.Context(), "somebody", pay.state, accepting(pay, "yes"))
		}},
		{"one that was cut", func(t *testing.T, serve func(store.Store) *tripTool, first store.Store, pay tripReply) tripReply {
			pay.state = pay.state[:len(pay.state)-1]
			return serve(first).answer(pay, "yes")
		}},
		{"one that has expired", func(t *testing.T, serve func(store.Store) *tripTool, first store.Store, pay tripReply) tripReply {
			time.Sleep(24 * time.Hour)
			return serve(first).answer(pay, "yes")
		}},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did deeds
				ring := keys(1)
				serve := func(s store.Store) *tripTool {
					return newTrip(newTripRuntime(t, &mrtr.Options{Store: s, State: &statecodec.Options{Keys: ring}}), mrtr.Journal(holdAndPay(&did)), "")
				}
				first := shared{store.NewMemory(nil)}
				pay := serve(first).answer(serve(first).begin(), longSeat)
				require.Less(t, len(pay.state), longest)
				badStateOf(t, c.send(t, serve, first, pay))
				require.Zero(t, did.count("paid"))
			})
		})
	}
}

// unfound is a store that has lost its records and not its epoch.
type unfound struct{ store.Store }

func (unfound) Get(context.Context, store.Key) ([]byte, store.Revision, error) {
	return nil, 0, store.ErrNotFound
}

// Nobody opens the reference of another caller.
func TestAReferenceIsForItsCaller(t *testing.T) {
	var did deeds
	who := "ann"
	opts := remembering()
	opts.Principal = func(context.Context, mcp.Request) (string, error) { return who, nil }
	tool := newTrip(newTripRuntime(t, opts), mrtr.Journal(holdAndPay(&did)), "")
	pay := tool.answer(tool.begin(), longSeat)
	require.Less(t, len(pay.state), longest)
	who = "ben"
	badStateOf(t, tool.answer(pay, "yes"))
	who = "ann"
	require.Equal(t, tripReply{plan: longSeat + " yes"}, tool.answer(pay, "yes"))
}

// A store that cannot be read refuses the request before anything is run, and the same
// request goes through when it can. One whose reads lag is waited for.
func TestAReferenceWaitsForItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		s := newFaultyStore()
		tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Journal(holdAndPay(&did)), "")
		pay := tool.answer(tool.begin(), longSeat)
		s.fail(func(op string) error { return errors.New("connection lost") })
		retryable(t, tool.answer(pay, "yes").err, "store_unavailable")
		var behind atomic.Int32
		s.fail(func(op string) error {
			if op == "get" && behind.Add(1) < 5 {
				return store.ErrNotFound
			}
			return nil
		})
		require.Equal(t, tripReply{plan: longSeat + " yes"}, tool.answer(pay, "yes"))
		require.EqualValues(t, 5, behind.Load())
		require.Equal(t, 1, did.count("paid"))
	})
}

// A state that the store does not take goes out itself, and the call goes on. The store
// may take the record without it.
func TestAStateThatTheStoreDoesNotTakeTravels(t *testing.T) {
	for _, c := range []struct {
		explanation string
		fault       error
		updates     int // that fail
	}{
		{"it is full", store.ErrFull, math.MaxInt},
		{"it is full, and takes the rest", store.ErrFull, 1},
		{"it takes no record", store.ErrTooLarge, math.MaxInt},
		{"it takes no record as long", store.ErrTooLarge, 1},
		{"it is gone", errors.New("connection lost"), math.MaxInt},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			s := newFaultyStore()
			var did deeds
			updates := 0
			tool := newTrip(newTripRuntime(t, withStore(s)), mrtr.Native(nativeTwice(&did, func() {
				s.fail(func(op string) error {
					if op != "update" {
						return nil
					}
					if updates++; updates > c.updates {
						return nil
					}
					return c.fault
				})
			})), "")
			seat := tool.begin()
			pay := tool.answer(seat, longSeat)
			require.Equal(t, []string{"pay"}, pay.asks)
			require.Greater(t, len(pay.state), len(longSeat))
			s.fail(nil)
			if c.updates == 1 {
				ended(t, tool.answer(seat, longSeat).err, mrtr.ResultNotKept)
			}
			require.Equal(t, tripReply{plan: "paid"}, tool.answer(pay, "yes"))
			require.Equal(t, 1, did.count("paid"))
		})
	}
}

// nativeTwice asks twice, and calls between before it asks the second time.
func nativeTwice(did *deeds, between func()) func(context.Context, *mrtr.Call, tripIn) (*mrtr.IncompleteResult, tripOut, error) {
	return func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		if _, ok := mrtr.Answer(c, text("seat")); !ok {
			return mrtr.Need(text("seat")), tripOut{}, nil
		}
		if _, ok := mrtr.Answer(c, text("pay")); !ok {
			between()
			return mrtr.Need(text("pay")), tripOut{}, nil
		}
		did.note("paid")
		return nil, tripOut{Plan: "paid"}, nil
	}
}

// The record lives as long as the state that is in it, which is longer than the turn.
func TestAStateInTheStoreLivesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := remembering()
		opts.State.TTL, opts.State.Skew = 10*time.Minute, time.Second
		var did deeds
		tool := newTrip(newTripRuntime(t, opts), mrtr.Native(nativeTwice(&did, func() {})), "")
		seat := tool.begin()
		time.Sleep(9 * time.Minute)
		pay := tool.answer(seat, longSeat)
		require.Less(t, len(pay.state), longest)
		time.Sleep(9 * time.Minute)
		require.Equal(t, tripReply{plan: "paid"}, tool.answer(pay, "yes"))
		time.Sleep(2 * time.Minute)
		badStateOf(t, tool.answer(pay, "yes"))
	})
}

// Nine rounds with answers of 1 KiB, and the bytes of the states that cross the wire,
// to the client and back. The table stands in docs/with-a-store.md.
func TestBytesOfStatesOnTheWire(t *testing.T) {
	questions := make([]mrtr.Question[string], 9)
	for i := range questions {
		questions[i] = text(fmt.Sprintf("q%d", i+1))
	}
	linear := func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		for _, q := range questions {
			if _, err := mrtr.Ask(ctx, c, q); err != nil {
				return tripOut{}, err
			}
		}
		return tripOut{Plan: "done"}, nil
	}
	styles := []struct {
		name  string
		style func() mrtr.Style[tripIn, tripOut]
	}{
		{"native", func() mrtr.Style[tripIn, tripOut] {
			return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
				for _, q := range questions {
					if _, ok := mrtr.Answer(c, q); !ok {
						return mrtr.Need(q), tripOut{}, nil
					}
				}
				return nil, tripOut{Plan: "done"}, nil
			})
		}},
		{"steps", func() mrtr.Style[tripIn, tripOut] {
			var list tripSteps
			for i := range questions {
				mrtr.AskStep(&list, fmt.Sprintf("q%d", i+1), asks(fmt.Sprintf("q%d", i+1), &deeds{}))
			}
			list.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{Plan: "done"}, nil })
			return mustBuild(t, &list)
		}},
		{"coroutine", func() mrtr.Style[tripIn, tripOut] { return mrtr.Coroutine(linear) }},
		{"journal", func() mrtr.Style[tripIn, tripOut] { return mrtr.Journal(linear) }},
		{"resumable", func() mrtr.Style[tripIn, tripOut] { return mrtr.Resumable(linear) }},
	}
	answer := strings.Repeat("x", 1<<10)
	onWire := func(style mrtr.Style[tripIn, tripOut], byReference int) (bytes int) {
		opts := remembering()
		opts.Remember = &mrtr.RememberOptions{ByReference: byReference}
		tool := newTrip(newTripRuntime(t, opts), style, "")
		reply := tool.begin()
		for range questions {
			require.NoError(t, reply.err)
			bytes += 2 * len(reply.state)
			reply = tool.answer(reply, answer)
		}
		require.Equal(t, tripReply{plan: "done"}, reply)
		return bytes
	}
	var table strings.Builder
	table.WriteString("| 9 rounds, answers of 1 KiB | all states travel | by reference |\n|---|---|---|\n")
	for _, s := range styles {
		travel, referred := onWire(s.style(), math.MaxInt), onWire(s.style(), 0)
		require.Less(t, referred, travel/10)
		fmt.Fprintf(&table, "| %s | %.0f KB | %.0f KB |\n", s.name, float64(travel)/1e3, float64(referred)/1e3)
	}
	t.Logf("\n%s", table.String())
	doc, err := os.ReadFile("../docs/with-a-store.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), "\n\n"+table.String(), "the table in docs/with-a-store.md must be what was measured:\n%s", table.String())
}
