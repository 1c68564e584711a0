package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
)

// undone lists the effects that were undone, each with the reason.
type undone struct {
	mu  sync.Mutex
	log []string
}

func (u *undone) note(what string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var ended *mrtr.Error
	if reason := ""; errors.As(err, &ended) {
		reason = string(ended.Reason)
		u.log = append(u.log, what+": "+reason)
		return
	}
	u.log = append(u.log, what+": "+err.Error())
}

func (u *undone) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]string(nil), u.log...)
}

// stopStyles is one handler that reserves, asks q, pays, asks r and ends, and that
// undoes its effects, in every style.
func stopStyles(did *deeds, un *undone, end error) map[string]tripStyle {
	styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
		for _, part := range [][2]string{{"reserve", "q"}, {"pay", "r"}} {
			effect := once(s, part[0], did.do(part[0]))
			s.OnStop(part[0], func(_ context.Context, _ string, err error) error { un.note(effect, err); return nil })
			ask(s, text(part[1]))
		}
		return tripOut{Plan: "done"}, end
	})
	var b tripSteps
	step := func(key string) steps.Step[string] {
		return steps.Do(&b, key, func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do(key)(ctx, idem) })
	}
	reserve := step("reserve")
	steps.Always(&b, text("q"))
	pay := step("pay")
	steps.Always(&b, text("r"))
	for _, s := range []struct {
		key  string
		step steps.Step[string]
	}{{"reserve", reserve}, {"pay", pay}} {
		step := s.step
		b.OnStop(s.key, func(_ context.Context, at *tripAt, _ string, err error) error {
			if step.Happened(at) {
				un.note(step.Of(at), err)
			}
			return nil
		})
	}
	b.End(func(context.Context, *tripAt) (tripOut, error) { return tripOut{Plan: "done"}, end })
	styles["steps"] = b.MustBuild()
	return styles
}

// A call that ends without completing undoes its effects, last first, before its
// client gets the result, once, in every style, on whichever instance it ends.
func TestOnStopUndoesWhatACallDid(t *testing.T) {
	failing := errors.New("no more chairs")
	for _, test := range []struct {
		explanation string
		answers     []string // accepted ones; the next is declined, cancelled or never fits
		last        string
		end         error
		undone      []string
		did         []string
	}{
		{"declined at once", nil, "decline", nil, []string{"reserve: declined"}, []string{"reserve"}},
		{"declined later", []string{"x"}, "decline", nil, []string{"pay: declined", "reserve: declined"}, []string{"reserve", "pay"}},
		{"dismissed", []string{"x"}, "cancel", nil, []string{"pay: cancelled", "reserve: cancelled"}, []string{"reserve", "pay"}},
		{"never answered", []string{"x"}, "", nil, []string{"pay: unanswered", "reserve: unanswered"}, []string{"reserve", "pay"}},
		{"the handler fails", []string{"x", "y"}, "", failing, []string{"pay: " + failing.Error(), "reserve: " + failing.Error()}, []string{"reserve", "pay"}},
		{"it completes", []string{"x", "y"}, "", nil, nil, []string{"reserve", "pay"}},
	} {
		for name := range stopStyles(&deeds{}, &undone{}, nil) {
			for _, elsewhere := range []bool{false, true} {
				if elsewhere && name == "coroutine" {
					continue // its frame stands here
				}
				t.Run(fmt.Sprintf("%s/%s/elsewhere=%t", test.explanation, name, elsewhere), func(t *testing.T) {
					var did deeds
					var un undone
					style := stopStyles(&did, &un, test.end)[name]
					tool := newTrip(newTripRuntime(t, nil), style, "v1")
					last := tool.begin()
					for _, answer := range test.answers {
						last = tool.answer(last, answer)
					}
					if elsewhere {
						tool = newTrip(newTripRuntime(t, nil), style, "v1")
					}
					for last.err == nil && last.asks != nil {
						responses := declining(last)
						for key := range responses {
							responses[key] = &mcp.ElicitResult{Action: test.last}
						}
						last = tool.round(t.Context(), "", last.state, responses)
					}
					if test.undone == nil {
						require.NoError(t, last.err)
					} else {
						require.Error(t, last.err)
					}
					require.Equal(t, test.undone, un.all())
					for _, effect := range []string{"reserve", "pay"} {
						require.Equal(t, strings.Count(strings.Join(test.did, " "), effect), did.count(effect), effect)
					}
				})
			}
		}
	}
}

// tryAgain is an error after which the same request may be sent again.
type tryAgain struct{ error }

func (tryAgain) ToolErrorRetryable() bool { return true }

// With a store, a round that ends in a retryable error is left to the same request when
// it comes again. Its effects count as done then, so they are not undone.
func TestOnStopLeavesARoundThatGoesOn(t *testing.T) {
	for name := range stopStyles(&deeds{}, &undone{}, nil) {
		eachStore(t, name, func(t *testing.T, stored bool) {
			var did deeds
			var un undone
			opts := sharedStoreIf(stored)
			tool := newTrip(newTripRuntime(t, opts), stopStyles(&did, &un, tryAgain{errors.New("busy")})[name], "v1")
			last := tool.answer(tool.answer(tool.begin(), "x"), "y")
			require.ErrorContains(t, last.err, "busy")
			if stored && name != "coroutine" { // that has no handler any more to go on with
				require.Empty(t, un.all())
			} else {
				require.Equal(t, []string{"pay: busy", "reserve: busy"}, un.all())
			}
		})
	}
}

// A held handler whose time is up, or whose runtime closes, undoes its effects. One
// that can be replayed elsewhere does not, for its call may go on.
func TestOnStopOfAHeldHandler(t *testing.T) {
	for _, name := range []string{"coroutine", "resumable"} {
		inBubble(t, name, func(t *testing.T) {
			var did deeds
			var un undone
			rt := newTripRuntime(t, &mrtr.Options{Limits: mrtr.Limits{FrameTTL: time.Minute}})
			tool := newTrip(rt, stopStyles(&did, &un, nil)[name], "")
			tool.begin()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			require.Equal(t, name == "coroutine", len(un.all()) == 1, "%q", un.all())
			tool.answer(tool.begin(), "x")
			require.NoError(t, rt.Close())
			if name == "coroutine" {
				require.Equal(t, []string{"reserve: context deadline exceeded", "pay: shutting_down", "reserve: shutting_down"}, un.all())
			} else {
				require.Empty(t, un.all())
			}
		})
	}
}

// A panic ends one function, is told to the observer, and changes nothing for the
// client. No effect runs in them, nor on the way to them.
func TestOnStopIsContained(t *testing.T) {
	for name, style := range map[string]func(linear.Func[input, output]) mrtr.Style[input, output]{
		"coroutine": linear.Coroutine[input, output], "journal": linear.Journal[input, output],
	} {
		t.Run(name, func(t *testing.T) {
			rt, seen := newRuntime(t, nil)
			var did deeds
			var refused error
			client := connect(t, serveStyle(rt, style(func(ctx context.Context, c *mrtr.Call, _ input) (output, error) {
				c.OnStop("first", func(context.Context, string, error) error { did.note("undone"); return nil })
				c.OnStop("second", func(context.Context, string, error) error { panic(canary) })
				c.OnStop("third", func(ctx context.Context, _ string, _ error) error {
					_, refused = mrtr.Once(ctx, c, "late", didNothing(&did))
					return nil
				})
				_, err := linear.Ask(ctx, c, units)
				return output{}, err
			}), nil), nil)
			out := call(t, client, wire.Answers{"units": wire.Decline})
			require.Equal(t, `Stopped: "units" was declined.`, out.Text)
			require.Equal(t, 1, did.count("undone"))
			require.Zero(t, did.count("late"))
			require.ErrorContains(t, refused, `effect "late" does not run`)
			failed := seen.of(observe.StopFailed)
			require.Len(t, failed, 1)
			panicked := panicOf(t, failed[0].Err)
			require.Equal(t, canary, panicked.Value)
		})
	}
}

func didNothing(did *deeds) func(context.Context, string) (struct{}, error) {
	return func(context.Context, string) (struct{}, error) { did.note("late"); return struct{}{}, nil }
}

// Only a handler that has something to undo is entered for it.
func TestOnStopEntersNobodyForNothing(t *testing.T) {
	for _, undoes := range []bool{false, true} {
		rt, seen := newRuntime(t, nil)
		client := connect(t, serveTool(rt, func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
			if undoes {
				c.OnStop("x", func(context.Context, string, error) error { return nil })
			}
			return mrtr.Need(units), output{}, nil
		}, nil), nil)
		call(t, client, wire.Answers{"units": wire.Decline})
		require.Equal(t, map[bool]int{false: 1, true: 2}[undoes], seen.entries())
	}
}

func TestOnStopInAStepIsAMistake(t *testing.T) {
	var b tripSteps
	steps.Ask(&b, "q", func(_ context.Context, at *tripAt) (mrtr.Question[string], error) {
		at.Call.OnStop("x", func(context.Context, string, error) error { return nil })
		return text("q"), nil
	})
	b.End(ends("done"))
	require.ErrorContains(t, serveTrip(t, mustBuild(t, &b)).begin().err, "use Steps.OnStop")

	nothing := func(context.Context, *tripAt, string, error) error { return nil }
	b.OnStop("q", nothing)
	_, err := b.Build()
	require.EqualError(t, misuse(t, err), `mrtr: OnStop undoes "q", which is no doing step of the list`)

	var twice tripSteps
	steps.Do(&twice, "k", does("k", &deeds{}, ""))
	twice.End(ends(""))
	twice.OnStop("k", nothing)
	twice.OnStop("k", nothing)
	_, err = twice.Build()
	require.EqualError(t, misuse(t, err), `mrtr: key "k" stands for two functions of OnStop: each needs a key of its own`)
}
