package durable_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/options/replay"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// desk serves bookings at several instances over one store.
type desk struct {
	t       *testing.T
	records store.Store
	style   string
	did     kit.Deeds
	un      undone
	seen    kit.Recorder
}

const deskTTL = time.Hour

// opens starts an instance.
func (d *desk) opens() *kit.Trip { return d.opensWith(kit.SharedKey) }

func (d *desk) opensWith(key statecodec.Key) *kit.Trip {
	return d.opensAt(key, bookings(&d.did, &d.un)[d.style])
}

// opensAt starts an instance of a version that serves bookings in this style.
func (d *desk) opensAt(key statecodec.Key, style kit.Style) *kit.Trip {
	rt := kit.TripRuntime(d.t, &mrtr.Options{
		Durable: durable.In(d.records, nil), Listener: observe.With(&d.seen),
		State: &statecodec.Options{Keys: []statecodec.Key{key}, TTL: deskTTL},
	})
	return &kit.Trip{Runtime: rt, Handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Name: "trip"})}
}

// books plays a call to its end.
func (d *desk) books(tool *kit.Trip, last kit.Reply) {
	for last.Asks != nil {
		last = tool.Answer(last, "x")
		require.NoError(d.t, last.Err)
	}
	require.Equal(d.t, "done", last.Plan)
}

// booksWhile plays a call to its end, which the store does not take until it is well again.
func (d *desk) booksWhile(fails error) (tool *kit.Trip, well func()) {
	s := newHookedStore()
	s.scope, d.records = store.Machine, s
	tool = d.opens()
	last := tool.Answer(tool.Begin(), "x")
	ended := d.style != "steps" // whose end is an effect, and noted before
	s.on(func(op operation) error {
		if op.name != "update" {
			return nil
		}
		if !ended {
			ended = true
			return nil
		}
		return fails
	})
	d.books(tool, last)
	return tool, func() { s.fail(nil) }
}

func TestAnAbandonedCall(t *testing.T) { holds(t, replay.Abandoned) }

// The undos know why, the listener hears of each call once, and the instances may all have been down.
// A coroutine is not held as long as its states open.
func TestAnAbandonedCallIsUndone(t *testing.T) {
	pass := func() { time.Sleep(2 * deskTTL) }
	first := []string{"reserve: abandoned"}
	const leases = 3 * 15 * time.Second
	for name, c := range map[string]struct {
		play func(d *desk)
		un   []string
	}{
		"after the first question": {func(d *desk) {
			d.opens().Begin()
			pass()
		}, first},
		"all have died, and are there again": {func(d *desk) {
			dies := d.opens()
			dies.Ends(d.t, dies.Begin())
			time.Sleep(12 * time.Hour)
			d.opens()
			pass()
		}, first},
		"it went on, and then all were down": {func(d *desk) {
			tool := d.opens()
			d.books(tool, tool.Begin())
			require.NoError(d.t, tool.Runtime.Close())
			time.Sleep(12 * time.Hour)
			d.opens()
			pass()
		}, nil},
		"an instance looks first whose version has another undo": {func(d *desk) {
			dies := d.opens()
			dies.Ends(d.t, dies.Begin())
			d.opensAt(kit.SharedKey, kit.GuardedTrip(nil).OnStop(d.un.of("pay")))
			pass()
			require.Empty(d.t, d.un.all())
			d.opens()
			pass()
		}, first},
		"it ended while the store was away": {func(d *desk) {
			_, well := d.booksWhile(errors.New("connection lost"))
			time.Sleep(leases)
			well()
			pass()
		}, nil},
		"it ended while the store was full": {func(d *desk) {
			_, well := d.booksWhile(store.ErrFull)
			time.Sleep(leases)
			well()
			pass()
		}, nil},
		"it ended while the store was away, and was closed": {func(d *desk) {
			tool, well := d.booksWhile(errors.New("connection lost"))
			time.AfterFunc(5*time.Second, well)
			require.NoError(d.t, tool.Runtime.Close())
			d.opens()
			pass()
		}, nil},
		"it was closed, and the store is away for longer": {func(d *desk) {
			tool, well := d.booksWhile(errors.New("connection lost"))
			require.NoError(d.t, tool.Runtime.Close())
			well()
			d.opens()
			pass()
		}, []string{"pay: abandoned", "reserve: abandoned"}},
		"behind more than it reads at a time that are others'": {func(d *desk) {
			others := d.opensWith(statecodec.GenerateKey())
			for n := range 101 {
				require.NoError(d.t, others.Round(d.t.Context(), fmt.Sprint(n), "", nil).Err)
			}
			require.NoError(d.t, others.Runtime.Close())
			time.Sleep(time.Second)
			d.opens().Begin()
			pass()
		}, first},
	} {
		for style := range bookings(nil, nil) {
			kit.InBubble(t, fmt.Sprintf("%s/%s", name, style), func(t *testing.T) {
				d := &desk{t: t, records: kit.Shared{Memory: store.NewMemory(nil)}, style: style}
				c.play(d)
				require.Equal(t, c.un, d.un.all())
				require.Len(t, d.seen.Of(observe.EffectUndone), len(c.un))
				if len(c.un) > 0 {
					told := d.seen.Of(observe.CallAbandoned)
					require.Len(t, told, 1)
					require.True(t, told[0].HasEffects)
					require.Equal(t, "no answer came in time", told[0].Reason)
				}
			})
		}
	}
}

// The store does not take the questions of a round, or does not say so. They do not go out, since it may
// be that nobody finds the effect before them: whoever sends the request again has it once, and for one
// who leaves it is undone.
func TestQuestionsThatAreNotRecordedAreNotAsked(t *testing.T) {
	unwell := map[string]error{"store_full": store.ErrFull, "store_unavailable": errors.New("connection lost")}
	for style := range bookings(nil, nil) {
		for reason, err := range unwell {
			for _, leaves := range []bool{true, false} {
				kit.InBubble(t, fmt.Sprintf("%s, %s, leaves %t", style, reason, leaves), func(t *testing.T) {
					s := newHookedStore()
					s.scope = store.Machine
					d := &desk{t: t, records: s, style: style}
					tool := d.opens()
					s.on(func(op operation) error {
						if op.name == "update" {
							return err
						}
						return nil
					})
					retryable(t, tool.Begin().Err, reason)
					s.fail(nil)
					want := []string{"reserve: abandoned"}
					if time.Sleep(time.Second); !leaves {
						d.books(tool, tool.Begin())
						want = nil
					}
					time.Sleep(2 * deskTTL)
					require.Equal(t, want, d.un.all())
					require.Equal(t, 1, d.did.Count("reserve"))
				})
			}
		}
	}
}

// A coroutine is let go while its states open, and the call is begun anew.
func TestACoroutineThatWasLetGoAndIsBegunAnew(t *testing.T) {
	kit.InBubble(t, "coroutine", func(t *testing.T) {
		d := &desk{t: t, records: kit.Shared{Memory: store.NewMemory(nil)}, style: "coroutine"}
		tool := d.opens()
		tool.Begin()
		time.Sleep(deskTTL / 2)
		d.books(tool, tool.Begin())
		time.Sleep(2 * deskTTL)
		require.Equal(t, []string{"reserve: abandoned"}, d.un.all())
		require.Equal(t, 2, d.did.Count("reserve"))
	})
}

// A user takes so long that the earlier records have to live longer, and leaves then.
func TestACallIsUndoneThatTookLongBefore(t *testing.T) {
	for _, style := range []string{"native", "journal", "resumable"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var did kit.Deeds
			var un undone
			rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)})
			tool := &kit.Trip{Handler: mrtr.Tool(rt, kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				kit.Once(s, "reserve", did.Do("reserve"))
				for _, key := range []string{"q", "r", "s"} {
					kit.Ask(s, kit.Text(key))
				}
				return kit.Out{}, nil
			})[style].OnStop(un.of("reserve")), &mrtr.HandlerOptions{Name: "trip"})}
			asked := tool.Begin()
			for range 2 {
				time.Sleep(statecodec.DefaultTTL - time.Second)
				asked = tool.Answer(asked, "x")
				require.NoError(t, asked.Err)
			}
			time.Sleep(2 * statecodec.DefaultTTL)
			require.Equal(t, []string{"reserve: abandoned"}, un.all())
		})
	}
}

// The end of a call with a key is remembered for a day, also where somebody had to look whether it
// was abandoned.
func TestACallThatWasLookedAfterIsRemembered(t *testing.T) {
	for _, style := range []string{"native", "journal", "resumable", "steps"} {
		kit.InBubble(t, style, func(t *testing.T) {
			var un undone
			inn := replay.New(t, style, alike(1), nil, un.of("draft"), un.of("hold"))
			g := &replay.Guest{Inn: inn, Key: "1"}
			const slow = statecodec.DefaultTTL - 2*time.Minute
			room := g.Begin()
			time.Sleep(slow)
			sure := g.Answer(room, "double")
			time.Sleep(slow)
			receipt := g.Books(g.Answer(sure, "yes"))
			time.Sleep(23*time.Hour + 55*time.Minute)
			require.Equal(t, receipt, g.Books(g.Begin()))
			require.Equal(t, "1/1/1", inn.Did())
			require.Empty(t, un.all())
		})
	}
}

// A prompt with an audience of its own, and a resource, are found as a tool is.
func TestAnAbandonedPromptAndResource(t *testing.T) {
	hold := func(ctx context.Context, c *mrtr.Call, did *kit.Deeds) (need *mrtr.IncompleteResult, err error) {
		if _, err := mrtr.Once(ctx, c, "reserve", did.Do("reserve")); err != nil {
			return nil, err
		}
		return mrtr.Need(kit.Text("q")), nil
	}
	opts := &mrtr.HandlerOptions{Audience: "guests"}
	for name, begins := range map[string]func(rt *mrtr.Runtime, did *kit.Deeds, un mrtr.Undoing) error{
		"prompt": func(rt *mrtr.Runtime, did *kit.Deeds, un mrtr.Undoing) error {
			_, err := rt.Prompt(mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ map[string]string) (*mrtr.IncompleteResult, *mcp.GetPromptResult, error) {
				need, err := hold(ctx, c, did)
				return need, nil, err
			}).OnStop(un), opts)(context.Background(), &mcp.GetPromptRequest{Params: &mcp.GetPromptParams{Name: "trip", Meta: kit.ModernMeta()}})
			return err
		},
		"resource": func(rt *mrtr.Runtime, did *kit.Deeds, un mrtr.Undoing) error {
			_, err := rt.Resource(mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ string) (*mrtr.IncompleteResult, *mcp.ReadResourceResult, error) {
				need, err := hold(ctx, c, did)
				return need, nil, err
			}).OnStop(un), nil)(context.Background(), &mcp.ReadResourceRequest{Params: &mcp.ReadResourceParams{URI: "trip://1", Meta: kit.ModernMeta()}})
			return err
		},
	} {
		kit.InBubble(t, name, func(t *testing.T) {
			var did kit.Deeds
			var un undone
			rt := kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)})
			require.NoError(t, begins(rt, &did, un.of("reserve")))
			time.Sleep(2 * statecodec.DefaultTTL)
			require.Equal(t, 1, did.Count("reserve"))
			require.Equal(t, []string{"reserve: abandoned"}, un.all())
		})
	}
}

// crowded is a store in which what others have to look after never ends.
type crowded struct {
	kit.Shared
	most int
}

func (c *crowded) Due(_ context.Context, _ time.Time, n int) ([]store.Key, error) {
	c.most = max(c.most, n)
	return make([]store.Key, n), nil
}

// What others have to look after does not have an instance read more and more.
func TestALookIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records := &crowded{Shared: kit.Shared{Memory: store.NewMemory(nil)}}
		(&desk{t: t, records: records, style: "native"}).opens()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Positive(t, records.most)
		require.LessOrEqual(t, records.most, 1100)
	})
}
