package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/store"
)

// An instance stops in the middle of a round, and the same request reaches another.
// Then it wakes up. The effect happens once, or the client is told that nobody knows.
func TestARoundThatIsCutOff(t *testing.T) {
	const ok, unknown, gone = "ok", "unknown", "gone"
	again := &mrtr.OnceOptions[string]{Again: true}
	rows := []struct {
		style   string
		opts    string
		place   string
		effects int // until the other instance has answered
		answer  string
		later   int // effects in all, when the first has woken up
	}{
		{"native", "", afterClaim, 0, unknown, 1},
		{"native", "", effectBegun, 0, unknown, 1},
		{"native", "", afterEffect, 1, unknown, 1},
		{"native", "", effectNoted, 1, unknown, 1},
		{"native, again", "", afterClaim, 1, ok, 1},
		{"native, again", "", effectBegun, 0, unknown, 1},
		{"native, again", "", afterEffect, 1, unknown, 1},
		{"native, again", "", effectNoted, 1, ok, 1},
		{"native, again", "check", afterEffect, 1, ok, 1},
		{"native, again", "again", afterEffect, 2, ok, 2},
		{"coroutine", "", afterClaim, 0, unknown, 1},
		{"coroutine", "", afterEffect, 1, unknown, 1},
		{"journal", "", afterClaim, 1, ok, 1},
		{"journal", "", effectBegun, 0, unknown, 1},
		{"journal", "", afterEffect, 1, unknown, 1},
		{"journal", "", effectNoted, 1, ok, 1},
		{"journal", "check", afterClaim, 1, ok, 1},
		{"journal", "check", afterEffect, 1, ok, 1},
		{"journal", "check", effectNoted, 1, ok, 1},
		{"journal", "again", afterEffect, 2, ok, 2},
		{"journal, unknown", "", afterClaim, 0, unknown, 1},
		{"resumable", "", afterClaim, 1, ok, 1},
		{"resumable", "", afterEffect, 1, unknown, 1},
		{"resumable", "", effectNoted, 1, ok, 1},
		{"resumable", "check", afterEffect, 1, ok, 1},
		{"steps", "", effectBegun, 0, unknown, 1},
		{"steps", "", afterEffect, 1, unknown, 1},
		{"steps", "", effectNoted, 1, ok, 1},
		{"steps", "check", afterEffect, 1, ok, 1},
		{"steps", "again", afterEffect, 2, ok, 2},
	}
	require.NotEmpty(t, rows)
	for _, row := range rows {
		t.Run(row.style+" "+row.opts+", "+row.place, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var did deeds
				opts := map[string]*mrtr.OnceOptions[string]{"": nil, "again": again, "check": {
					Check: func(context.Context, string) (string, bool, error) { return "paid", did.count("paid") > 0, nil },
				}}[row.opts]
				memory := store.NewMemory(nil)
				first, second := newInstance(memory, row.place), newInstance(memory, "")
				dying, living := first.serve(t, row.style, &did, opts), second.serve(t, row.style, &did, opts)
				seat := dying.begin()
				own := make(chan tripReply, 1)
				go func() { own <- dying.answer(seat, "window") }()
				<-first.stopped

				began := time.Now()
				reply := living.answer(seat, "window")
				require.LessOrEqual(t, time.Since(began), 20*time.Second)
				require.Equal(t, row.effects, did.count("paid"))
				switch row.answer {
				case ok:
					require.Equal(t, tripReply{plan: "window paid"}, reply)
					require.Len(t, second.events.of(mrtr.RoundTakenOver), 1)
				case unknown:
					e := ended(t, reply.err, mrtr.OutcomeUnknown)
					if row.place != afterClaim && cutOffStyles[row.style].again != mrtr.InterruptedInherit {
						require.Equal(t, []string{"pay"}, e.Unknown)
					}
					var effect interface{ ToolErrorEffect() string }
					require.ErrorAs(t, reply.err, &effect)
					require.Equal(t, "unknown", effect.ToolErrorEffect())
				}

				first.goOn()
				woken := <-own
				require.Equal(t, row.later, did.count("paid"))
				if row.answer == ok {
					require.Equal(t, reply, woken, "it gets what the other one has come to")
					return
				}
				// Nobody knew, and nobody wrote that down: the one that woke up still delivers, unless
				// the other one had to run to find out.
				if len(second.events.of(mrtr.RoundTakenOver)) == 0 {
					require.Equal(t, tripReply{plan: "window paid"}, woken)
					require.Equal(t, woken, living.answer(seat, "window"))
					return
				}
				require.Error(t, woken.err)
				ended(t, living.answer(seat, "window").err, mrtr.OutcomeUnknown, "as before")
				require.Equal(t, row.later, did.count("paid"))
			})
		})
	}
}

// A request that kills each instance is given up.
func TestARequestThatKillsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		memory := store.NewMemory(nil)
		seat := newInstance(memory, "").serve(t, "journal", &did, nil).begin()
		var stopped []*instance
		for range 3 {
			i := newInstance(memory, afterClaim)
			tool := i.serve(t, "journal", &did, nil)
			go tool.answer(seat, "window")
			<-i.stopped
			stopped = append(stopped, i)
		}
		last := newInstance(memory, "")
		ended(t, last.serve(t, "journal", &did, nil).answer(seat, "window").err, mrtr.OutcomeUnknown)
		require.Empty(t, last.events.of(mrtr.HandlerEntered))
		for _, i := range stopped {
			i.goOn()
		}
		synctest.Wait()
		require.Equal(t, 1, did.count("paid"), "the one that holds the round goes on")
	})
}

// A holder that works for longer than a lease keeps its claim.
func TestASlowRoundKeepsItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := shared{store.NewMemory(nil)}
		entered := 0
		serve := func() *tripTool {
			rt := newTripRuntime(t, &mrtr.Options{Store: memory})
			return newTrip(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
				seat, ok := mrtr.Answer(c, text("seat"))
				if !ok {
					return mrtr.Need(text("seat")), tripOut{}, nil
				}
				entered++
				time.Sleep(5 * time.Minute)
				return nil, tripOut{Plan: seat}, nil
			}), "")
		}
		first, second := serve(), serve()
		seat := first.begin()
		reply := make(chan tripReply)
		go func() { reply <- first.answer(seat, "window") }()
		time.Sleep(2 * time.Minute)
		retryable(t, second.answer(seat, "window").err, "in_flight")
		require.Equal(t, tripReply{plan: "window"}, <-reply)
		require.Equal(t, tripReply{plan: "window"}, second.answer(seat, "window"))
		require.Equal(t, 1, entered)
	})
}

// The engine's own errors are no outcome: whoever comes next goes on at once, and
// effects that have happened stay.
func TestARoundThatIsInterruptedIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var did deeds
		opts := withStore(store.NewMemory(nil))
		held := make(chan struct{})
		tool := newTrip(newTripRuntime(t, opts), mrtr.Journal(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			seat, err := mrtr.Ask(ctx, c, text("seat"))
			if err != nil {
				return tripOut{}, err
			}
			if _, err := mrtr.Once(ctx, c, "hold", did.do("held")); err != nil {
				return tripOut{}, err
			}
			if did.note("runs") == 1 {
				close(held)
				<-ctx.Done()
				return tripOut{}, ctx.Err()
			}
			return tripOut{Plan: seat}, nil
		}), "")
		seat := tool.begin()
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			<-held
			hangUp()
		}()
		require.ErrorIs(t, tool.round(ctx, "", seat.state, accepting(seat, "window")).err, context.Canceled)
		began := time.Now()
		refusedOtherwise(t, tool.answer(seat, "aisle"))
		require.Equal(t, tripReply{plan: "window"}, tool.answer(seat, "window"))
		require.Zero(t, time.Since(began))
		require.Equal(t, 1, did.count("held"))
	})
}

// An effect whose function says that nobody knows is asked about at once, with or
// without a store.
func TestAnIndeterminateEffectIsChecked(t *testing.T) {
	for _, c := range []struct {
		explanation string
		happened    bool
		check       error
		want        string // the error; none if the effect happened
		effect      string
	}{
		{"it happened", true, nil, "", ""},
		{"it did not", false, nil, "pay: mrtr: nobody knows whether the effect happened", ""},
		{"nobody knows", false, errors.New("the line went dead"),
			"pay: mrtr: nobody knows whether the effect happened. Whether \"pay\" was done is unknown: do not call the tool again without checking.", "unknown"},
	} {
		t.Run(c.explanation, func(t *testing.T) {
			tool := serveTrip(t, mrtr.Journal(func(ctx context.Context, call *mrtr.Call, _ tripIn) (tripOut, error) {
				plan, err := mrtr.OnceWith(ctx, call, "pay", &mrtr.OnceOptions[string]{
					Check: func(context.Context, string) (string, bool, error) { return "receipt", c.happened, c.check },
				}, func(context.Context, string) (string, error) {
					return "", fmt.Errorf("pay: %w", mrtr.ErrIndeterminate)
				})
				return tripOut{Plan: plan}, err
			}))
			reply := tool.begin()
			if c.want == "" {
				require.Equal(t, tripReply{plan: "receipt"}, reply)
				return
			}
			require.EqualError(t, reply.err, c.want)
			var told interface{ ToolErrorEffect() string }
			if errors.As(reply.err, &told) {
				require.Equal(t, c.effect, told.ToolErrorEffect())
			} else {
				require.Empty(t, c.effect)
			}
		})
	}
}
