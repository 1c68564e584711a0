package linear_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
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
	tool    *kit.Trip
	task    bool
	did     kit.Deeds
	un      kit.Deeds
	log     kit.Recorder
	waits   kit.Reply
	effects []string // that the call had when it asked
}

func newDropping(t *testing.T, memory string, task bool, question int) *dropping {
	d := &dropping{memory: memory, records: store.NewMemory(nil), task: task}
	d.rt = d.newRuntime(t)
	d.tool = d.newTool(d.rt)
	if d.task {
		d.waits = d.send(kit.Reply{}, nil)
	}
	d.waits = d.send(d.waits, nil)
	d.effects = []string{"reserve"}
	if question == 2 {
		d.waits = d.send(d.waits, kit.Accepting(d.waits, "x"))
		d.effects = append(d.effects, "pay")
	}
	require.NoError(t, d.waits.Err)
	require.Len(t, d.waits.Asks, 1)
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
		o.Durable = durable.In(kit.Shared{Memory: d.records}, nil)
	}
	if d.alone() {
		o.State = &statecodec.Options{Ephemeral: true}
	}
	return kit.TripRuntime(t, o)
}

// payingTwice reserves, asks q, pays, asks r and ends. Both effects can be undone.
func payingTwice(style kit.LinearStyle, did, un *kit.Deeds) kit.Style {
	undo := func(key string) mrtr.Undoing {
		return mrtr.UndoOf(key, func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { un.Note(key); return nil })
	}
	return style(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
			kit.Once(s, part[0], did.Do(part[0]))
			kit.Ask(s, kit.Text(part[1]))
		}
		return kit.Out{Plan: "done"}, nil
	})).OnStop(undo("reserve"), undo("pay"))
}

// alone reports whether no other instance can go on with the call.
func (d *dropping) alone() bool {
	return d.memory == "one's own store" || d.memory == "no store, no key"
}

func (d *dropping) stored() bool {
	return kit.StoreForced() || strings.HasSuffix(d.memory, " store") && d.memory != "no store"
}

func (d *dropping) newTool(rt *mrtr.Runtime) *kit.Trip {
	style := payingTwice(linear.Resumable, &d.did, &d.un)
	if d.task {
		return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}})}
	}
	return kit.NewTrip(rt, style, "")
}

func (d *dropping) send(before kit.Reply, responses mcp.InputResponseMap) kit.Reply {
	if d.task {
		return d.tool.TaskRound(context.Background(), before, responses)
	}
	return d.tool.Round(context.Background(), "", before.State, responses)
}

// drop begins a call of another tool, which takes the room.
func (d *dropping) drop(t *testing.T) {
	t.Helper()
	other := &kit.Trip{Handler: mrtr.Tool(d.rt, linear.Resumable(waiting), &mrtr.HandlerOptions{Audience: "other"})}
	require.NoError(t, other.Begin().Err)
	synctest.Wait()
	require.Equal(t, 1, d.rt.Stats().Held)
	require.Empty(t, d.un.Done, "nothing is undone, since the call goes on")
	require.Empty(t, d.log.Abandoned())
	released := d.log.Of(observe.FrameReleased)
	require.Len(t, released, 1)
	require.Equal(t, "another call needs its room", released[0].Reason)
}

// waiting asks a question, and does nothing else.
func waiting(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
	_, err := linear.Ask(ctx, c, kit.Text("other"))
	return kit.Out{}, err
}

// completes answers until the call ends. Each effect has happened once.
func (d *dropping) completes(t *testing.T, last kit.Reply) {
	t.Helper()
	for last.Err == nil && last.Asks != nil {
		last = d.send(last, kit.Accepting(last, "x"))
	}
	require.Equal(t, kit.Reply{Plan: "done"}, last)
	require.Equal(t, 1, d.did.Count("reserve"))
	require.Equal(t, 1, d.did.Count("pay"))
	require.Empty(t, d.un.Done)
}

// completesElsewhere does so at another instance, if there can be one.
func (d *dropping) completesElsewhere(t *testing.T) {
	t.Helper()
	require.Empty(t, d.un.Done)
	require.Empty(t, d.log.Abandoned(), "no call has ended")
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
		entered := d.log.Entries()
		d.completes(t, d.waits)
		require.Equal(t, entered, d.log.Entries(), "the handler went on where it was")
	},
	"asked again when it was dropped": func(t *testing.T, d *dropping) {
		d.drop(t)
		again := d.send(d.waits, nil)
		require.Equal(t, d.waits.Asks, again.Asks)
		d.completes(t, again)
	},
	"asked again before it was dropped": func(t *testing.T, d *dropping) {
		again := d.send(d.waits, nil)
		require.Equal(t, d.waits.Asks, again.Asks)
		d.drop(t)
		d.completes(t, again)
	},
	"answered twice": func(t *testing.T, d *dropping) {
		d.drop(t)
		first := d.send(d.waits, kit.Accepting(d.waits, "x"))
		second := d.send(d.waits, kit.Accepting(d.waits, "x"))
		require.NoError(t, first.Err)
		require.NoError(t, second.Err)
		require.Equal(t, first.Asks, second.Asks)
		require.Equal(t, first.Plan, second.Plan)
		if d.stored() {
			require.Equal(t, first, second, "the result of the first")
			d.completes(t, second)
		}
	},
	"declined": func(t *testing.T, d *dropping) {
		d.drop(t)
		kit.Ended(t, d.send(d.waits, kit.Declining(d.waits)).Err, mrtr.Declined)
		for _, effect := range d.effects {
			require.Equal(t, 1, d.un.Count(effect))
		}
		require.Len(t, d.un.Done, len(d.effects))
		require.Equal(t, 1, d.did.Count("reserve"))
	},
	"drained": func(t *testing.T, d *dropping) {
		d.drop(t)
		require.NoError(t, <-drained(t.Context(), d.rt))
		d.completesElsewhere(t)
	},
	"closed": func(t *testing.T, d *dropping) {
		d.drop(t)
		require.NoError(t, d.rt.Close())
		require.Empty(t, d.un.Done)
		if !d.alone() {
			d.completesElsewhere(t)
		}
	},
	"forgotten": func(t *testing.T, d *dropping) {
		d.drop(t)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		require.Equal(t, d.stored(), len(d.log.Abandoned()) > 0, "only a store can end the call")
		for _, effect := range d.effects {
			require.Equal(t, d.stored(), d.un.Count(effect) == 1)
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
		var did kit.Deeds
		rt := kit.TripRuntime(t, &mrtr.Options{Principal: byWho, Limits: mrtr.Limits{MaxFrames: 12}})
		tool := kit.NewTrip(rt, linear.Resumable(func(ctx context.Context, c *mrtr.Call, in kit.In) (kit.Out, error) {
			defer did.Note(in.Who)
			return waiting(ctx, c, in)
		}), "")
		begin := func(who string) kit.Reply {
			t.Helper()
			reply := tool.Round(t.Context(), who, "", nil)
			require.NoError(t, reply.Err)
			synctest.Wait()
			return reply
		}
		first := begin("ann")
		for range 10 {
			begin("bob")
		}
		begin("")
		require.Empty(t, did.Done, "twelve are held")
		begin("bob") // who has ten
		require.Equal(t, map[string]int{"bob": 1}, did.Done)
		hot := tool.Round(t.Context(), "ann", first.State, nil) // asked again, and hot again
		require.NoError(t, hot.Err)
		begin("cid")
		require.Equal(t, map[string]int{"bob": 2}, did.Done, "the coldest of all")
		require.Equal(t, 12, rt.Stats().Held)
	})
}

// A Coroutine takes the room of calls that can do without, and is never dropped itself.
func TestACoroutineIsNeverDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxFrames: 4}})
		cold := kit.NewTrip(rt, linear.Resumable(twoStops(&did)), "")
		held := &kit.Trip{Handler: mrtr.Tool(rt, linear.Coroutine(waiting), &mrtr.HandlerOptions{Audience: "held"})}
		first := cold.Begin()
		cold.Begin()
		cold.Begin()
		for range 4 {
			require.NoError(t, held.Begin().Err)
		}
		synctest.Wait()
		require.Equal(t, 3, did.Count("unwound"))
		kit.Ended(t, held.Begin().Err, mrtr.Busy)
		require.NoError(t, cold.Begin().Err)
		synctest.Wait()
		require.Equal(t, 4, did.Count("unwound"), "it is not held")
		require.Equal(t, 4, rt.Stats().Held)
		goesOn(t, cold, first)
	})
}

// A drain waits for the handlers that are held, and not for a call that goes by its journal. If
// the keys are those of this process, that would be lost.
func TestNothingIsDroppedInADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did kit.Deeds
		rt := kit.TripRuntime(t, &mrtr.Options{
			Limits: mrtr.Limits{MaxFrameBytes: 20_000},
			State:  &statecodec.Options{Ephemeral: true},
		})
		cold := kit.NewTrip(rt, linear.Resumable(twoStops(&did)), "")
		held := &kit.Trip{Handler: mrtr.Tool(rt, linear.Coroutine(twoStops(&did)), &mrtr.HandlerOptions{Audience: "held"})}
		first, other := cold.Begin(), held.Round(t.Context(), strings.Repeat("x", 12_000), "", nil)
		require.NoError(t, other.Err)
		end := drained(t.Context(), rt)
		grown := held.Round(t.Context(), strings.Repeat("x", 12_000), other.State, kit.Accepting(other, strings.Repeat("y", 7_000)))
		kit.Ended(t, grown.Err, mrtr.Busy)
		synctest.Wait()
		require.Empty(t, end, "the other is held")
		goesOn(t, cold, first)
		require.NoError(t, <-end)
	})
}

// A call that may not ask again has ended: its handler is let go of, and its effect undone. With a
// store a better answer goes on with it, and its client is told of the effect.
func TestACallThatHasAskedTooOftenHoldsNothing(t *testing.T) {
	for name, style := range kit.LinearStyles {
		t.Run(name, func(t *testing.T) {
			var did, un kit.Deeds
			rt := kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxRounds: 1}})
			tool := kit.NewTrip(rt, style(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Once(s, "hold", did.Do("hold"))
				return kit.Out{Plan: kit.Ask(s, kit.Text("seat"))}, nil
			})).OnStop(mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error {
				un.Note("hold")
				return nil
			})), "")
			asked := tool.Begin()
			require.Equal(t, []string{"seat"}, asked.Asks)
			last := kit.Ended(t, tool.Round(t.Context(), "", asked.State, nil).Err, mrtr.LimitExceeded)
			if kit.StoreForced() {
				require.Equal(t, []string{"hold"}, last.Applied)
				require.Equal(t, "x", tool.Answer(asked, "x").Plan)
				return
			}
			require.Equal(t, 1, un.Count("hold"))
			require.Zero(t, rt.Stats().Held)
		})
	}
}
