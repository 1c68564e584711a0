package mrtr_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rendezvous"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// dropping is a Resumable call, of two effects with undos, that waits at one of its questions in a
// runtime with room for one frame.
type dropping struct {
	memory  string
	records *store.Memory
	rt      *mrtr.Runtime
	tool    *tripTool
	task    bool
	did     deeds
	un      deeds
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
		o.Durable = durable.In(d.records, nil)
	case "a shared store":
		o.Durable = durable.In(shared{d.records}, nil)
	}
	if d.alone() {
		o.State = &statecodec.Options{Ephemeral: true}
	}
	return newTripRuntime(t, o)
}

// payingTwice reserves, asks q, pays, asks r and ends. Both effects can be undone.
func payingTwice(style linearStyle, did, un *deeds) tripStyle {
	undo := func(key string) mrtr.Undoing {
		return mrtr.UndoOf(key, func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { un.note(key); return nil })
	}
	return style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
			once(s, part[0], did.do(part[0]))
			ask(s, text(part[1]))
		}
		return tripOut{Plan: "done"}, nil
	})).OnStop(undo("reserve"), undo("pay"))
}

// alone reports whether no other instance can go on with the call.
func (d *dropping) alone() bool {
	return d.memory == "one's own store" || d.memory == "no store, no key"
}

func (d *dropping) stored() bool {
	return isStoreForced() || strings.HasSuffix(d.memory, " store") && d.memory != "no store"
}

func (d *dropping) newTool(rt *mrtr.Runtime) *tripTool {
	style := payingTwice(linear.Resumable, &d.did, &d.un)
	if d.task {
		return &tripTool{rt: rt, handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}})}
	}
	return newTrip(rt, style, "")
}

func (d *dropping) send(before tripReply, responses mcp.InputResponseMap) tripReply {
	ctx := context.Background()
	if d.task {
		ctx = rendezvous.WithTaskRound(ctx, rendezvous.NewTaskRound())
	}
	return d.tool.round(ctx, "", before.state, responses)
}

// drop begins a call of another tool, which takes the room.
func (d *dropping) drop(t *testing.T) {
	t.Helper()
	other := &tripTool{handler: mrtr.Tool(d.rt, linear.Resumable(waiting), &mrtr.HandlerOptions{Audience: "other"})}
	require.NoError(t, other.begin().err)
	synctest.Wait()
	require.Equal(t, 1, d.rt.Stats().Held)
	require.Empty(t, d.un.done, "nothing is undone, since the call goes on")
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
	require.Empty(t, d.un.done)
}

// completesElsewhere does so at another instance, if there can be one.
func (d *dropping) completesElsewhere(t *testing.T) {
	t.Helper()
	require.Empty(t, d.un.done)
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
		for _, effect := range d.effects {
			require.Equal(t, 1, d.un.count(effect))
		}
		require.Len(t, d.un.done, len(d.effects))
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
		require.Empty(t, d.un.done)
		if !d.alone() {
			d.completesElsewhere(t)
		}
	},
	"forgotten": func(t *testing.T, d *dropping) {
		d.drop(t)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		require.Equal(t, d.stored(), len(d.log.abandoned()) > 0, "only a store can end the call")
		for _, effect := range d.effects {
			require.Equal(t, d.stored(), d.un.count(effect) == 1)
		}
		require.True(t, holdsNothing(d.rt))
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

// Frames are dropped for any call that needs room, the coldest first. Whoever is at its own bound
// gives up its own.
func TestTheColdestFrameIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		rt := newTripRuntime(t, &mrtr.Options{Principal: byWho, Limits: mrtr.Limits{MaxFrames: 12}})
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
		first := begin("ann")
		for range 10 {
			begin("bob")
		}
		begin("")
		require.Empty(t, did.done, "twelve are held")
		begin("bob") // who has ten
		require.Equal(t, map[string]int{"bob": 1}, did.done)
		hot := tool.round(t.Context(), "ann", first.state, nil) // asked again, and hot again
		require.NoError(t, hot.err)
		begin("cid")
		require.Equal(t, map[string]int{"bob": 2}, did.done, "the coldest of all")
		require.Equal(t, 12, rt.Stats().Held)
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
		for range 4 {
			require.NoError(t, held.begin().err)
		}
		synctest.Wait()
		require.Equal(t, 3, did.count("unwound"))
		ended(t, held.begin().err, mrtr.Busy)
		require.NoError(t, cold.begin().err)
		synctest.Wait()
		require.Equal(t, 4, did.count("unwound"), "it is not held")
		require.Equal(t, 4, rt.Stats().Held)
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
		grown := held.round(t.Context(), strings.Repeat("x", 12_000), other.state, accepting(other, strings.Repeat("y", 7_000)))
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
			var un deeds
			rt, log := newRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrames: 1}})
			server := serveStyle(rt, payingTwice(linear.Resumable, &did, &un), nil)
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
			require.Len(t, un.done, 2)
			require.Equal(t, 1, did.count("pay"))
			require.Empty(t, log.of(observe.FrameReleased))
		})
	}
}
