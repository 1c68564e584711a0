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
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/internal/report"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/mrtr/visit"
)

// booking is a tool that has the effect "book", asks "q", and does after when q is
// answered. Its effect runs at the top of the handler, or is the first step.
func booking(t *testing.T, book func(context.Context, string) (any, error), after func() error) map[string]kit.Style {
	// The handler goes on from any failure of the effect.
	tried := func(ctx context.Context, c *mrtr.Call) {
		defer func() { _ = recover() }()
		_, _ = mrtr.Once(ctx, c, "book", book)
	}
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		tried(s.Ctx, s.Call)
		kit.Ask(s, kit.Text("q"))
		return kit.Out{}, after()
	})
	var list kit.Steps
	steps.Do(&list, "first", func(ctx context.Context, at *kit.At, _ string) (int, error) {
		tried(ctx, at.Call)
		return 0, mrtr.ErrSkip
	})
	steps.Always(&list, kit.Text("q"))
	list.End(func(context.Context, *kit.At) (kit.Out, error) { return kit.Out{}, after() })
	styles["steps"] = kit.Build(t, &list)
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
		end   func(t *testing.T, style kit.Style, name string) error
		after func() error
		only  []string // styles; all if empty
	}{
		"declined": {end: func(t *testing.T, style kit.Style, _ string) error {
			tool := kit.ServeTrip(t, style)
			asked := tool.Begin()
			return tool.Round(t.Context(), "", asked.State, kit.Declining(asked)).Err
		}},
		"cancelled": {end: func(t *testing.T, style kit.Style, _ string) error {
			tool := kit.ServeTrip(t, style)
			return tool.Round(t.Context(), "", tool.Begin().State, mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "cancel"}}).Err
		}},
		"unanswered": {end: func(t *testing.T, style kit.Style, _ string) error {
			tool := kit.ServeTrip(t, style)
			last := tool.Begin()
			for last.Err == nil {
				last = tool.Round(t.Context(), "", last.State, nil)
			}
			return last.Err
		}},
		"its own error": {end: answered, after: func() error { return full }},
		"a panic":       {end: answered, after: func() error { panic("boom") }},
		"no visit":      {end: answered, after: func() error { return visit.ErrNoVisit }},
		"Goexit":        {end: answered, after: func() error { runtime.Goexit(); return nil }},
		"another style": {end: func(t *testing.T, style kit.Style, name string) error {
			one := kit.ServeTrip(t, style)
			asked := one.Ends(t, one.Begin())
			other := map[string]string{"native": "journal"}[name]
			if other == "" {
				other = "native"
			}
			last := kit.NewTrip(kit.TripRuntime(t, nil), booking(t, nothingDone, func() error { return nil })[other], "").Answer(asked, "x")
			kit.Ended(t, last.Err, mrtr.Diverged)
			return last.Err
		}},
		"a frame that is gone": {only: []string{"coroutine"}, end: func(t *testing.T, style kit.Style, _ string) error {
			one := kit.ServeTrip(t, style)
			asked := one.Ends(t, one.Begin())
			last := kit.ServeTrip(t, style).Answer(asked, "x")
			kit.Ended(t, last.Err, mrtr.FrameGone)
			return last.Err
		}},
		"too large a state": {end: func(t *testing.T, style kit.Style, _ string) error {
			last := kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{MaxStateBytes: 16}}), style, "").Begin()
			kit.Ended(t, last.Err, mrtr.LimitExceeded)
			return last.Err
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
					require.Equal(t, want, report.EffectOf(err))
					if effect.effect == "" {
						require.NotContains(t, said, `"book"`)
						return
					}
					told := kit.ToldBy(err)
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

func answered(t *testing.T, style kit.Style, _ string) error {
	tool := kit.ServeTrip(t, style)
	return tool.Answer(tool.Begin(), "x").Err
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
			var list kit.Steps
			steps.Do(&list, "book", func(context.Context, *kit.At, string) (any, error) { return test.do() })
			list.End(kit.End("done"))
			err := kit.ServeTrip(t, kit.Build(t, &list)).Begin().Err
			require.EqualError(t, err, test.want)
			require.Equal(t, test.effect, report.EffectOf(err))
		})
	}
}

// An attempt of unknown outcome that succeeds later has happened.
func TestALaterSuccessSettlesAnUnknownOutcome(t *testing.T) {
	kit.EachOnce(t, func(t *testing.T, style func(kit.Body) kit.Style) {
		tries, idems := 0, map[string]int{}
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call) (string, error) {
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
		second := tool.Answer(tool.Begin(), "x")
		require.Equal(t, []string{"r"}, second.Asks)
		last := tool.Round(t.Context(), "", second.State, kit.Declining(second))
		require.Equal(t, []string{"book"}, kit.Ended(t, last.Err, mrtr.Declined).Applied)
		require.Equal(t, "applied", report.EffectOf(last.Err))
		require.Len(t, idems, 1, "an attempt that may have happened is repeated under its own key")
	})
}

// seatStyles ask for a seat, book it, ask for a yes, and book again if that failed. They pass on the
// key of each attempt.
func seatStyles(t *testing.T, book func(idem, seat string) error) map[string]kit.Style {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		seat := kit.Ask(s, kit.Text("seat"))
		booking := func(_ context.Context, idem string) (string, error) { return seat, book(idem, seat) }
		_, err := mrtr.Once(s.Ctx, s.Call, "book", booking)
		kit.Ask(s, kit.Text("more"))
		if err != nil {
			kit.Once(s, "book", booking)
		}
		return kit.Out{}, nil
	})
	delete(styles, "coroutine") // it cannot go back
	var list kit.Steps
	seat := steps.Always(&list, kit.Text("seat"))
	steps.Do(&list, "book", func(_ context.Context, at *kit.At, idem string) (string, error) {
		return seat.Of(at), book(idem, seat.Of(at))
	})
	steps.Always(&list, kit.Text("more"))
	list.End(kit.End("done"))
	styles["steps"] = kit.Build(t, &list)
	return styles
}

// A user who goes back and takes another seat books another seat, also at a desk that
// honours idempotency keys. One who repeats the same answer repeats the same key.
func TestIdemDependsOnTheAnswersBeforeTheEffect(t *testing.T) {
	kit.Differs(t, "a second answer to one round is refused")
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
			tool := kit.ServeTrip(t, style)
			asked := tool.Begin()
			for _, seat := range []string{"1A", "20F", "1A"} {
				next := tool.Answer(asked, seat)
				require.NoError(t, next.Err)
				require.NoError(t, tool.Answer(next, seat).Err)
			}
			require.Len(t, idems, 3)
			require.Equal(t, idems[0], idems[2], "the same history, the same key")
			require.NotEqual(t, idems[0], idems[1])
			require.Equal(t, "1A", desk[idems[0]])
			require.Equal(t, "20F", desk[idems[1]])
			other := tool.Begin()
			require.NoError(t, tool.Answer(other, "1A").Err)
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
	delete(styles, "steps") // a step that fails ends its call
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			tries, idems = 0, nil
			tool := kit.ServeTrip(t, style)
			next := tool.Answer(tool.Begin(), "1A")
			require.Equal(t, []string{"more"}, next.Asks)
			require.NoError(t, tool.Answer(next, "yes").Err)
			require.Equal(t, []string{idems[0], idems[0]}, idems)
		})
	}
	for _, free := range []bool{false, true} { // of AnyAnswers, as an answer is replaced
		var idems []string
		tool := kit.ServeTrip(t, mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.In) (*mrtr.IncompleteResult, kit.Out, error) {
			seat, ok := mrtr.Answer(c, kit.Text("seat"))
			if !ok {
				return mrtr.Need(kit.Text("seat")), kit.Out{}, nil
			}
			_, err := mrtr.Once(ctx, c, "book", func(_ context.Context, idem string) (string, error) {
				idems = append(idems, idem)
				if seat == "1A" {
					return "", errors.New("taken")
				}
				return seat, nil
			}, &mrtr.EffectOptions[string]{AnyAnswers: free})
			if err != nil {
				return mrtr.Need(kit.Text("seat")), kit.Out{}, nil
			}
			return nil, kit.Out{Plan: seat}, nil
		}))
		last := tool.Answer(tool.Answer(tool.Begin(), "1A"), "20F")
		require.Equal(t, "20F", last.Plan)
		require.Len(t, idems, 2)
		require.Equal(t, free, idems[0] == idems[1])
	}
}

// A call that began in one style is told apart in every other, before anything runs.
// Journal and Resumable keep the same journal.
func TestEveryStyleNoticesAnother(t *testing.T) {
	began := map[string]string{
		"native": "it was written as guards", "steps": "it was written as a list of steps", "coroutine": "it was written as a coroutine",
		"journal": "it was written as journaled code", "resumable": "it was written as journaled code",
	}
	for before := range began {
		for after := range began {
			t.Run(before+" to "+after, func(t *testing.T) {
				var did kit.Deeds
				styles := booking(t, func(context.Context, string) (any, error) { return did.Note("book"), nil }, func() error {
					did.Note("after")
					return nil
				})
				require.Len(t, styles, len(began))
				one := kit.NewTrip(kit.TripRuntime(t, nil), styles[before], "v1")
				asked := one.Ends(t, one.Begin())
				require.NoError(t, asked.Err)
				last := kit.NewTrip(kit.TripRuntime(t, nil), styles[after], "v2").Answer(asked, "x")
				require.Equal(t, 1, did.Count("book"))
				switch {
				case before == "coroutine" && after == before:
					kit.Ended(t, last.Err, mrtr.FrameGone)
				case before == after, began[before] == began[after]:
					require.NoError(t, last.Err)
					require.Equal(t, 1, did.Count("after"))
					return
				default:
					require.Contains(t, kit.Ended(t, last.Err, mrtr.Diverged).Detail, began[before])
				}
				require.Zero(t, did.Count("after"))
			})
		}
	}
}
