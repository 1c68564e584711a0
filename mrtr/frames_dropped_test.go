package mrtr_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// dropping is a Resumable call, of stopStyles, that waits at one of its questions in a
// runtime with room for one frame.
type dropping struct {
	memory  string
	records *store.Memory
	rt      *mrtr.Runtime
	tool    *tripTool
	task    bool
	did     deeds
	un      undone
	log     recorder
	waits   tripReply
	effects []string // that the call had when it asked
}

func newDropping(t *testing.T, memory string, task bool, question int) *dropping {
	d := &dropping{memory: memory, records: store.NewMemory(nil), task: task}
	d.rt = d.newRuntime(t)
	d.tool = d.newTool(d.rt)
	if d.task {
		d.waits = d.send(tripReply{}, nil)
	}
	d.waits = d.send(d.waits, nil)
	d.effects = []string{"reserve"}
	if question == 2 {
		d.waits = d.send(d.waits, accepting(d.waits, "x"))
		d.effects = append(d.effects, "pay")
	}
	require.NoError(t, d.waits.err)
	require.Len(t, d.waits.asks, 1)
	return d
}

// dropMemories are the kinds of stores, each with the reason why it has its own rows.
var dropMemories = map[string]string{
	"no store":         "a state that comes twice runs twice",
	"one's own store":  "the keys are those of the process, and nobody else goes on",
	"a shared store":   "frames have names that other instances know",
	"no store, no key": "a drain waits for the frames that are held",
}

func (d *dropping) newRuntime(t *testing.T) *mrtr.Runtime {
	o := &mrtr.Options{Limits: mrtr.Limits{MaxFrames: 1}, Listener: observe.With(&d.log)}
	switch d.memory {
	case "one's own store":
		o.Store = d.records
	case "a shared store":
		o.Store = &hookedStore{Memory: d.records, scope: store.Machine}
	}
	if d.alone() {
		o.State = &statecodec.Options{Ephemeral: true}
	}
	return newTripRuntime(t, o)
}

// alone reports whether no other instance can go on with the call.
func (d *dropping) alone() bool {
	return d.memory == "one's own store" || d.memory == "no store, no key"
}

func (d *dropping) stored() bool {
	return strings.HasSuffix(d.memory, " store") && d.memory != "no store"
}

func (d *dropping) newTool(rt *mrtr.Runtime) *tripTool {
	style := stopStyles(&d.did, &d.un, nil)["resumable"]
	if d.task {
		return newTaskTrip(rt, style)
	}
	return newTrip(rt, style, "")
}

func (d *dropping) send(before tripReply, responses mcp.InputResponseMap) tripReply {
	ctx := context.Background()
	if d.task {
		ctx = rendezvous.WithTaskRound(ctx, rendezvous.NewTaskRound(false))
	}
	return d.tool.round(ctx, "", before.state, responses)
}

// drop begins a call of another tool, which takes the room.
func (d *dropping) drop(t *testing.T) {
	t.Helper()
	other := &tripTool{handler: mrtr.Tool(d.rt, linear.Resumable(waiting), &mrtr.HandlerOptions{Audience: "other"})}
	require.NoError(t, other.begin().err)
	synctest.Wait()
	require.Equal(t, mrtr.FrameCount{Parked: 1, Tokens: 1, Places: 1}, mrtr.CountFrames(d.rt))
	require.Empty(t, d.un.all(), "nothing is undone, since the call goes on")
	require.Empty(t, d.log.abandoned())
	released := d.log.of(observe.FrameReleased)
	require.Len(t, released, 1)
	require.Equal(t, "another call needs its room", released[0].Reason)
}

// waiting asks a question, and does nothing else.
func waiting(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
	_, err := linear.Ask(ctx, c, text("other"))
	return tripOut{}, err
}

// completes answers until the call ends. Each effect has happened once.
func (d *dropping) completes(t *testing.T, last tripReply) {
	t.Helper()
	for last.err == nil && last.asks != nil {
		last = d.send(last, accepting(last, "x"))
	}
	require.Equal(t, tripReply{plan: "done"}, last)
	require.Equal(t, 1, d.did.count("reserve"))
	require.Equal(t, 1, d.did.count("pay"))
	require.Empty(t, d.un.all())
}

// completesElsewhere does so at another instance, if there can be one.
func (d *dropping) completesElsewhere(t *testing.T) {
	t.Helper()
	require.Empty(t, d.un.all())
	require.Empty(t, d.log.abandoned(), "no call has ended")
	if !d.alone() {
		d.tool = d.newTool(d.newRuntime(t))
		d.completes(t, d.waits)
	}
}

// droppings are what can happen to a call whose frame is dropped.
var droppings = map[string]func(t *testing.T, d *dropping){
	"answered": func(t *testing.T, d *dropping) {
		d.drop(t)
		d.completes(t, d.waits)
	},
	"answered in time": func(t *testing.T, d *dropping) {
		entered := d.log.entries()
		d.completes(t, d.waits)
		require.Equal(t, entered, d.log.entries(), "the handler went on where it was")
	},
	"asked again when it was dropped": func(t *testing.T, d *dropping) {
		d.drop(t)
		again := d.send(d.waits, nil)
		require.Equal(t, d.waits.asks, again.asks)
		d.completes(t, again)
	},
	"asked again before it was dropped": func(t *testing.T, d *dropping) {
		again := d.send(d.waits, nil)
		require.Equal(t, d.waits.asks, again.asks)
		d.drop(t)
		d.completes(t, again)
	},
	"answered twice": func(t *testing.T, d *dropping) {
		d.drop(t)
		first := d.send(d.waits, accepting(d.waits, "x"))
		second := d.send(d.waits, accepting(d.waits, "x"))
		require.NoError(t, first.err)
		require.NoError(t, second.err)
		require.Equal(t, first.asks, second.asks)
		require.Equal(t, first.plan, second.plan)
		if d.stored() {
			require.Equal(t, first, second, "the result of the first")
			d.completes(t, second)
		}
	},
	"declined": func(t *testing.T, d *dropping) {
		d.drop(t)
		ended(t, d.send(d.waits, declining(d.waits)).err, mrtr.Declined)
		want := slices.Clone(d.effects)
		slices.Reverse(want)
		for i := range want {
			want[i] += ": declined"
		}
		require.Equal(t, want, d.un.all(), "the handler was entered once more to find out how")
		require.Equal(t, 1, d.did.count("reserve"))
	},
	"drained": func(t *testing.T, d *dropping) {
		d.drop(t)
		require.NoError(t, <-drained(t.Context(), d.rt))
		d.completesElsewhere(t)
	},
	"closed": func(t *testing.T, d *dropping) {
		d.drop(t)
		require.NoError(t, d.rt.Close())
		require.Empty(t, d.un.all())
		if !d.alone() {
			d.completesElsewhere(t)
		}
	},
	"forgotten": func(t *testing.T, d *dropping) {
		d.drop(t)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, d.un.all())
		require.Empty(t, d.log.abandoned())
		require.Equal(t, mrtr.FrameCount{}, mrtr.CountFrames(d.rt))
	},
}

// The call of a frame that is dropped loses nothing: neither its effects, nor the functions
// that undo them, nor its place in a drain.
func TestADroppedFrameLosesNothing(t *testing.T) {
	cells := 0
	for name, play := range droppings {
		for memory := range dropMemories {
			for question := 1; question <= 2; question++ {
				for _, task := range []bool{false, true} {
					cells++
					t.Run(fmt.Sprintf("%s/%s/question %d/task %t", name, memory, question, task), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { play(t, newDropping(t, memory, task, question)) })
					})
				}
			}
		}
	}
	require.Equal(t, 144, cells)
}

// Frames are dropped for any call that needs room, the coldest first. Whoever is at its own
// bound gives up its own.
func TestTheColdestFrameIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, &mrtr.Options{Principal: byWho, Limits: mrtr.Limits{MaxFrames: 8, MaxFramesPerPrincipal: 3}})
		tool := newTrip(rt, linear.Resumable(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
			defer did.note(in.Who)
			return waiting(ctx, c, in)
		}), "")
		begin := func(who string) tripReply {
			t.Helper()
			reply := tool.round(t.Context(), who, "", nil)
			require.NoError(t, reply.err)
			synctest.Wait()
			return reply
		}
		gone := func(who ...string) {
			t.Helper()
			want := map[string]int{}
			for _, w := range who {
				want[w]++
			}
			did.mu.Lock()
			defer did.mu.Unlock()
			require.Equal(t, want, did.done)
			did.done = map[string]int{}
		}
		did.done = map[string]int{}
		begin("ann")
		begin("bob")
		begin("bob")
		begin("bob")
		gone()
		begin("bob") // who has three
		gone("bob")
		begin("")
		begin("")
		begin("")
		begin("")
		gone() // eight are held
		begin("")
		gone("ann") // the coldest of all
		begin("")
		gone("bob")
		begin("")
		gone("") // six are for those whom nobody knows
		hot := begin("cid")
		gone("bob")
		asked := tool.round(t.Context(), "cid", hot.state, nil)
		require.NoError(t, asked.err)
		synctest.Wait()
		gone() // asked again, and hot again
		begin("dan")
		gone("bob")
		begin("eve")
		gone("")
		require.Equal(t, mrtr.FrameCount{Parked: 8, Tokens: 8, Places: 8, Principals: 3}, mrtr.CountFrames(rt))
	})
}

// A Coroutine takes the room of calls that can do without, and is never dropped itself.
func TestACoroutineIsNeverDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrames: 4}})
		cold := newTrip(rt, linear.Resumable(twoStops(&did)), "")
		held := &tripTool{handler: mrtr.Tool(rt, linear.Coroutine(waiting), &mrtr.HandlerOptions{Audience: "held"})}
		first := cold.begin()
		cold.begin()
		cold.begin()
		for range 3 { // a quarter is not for those whom nobody knows
			require.NoError(t, held.begin().err)
		}
		synctest.Wait()
		require.Equal(t, 3, did.count("unwound"))
		ended(t, held.begin().err, mrtr.Busy)
		require.NoError(t, cold.begin().err)
		synctest.Wait()
		require.Equal(t, 4, did.count("unwound"), "it is not held")
		require.Equal(t, mrtr.FrameCount{Parked: 3, Tokens: 3, Places: 3}, mrtr.CountFrames(rt))
		goesOn(t, cold, first)
	})
}

// Nothing is dropped for a call that does not find room all the same.
func TestNothingIsDroppedInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrameBytes: 20_000}})
		cold := newTrip(rt, linear.Resumable(twoStops(&did)), "")
		held := &tripTool{handler: mrtr.Tool(rt, linear.Coroutine(waiting), &mrtr.HandlerOptions{Audience: "held"})}
		large := strings.Repeat("x", 6_000)
		require.NoError(t, cold.round(t.Context(), large, "", nil).err)
		require.NoError(t, cold.round(t.Context(), large, "", nil).err)
		ended(t, held.round(t.Context(), strings.Repeat("x", 18_000), "", nil).err, mrtr.Busy)
		synctest.Wait()
		require.Zero(t, did.count("unwound"))
		require.NoError(t, held.round(t.Context(), strings.Repeat("x", 7_000), "", nil).err)
		synctest.Wait()
		require.Equal(t, 1, did.count("unwound"), "one is enough")
	})
}

// A drain waits for the handlers that are held, and not for a call that goes by its journal. If
// the keys are those of this process, that would be lost.
func TestNothingIsDroppedInADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, &mrtr.Options{
			Limits: mrtr.Limits{MaxFrameBytes: 20_000},
			State:  &statecodec.Options{Ephemeral: true},
		})
		cold := newTrip(rt, linear.Resumable(twoStops(&did)), "")
		held := &tripTool{handler: mrtr.Tool(rt, linear.Coroutine(twoStops(&did)), &mrtr.HandlerOptions{Audience: "held"})}
		first, other := cold.begin(), held.round(t.Context(), strings.Repeat("x", 12_000), "", nil)
		require.NoError(t, other.err)
		end := drained(t.Context(), rt)
		grown := held.round(t.Context(), strings.Repeat("x", 12_000), other.state, accepting(other, strings.Repeat("y", 3_000)))
		ended(t, grown.err, mrtr.Busy)
		synctest.Wait()
		require.Empty(t, end, "the other is held")
		goesOn(t, cold, first)
		require.NoError(t, <-end)
	})
}

// The frame of a legacy client is not dropped: the call is bound to this process by its one
// request, and another call of its kind goes by its journal. Whichever way it goes, its
// effects are undone if it ends.
func TestTheFrameOfALegacyClientIsNotDropped(t *testing.T) {
	for _, held := range []bool{true, false} {
		t.Run(fmt.Sprintf("held %t", held), func(t *testing.T) {
			var did deeds
			var un undone
			rt, log := newRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrames: 1}})
			server := serveStyle(rt, stopStyles(&did, &un, nil)["resumable"], nil)
			other := newTrip(rt, linear.Coroutine(waiting), "")
			if !held {
				require.NoError(t, other.begin().err)
			}
			var refused error
			out, err := connect(t, server, legacyClient).Call(t.Context(), "tool", map[string]any{"who": ""}, wire.Answers{
				"q": func(q wire.Question) any {
					refused = other.begin().err
					return wire.Value("x")(q)
				},
				"r": wire.Fail(-32000, "no user"),
			})
			require.NoError(t, err)
			require.True(t, out.IsError)
			ended(t, refused, mrtr.Busy)
			require.Len(t, un.all(), 2, "%q", un.all())
			require.Equal(t, 1, did.count("pay"))
			require.Empty(t, log.of(observe.FrameReleased))
		})
	}
}
