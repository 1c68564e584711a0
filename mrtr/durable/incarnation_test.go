package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/store/storetest"
)

// A store fails over before a round of a call, in it or after it, and has lost some writes that it
// confirmed. Whatever the record of the round was, its effect happens once, or nobody is told that it
// did not.
func TestACallOutlivesItsStoresIncarnation(t *testing.T) {
	const ok, unknown = "ok", "unknown"
	const before, after, kept, half = "before the round", "after it, which is lost", "after it", "after it, of which the claim is left"
	rows := []struct {
		style, opts, fails string
		answer             string
		paid               int
	}{
		{"journal", "", before, unknown, 0},
		{"journal", "", after, unknown, 1},
		{"journal", "", half, unknown, 1},
		{"journal", "", kept, ok, 1},
		{"journal", "check", before, ok, 1},
		{"journal", "check", after, ok, 1},
		{"journal", "check", half, ok, 1},
		{"journal", "check", kept, ok, 1},
		{"journal", "again", after, ok, 2},
		{"journal", "cannot check", after, unknown, 1},
		{"resumable", "", after, unknown, 1},
		{"resumable", "check", after, ok, 1},
		{"native", "check", before, unknown, 0},
		{"native", "check", after, unknown, 1},
		{"native", "check", kept, ok, 1},
		{"native, again", "check", before, ok, 1},
		{"native, again", "check", after, ok, 1},
		{"coroutine", "", before, unknown, 0},
		{"coroutine", "", after, unknown, 1},
		{"coroutine", "", kept, ok, 1},
		{"steps", "", after, unknown, 1},
		{"steps", "check", after, unknown, 1}, // its end runs once
		{"steps", "check", kept, ok, 1},
	}
	require.NotEmpty(t, rows)
	for _, row := range rows {
		kit.InBubble(t, row.style+" "+row.opts+", "+row.fails, func(t *testing.T) {
			var did kit.Deeds
			s := storetest.NewFailingOver()
			found := func(context.Context, string) (string, bool, error) { return "paid", did.Count("paid") > 0, nil }
			opts := map[string]*mrtr.EffectOptions[string]{
				"": nil, "again": {Again: true}, "check": {Check: found},
				"cannot check": {Check: func(context.Context, string) (string, bool, error) { return "", false, errors.New("no line") }},
			}[row.opts]
			serve := func() *kit.Trip { return (&instance{over: s}).serve(t, row.style, &did, opts) }
			old := serve()
			asked := old.Begin()
			require.Equal(t, []string{"seat"}, asked.Asks)
			first := kit.Reply{}
			if row.fails != before {
				first = old.Answer(asked, "window")
				require.Equal(t, kit.Reply{Plan: "window paid"}, first)
			}
			s.FailOver(map[string]int{before: 0, after: 0, half: 1, kept: s.Writes()}[row.fails])
			tools := []*kit.Trip{old, serve(), old}
			for _, tool := range tools {
				reply := tool.Answer(asked, "window")
				switch {
				case row.answer == ok:
					require.Equal(t, kit.Reply{Plan: "window paid"}, reply)
				default:
					kit.Ended(t, reply.Err, mrtr.OutcomeUnknown)
				}
				require.Equal(t, row.paid, did.Count("paid"))
			}
		})
	}
}

// A state names the effects of earlier rounds. Nobody knows whether a round that was lost has undone
// them, so they are not undone again, and the client is told.
func TestNothingIsUndoneTwiceByTwoIncarnations(t *testing.T) {
	for _, style := range []string{"native", "journal"} {
		for _, fails := range []bool{false, true} {
			kit.InBubble(t, fmt.Sprintf("%s, fails over %t", style, fails), func(t *testing.T) {
				var did kit.Deeds
				s := storetest.NewFailingOver()
				body := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
					kit.Ask(s, kit.Text("seat"))
					kit.Once(s, "hold", did.Do("held"))
					kit.Ask(s, kit.Text("pay"))
					return kit.Out{}, nil
				})[style].OnStop(kit.UndoWith("hold", func() error { did.Note("undone"); return mrtr.ErrFound }))
				serve := func() *kit.Trip {
					return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), body, "")
				}
				first := serve()
				pay := first.Answer(first.Begin(), "window")
				require.Equal(t, []string{"pay"}, pay.Asks)
				declines := func(tool *kit.Trip) *mrtr.Error {
					return kit.Ended(t, tool.Round(t.Context(), "", pay.State, kit.Declining(pay)).Err, mrtr.Declined)
				}
				require.Equal(t, []string{"hold"}, declines(first).Undone)
				if fails {
					s.FailOver(0)
				}
				for _, tool := range []*kit.Trip{first, serve()} {
					e := declines(tool)
					require.Equal(t, fails, slices.Equal([]string{"hold"}, e.Unknown))
					require.Equal(t, !fails, slices.Equal([]string{"hold"}, e.Undone))
				}
				require.Equal(t, 1, did.Count("undone"))
			})
		}
	}
}

// A round that runs when its store fails over takes its claim along. Whoever sends its request again at
// another instance meanwhile waits for it, however long its effect takes.
func TestARoundOutlivesItsStoresIncarnation(t *testing.T) {
	for _, takes := range []time.Duration{5 * time.Second, time.Minute} {
		kit.InBubble(t, takes.String(), func(t *testing.T) {
			s := storetest.NewFailingOver()
			var did kit.Deeds
			body := kit.EveryStyle(func(st *kit.Stage, _ kit.In) (kit.Out, error) {
				seat := kit.Ask(st, kit.Text("seat"))
				check := &mrtr.EffectOptions[string]{Check: func(context.Context, string) (string, bool, error) { return "paid", did.Count("paid") > 0, nil }}
				paid, err := mrtr.Once(st.Ctx, st.Call, "pay", func(context.Context, string) (string, error) {
					s.FailOver(0)
					time.Sleep(takes)
					did.Note("paid")
					return "paid", nil
				}, check)
				if err != nil {
					return kit.Out{}, err
				}
				kit.Ask(st, kit.Text("more"))
				return kit.Out{Plan: seat + " " + paid}, nil
			})["journal"]
			serve := func() *kit.Trip {
				return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(s, nil)}), body, "")
			}
			here, there := serve(), serve()
			asked := here.Begin()
			own := kit.UnderWay(func() kit.Reply { return here.Answer(asked, "window") })
			time.Sleep(time.Second)
			other := there.Answer(asked, "window")
			for other.Err != nil {
				retryable(t, other.Err, "in_flight")
				other = there.Answer(asked, "window")
			}
			more := <-own
			require.NoError(t, more.Err)
			require.Equal(t, []string{"more"}, more.Asks)
			require.Equal(t, more, other)
			require.Equal(t, kit.Reply{Plan: "window paid"}, there.Answer(more, "no"))
			require.Equal(t, 1, did.Count("paid"))
		})
	}
}

// A store fails over in the first round of a call, and loses its claim. The client sends the request
// again to another instance, which lets the first one end.
func TestAFirstRoundThatOutlivesItsClaim(t *testing.T) {
	for _, key := range []string{"", "the key of this call"} {
		kit.InBubble(t, "key "+key, func(t *testing.T) {
			s := storetest.NewFailingOver()
			var did kit.Deeds
			body := kit.EveryStyle(func(st *kit.Stage, _ kit.In) (kit.Out, error) {
				paid, err := mrtr.Once(st.Ctx, st.Call, "pay", func(context.Context, string) (string, error) {
					if did.Count("failed over") == 0 {
						did.Note("failed over")
						s.FailOver(0)
					}
					time.Sleep(time.Minute)
					did.Note("paid")
					return "paid", nil
				})
				return kit.Out{Plan: paid}, err
			})["journal"]
			serve := func() *kit.Trip {
				rt := kit.TripRuntime(t, &mrtr.Options{
					Durable:   durable.In(s, nil),
					Principal: func(context.Context, mcp.Request) (string, error) { return "anna", nil },
					SameKey:   func(context.Context, mcp.Request) string { return key },
				})
				_, err := durable.Of(rt.Keeper()).Records().Epoch(t.Context()) // it has served others before
				require.NoError(t, err)
				return kit.NewTrip(rt, body, "")
			}
			here, there := serve(), serve()
			own := kit.UnderWay(func() kit.Reply { return here.Begin() })
			time.Sleep(time.Second)
			there.Begin()
			<-own
			require.Equal(t, 1, did.Count("paid"))
		})
	}
}
