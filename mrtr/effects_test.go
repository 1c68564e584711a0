package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/mrtr/visit"
)

// booking is a tool that has the effect "book", asks "q", and does after when q is
// answered. Its effect runs at the top of the handler, or is the first step.
func booking(t *testing.T, book func(context.Context, string) (any, error), after func() error) map[string]tripStyle {
	// The handler goes on from any failure of the effect.
	tried := func(ctx context.Context, c *mrtr.Call) {
		defer func() { _ = recover() }()
		_, _ = mrtr.Once(ctx, c, "book", book)
	}
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		tried(s.ctx, s.Call)
		ask(s, text("q"))
		return tripOut{}, after()
	})
	var list tripSteps
	steps.Do(&list, "first", func(ctx context.Context, at *tripAt, _ string) (int, error) {
		tried(ctx, at.Call)
		return 0, mrtr.ErrSkip
	})
	steps.Always(&list, text("q"))
	list.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{}, after() })
	styles["steps"] = mustBuild(t, &list)
	return styles
}

// nothingDone is the effect of a call that has none.
func nothingDone(context.Context, string) (any, error) { return nil, errors.New("sold out") }

// Whatever a call has done before it ends, and in whichever way and style it ends:
// its error says "call again" only if the call has done nothing, it names the effects
// that have happened or may have, and it reports them to agents.
func TestOnlyACallThatDidNothingMayBeMadeAgain(t *testing.T) {
	effects := map[string]struct {
		book   func(context.Context, string) (any, error)
		effect string
	}{
		"nothing":   {nothingDone, ""},
		"done":      {func(context.Context, string) (any, error) { return "1A", nil }, "applied"},
		"panicked":  {func(context.Context, string) (any, error) { panic("boom") }, "unknown"},
		"timed out": {func(context.Context, string) (any, error) { return nil, context.DeadlineExceeded }, "unknown"},
		"its own clock": {func(context.Context, string) (any, error) {
			return nil, fmt.Errorf("dial: %w", &slow{})
		}, "unknown"},
		"a lost value": {func(context.Context, string) (any, error) { return math.NaN(), nil }, "unknown"},
	}
	full := errors.New("the train is full")
	endings := map[string]struct {
		end   func(t *testing.T, style tripStyle, name string) error
		after func() error
		only  []string // styles; all if empty
	}{
		"declined": {end: func(t *testing.T, style tripStyle, _ string) error {
			tool := serveTrip(t, style)
			asked := tool.begin()
			return tool.round(t.Context(), "", asked.state, declining(asked)).err
		}},
		"cancelled": {end: func(t *testing.T, style tripStyle, _ string) error {
			tool := serveTrip(t, style)
			return tool.round(t.Context(), "", tool.begin().state, mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "cancel"}}).err
		}},
		"unanswered": {end: func(t *testing.T, style tripStyle, _ string) error {
			tool := serveTrip(t, style)
			last := tool.begin()
			for last.err == nil {
				last = tool.round(t.Context(), "", last.state, nil)
			}
			return last.err
		}},
		"its own error": {end: answered, after: func() error { return full }},
		"a panic":       {end: answered, after: func() error { panic("boom") }},
		"no visit":      {end: answered, after: func() error { return visit.ErrNoVisit }},
		"Goexit":        {end: answered, after: func() error { runtime.Goexit(); return nil }},
		"another style": {end: func(t *testing.T, style tripStyle, name string) error {
			one := serveTrip(t, style)
			asked := one.ends(t, one.begin())
			other := map[string]string{"native": "journal"}[name]
			if other == "" {
				other = "native"
			}
			last := newTrip(newTripRuntime(t, nil), booking(t, nothingDone, func() error { return nil })[other], "").answer(asked, "x")
			ended(t, last.err, mrtr.Diverged)
			return last.err
		}},
		"a frame that is gone": {only: []string{"coroutine"}, end: func(t *testing.T, style tripStyle, _ string) error {
			one := serveTrip(t, style)
			asked := one.ends(t, one.begin())
			last := serveTrip(t, style).answer(asked, "x")
			ended(t, last.err, mrtr.FrameGone)
			return last.err
		}},
		"too large a state": {end: func(t *testing.T, style tripStyle, _ string) error {
			last := newTrip(newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 16}}), style, "").begin()
			ended(t, last.err, mrtr.LimitExceeded)
			return last.err
		}},
	}
	cases := 0
	for how, effect := range effects {
		for way, ending := range endings {
			after := ending.after
			if after == nil {
				after = func() error { return nil }
			}
			for name, style := range booking(t, effect.book, after) {
				if len(ending.only) > 0 && !strings.Contains(strings.Join(ending.only, " "), name) {
					continue
				}
				cases++
				t.Run(how+"/"+way+"/"+name, func(t *testing.T) {
					err := ending.end(t, style, name)
					require.Error(t, err)
					said, want := err.Error(), effect.effect
					if way == "a frame that is gone" && want != "unknown" {
						want = "unknown"
						require.Contains(t, said, "do not call the tool again without checking")
					}
					require.Equal(t, want, effectOf(err))
					if effect.effect == "" {
						require.NotContains(t, said, `"book"`)
						return
					}
					told := toldBy(err)
					notAdvisedToCallAgain(t, told)
					require.Equal(t, 1, strings.Count(told, `"book" was done`), told)
					require.Equal(t, effect.effect == "unknown", strings.Contains(told, `hether "book" was done is unknown`), told)
					require.Contains(t, told, "do not call the tool again without checking")
					switch way {
					case "declined", "cancelled":
						require.True(t, strings.HasPrefix(said, fmt.Sprintf("Stopped: \"q\" was %s. ", way)), said)
					default:
						if effect.effect == "unknown" {
							require.Contains(t, said, "is unknown", "the text says so too")
						}
					}
				})
			}
		}
	}
	require.Equal(t, len(effects)*(9*5+1), cases)
}

func answered(t *testing.T, style tripStyle, _ string) error {
	tool := serveTrip(t, style)
	return tool.answer(tool.begin(), "x").err
}

// slow is a timeout that is none of package context.
type slow struct{}

func (*slow) Error() string { return "no answer" }
func (*slow) Timeout() bool { return true }

// A doing step ends its call where its function does not come to an end.
func TestAStepOfUnknownOutcomeSaysSo(t *testing.T) {
	unknown := ` Whether "book" was done is unknown: do not call the tool again without checking.`
	tests := map[string]struct {
		do     func() (any, error)
		want   string
		effect string
	}{
		"panics":         {func() (any, error) { panic("boom") }, "The tool failed unexpectedly." + unknown, "unknown"},
		"exits":          {func() (any, error) { runtime.Goexit(); return 0, nil }, "mrtr: the handler ended its goroutine with runtime.Goexit." + unknown, "unknown"},
		"is out of time": {func() (any, error) { return nil, context.DeadlineExceeded }, "context deadline exceeded." + unknown, "unknown"},
		"is cut off":     {func() (any, error) { return nil, io.ErrUnexpectedEOF }, "unexpected EOF." + unknown, "unknown"},
		"loses a value":  {func() (any, error) { return math.NaN(), nil }, `mrtr: effect "book" ran, but its value cannot be remembered: json: unsupported value: NaN.` + unknown, "unknown"},
		"fails":          {func() (any, error) { return nil, errors.New("the train is full") }, "the train is full", ""},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var list tripSteps
			steps.Do(&list, "book", func(context.Context, *tripAt, string) (any, error) { return test.do() })
			list.End(ends("done"))
			err := serveTrip(t, mustBuild(t, &list)).begin().err
			require.EqualError(t, err, test.want)
			require.Equal(t, test.effect, effectOf(err))
		})
	}
}

// An attempt of unknown outcome that succeeds later has happened.
func TestALaterSuccessSettlesAnUnknownOutcome(t *testing.T) {
	eachOnce(t, func(t *testing.T, style func(onceBody) tripStyle) {
		tries, idems := 0, map[string]int{}
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, err := mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems[idem]++
				if tries++; tries == 1 {
					return "", context.DeadlineExceeded
				}
				return "1A", nil
			}, &mrtr.EffectOptions[string]{Again: true})
			if errors.Is(err, context.DeadlineExceeded) {
				return "later", nil
			}
			return "", err
		}))
		second := tool.answer(tool.begin(), "x")
		require.Equal(t, []string{"r"}, second.asks)
		last := tool.round(t.Context(), "", second.state, declining(second))
		require.Equal(t, []string{"book"}, ended(t, last.err, mrtr.Declined).Applied)
		require.Equal(t, "applied", effectOf(last.err))
		require.Len(t, idems, 1, "an attempt that may have happened is repeated under its own key")
	})
}

// seatStyles ask for a seat, book it, ask for a yes, and book again if that failed. They pass on the
// key of each attempt.
func seatStyles(t *testing.T, book func(idem, seat string) error) map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		seat := ask(s, text("seat"))
		booking := func(_ context.Context, idem string) (string, error) { return seat, book(idem, seat) }
		_, err := mrtr.Once(s.ctx, s.Call, "book", booking)
		ask(s, text("more"))
		if err != nil {
			once(s, "book", booking)
		}
		return tripOut{}, nil
	})
	delete(styles, "coroutine") // it cannot go back
	var list tripSteps
	seat := steps.Always(&list, text("seat"))
	steps.Do(&list, "book", func(_ context.Context, at *tripAt, idem string) (string, error) {
		return seat.Of(at), book(idem, seat.Of(at))
	})
	steps.Always(&list, text("more"))
	list.End(ends("done"))
	styles["steps"] = mustBuild(t, &list)
	return styles
}

// A user who goes back and takes another seat books another seat, also at a desk that
// honours idempotency keys. One who repeats the same answer repeats the same key.
func TestIdemDependsOnTheAnswersBeforeTheEffect(t *testing.T) {
	desk := map[string]string{} // the seat that each key has booked
	idems := []string{}
	styles := seatStyles(t, func(idem, seat string) error {
		idems = append(idems, idem)
		if _, known := desk[idem]; !known {
			desk[idem] = seat
		}
		return nil
	})
	require.Len(t, styles, 4)
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			idems = nil
			clear(desk)
			tool := serveTrip(t, style)
			asked := tool.begin()
			for _, seat := range []string{"1A", "20F", "1A"} {
				next := tool.answer(asked, seat)
				require.NoError(t, next.err)
				require.NoError(t, tool.answer(next, seat).err)
			}
			require.Len(t, idems, 3)
			require.Equal(t, idems[0], idems[2], "the same history, the same key")
			require.NotEqual(t, idems[0], idems[1])
			require.Equal(t, "1A", desk[idems[0]])
			require.Equal(t, "20F", desk[idems[1]])
			other := tool.begin()
			require.NoError(t, tool.answer(other, "1A").err)
			require.NotContains(t, idems[:3], idems[3], "another call")
		})
	}
}

// An attempt that is repeated after another question has the key of the first, unless
// the answers that it had have changed.
func TestIdemStaysAcrossAttempts(t *testing.T) {
	tries := 0
	var idems []string
	styles := seatStyles(t, func(idem, _ string) error {
		idems = append(idems, idem)
		if tries++; tries == 1 {
			return errors.New("connection reset")
		}
		return nil
	})
	for name, style := range styles {
		if name == "steps" {
			continue // a step that fails ends its call
		}
		t.Run(name, func(t *testing.T) {
			tries, idems = 0, nil
			tool := serveTrip(t, style)
			next := tool.answer(tool.begin(), "1A")
			require.Equal(t, []string{"more"}, next.asks)
			require.NoError(t, tool.answer(next, "yes").err)
			require.Len(t, idems, 2)
			require.Equal(t, idems[0], idems[1])
		})
	}
	t.Run("an answer that is replaced", func(t *testing.T) {
		var idems []string
		tool := serveTrip(t, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			seat, ok := mrtr.Answer(c, text("seat"))
			if !ok {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			_, err := mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems = append(idems, idem)
				if seat == "1A" {
					return "", errors.New("taken")
				}
				return seat, nil
			})
			if err != nil {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			return nil, tripOut{Plan: seat}, nil
		}))
		last := tool.answer(tool.answer(tool.begin(), "1A"), "20F")
		require.Equal(t, "20F", last.plan)
		require.Len(t, idems, 2)
		require.NotEqual(t, idems[0], idems[1])
	})
}
