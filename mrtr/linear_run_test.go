package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// A handler that ends its own goroutine ends its call with an error that says so,
// and nothing else: the tool's next call works.
func TestLinearRunSurvivesItsHandler(t *testing.T) {
	type handler = linear.Func[tripIn, tripOut]
	first := func(ctx context.Context, c *mrtr.Call) { _, _ = linear.Ask(ctx, c, text("first")) }
	tests := map[string]struct {
		explanation string
		handler     handler
		want        string // of the error; "" where the call completes
		panics      bool
	}{
		"panics before asking": {
			explanation: "a panic is the call's error, and does not reach the process",
			handler:     func(context.Context, *mrtr.Call, tripIn) (tripOut, error) { panic("no fuel") },
			want:        "The tool failed unexpectedly.", panics: true,
		},
		"panics after asking": {
			explanation: "also on a goroutine that has been parked",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				first(ctx, c)
				panic(errors.New("no fuel"))
			},
			want: "The tool failed unexpectedly.", panics: true,
		},
		"panics with nil": {
			explanation: "which recover tells from no panic",
			handler:     func(context.Context, *mrtr.Call, tripIn) (tripOut, error) { panic(nil) }, //nolint
			want:        "The tool failed unexpectedly.", panics: true,
		},
		"ends its goroutine": {
			explanation: "the engine waits for a turn that only a deferred function can hand over",
			handler: func(context.Context, *mrtr.Call, tripIn) (tripOut, error) {
				runtime.Goexit()
				return tripOut{}, nil
			},
			want: "mrtr: the handler ended its goroutine with runtime.Goexit",
		},
		"ends its goroutine after asking": {
			explanation: "an error, not an empty result",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				first(ctx, c)
				runtime.Goexit()
				return tripOut{}, nil
			},
			want: "mrtr: the handler ended its goroutine with runtime.Goexit",
		},
		"locks its thread": {
			explanation: "turns are handed over by channels, which do not care",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				runtime.LockOSThread()
				first(ctx, c)
				return tripOut{Plan: "done"}, nil
			},
		},
		"asks from a goroutine of its own": {
			explanation: "the engine could not unwind it",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				asked := make(chan error)
				go func() {
					_, err := linear.Ask(ctx, c, text("first"))
					asked <- err
				}()
				return tripOut{}, <-asked
			},
			want: `mrtr: question "first" is asked from a goroutine that the handler started: ask from the handler's own`,
		},
		"has two children that ask": {
			explanation: "each is refused, neither is left waiting",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				var children sync.WaitGroup
				errs := make([]error, 2)
				for i := range errs {
					children.Go(func() { _, errs[i] = linear.Ask(ctx, c, text("first")) })
				}
				children.Wait()
				if errs[0] == nil {
					return tripOut{Plan: "asked"}, nil
				}
				return tripOut{}, errs[1]
			},
			want: `mrtr: question "first" is asked from a goroutine that the handler started: ask from the handler's own`,
		},
		"asks the same twice": {
			explanation: "two answers under one key could not be told apart",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				first(ctx, c)
				_, err := linear.Ask(ctx, c, text("first"))
				return tripOut{}, err
			},
			want: `mrtr: key "first" stands for two questions: each needs a key of its own`,
		},
		"asks the same twice, among others": {
			explanation: "wherever in the round it stands",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				first(ctx, c)
				return tripOut{}, linear.AskAll(ctx, c, text("second"), text("first"))
			},
			want: `mrtr: key "first" stands for two questions: each needs a key of its own`,
		},
		"asks inside an effect": {
			explanation: "a replay would run the effect's beginning again",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				_, err := mrtr.Once(ctx, c, "book", func(ctx context.Context, _ string) (string, error) {
					return linear.Ask(ctx, c, text("first"))
				})
				return tripOut{}, err
			},
			want: `mrtr: question "first" is asked while effect "book" is running: ask before it, or after`,
		},
		"panics in a deferred function": {
			explanation: "after an error of its own, the panic is what must be looked into",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				defer func() { panic("in defer") }()
				first(ctx, c)
				return tripOut{}, errors.New("an error")
			},
			want: "The tool failed unexpectedly.", panics: true,
		},
		"recovers from everything": {
			explanation: "a recover in somebody's helper must not take a suspension for a panic",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				defer func() {
					if v := recover(); v != nil {
						panic("recovered the engine's business")
					}
				}()
				first(ctx, c)
				return tripOut{Plan: "done"}, nil
			},
		},
		"asks in a deferred function": {
			explanation: "of a handler that goes on, that is as good a place as any",
			handler: func(ctx context.Context, c *mrtr.Call, _ tripIn) (out tripOut, _ error) {
				defer func() {
					if place, err := linear.Ask(ctx, c, text("second")); err == nil {
						out.Plan += place
					}
				}()
				first(ctx, c)
				return tripOut{Plan: "done "}, nil
			},
		},
	}
	require.NotEmpty(t, tests)
	eachLinear(t, func(t *testing.T, style func(handler) tripStyle) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
					if in.Who == "next" {
						return tripOut{Plan: "works"}, nil
					}
					return test.handler(ctx, c, in)
				}))
				last, _ := tool.run()
				if test.want == "" {
					require.NoError(t, last.err, test.explanation)
					require.Contains(t, last.plan, "done", test.explanation)
				} else {
					require.EqualError(t, last.err, test.want, test.explanation)
				}
				var panicked *mrtr.PanicError
				require.Equal(t, test.panics, errors.As(last.err, &panicked))
				if test.panics {
					require.Contains(t, string(panicked.Stack), "linear_run_test.go", "the stack leads to the handler")
				}
				require.Equal(t, "works", tool.round(t.Context(), "next", "", nil).plan)
			})
		}
	})
}

// A run that is unwound runs its deferred functions, and nothing else.
func TestLinearRunUnwindsWithoutEffects(t *testing.T) {
	resumed := make(chan struct{}, 1)
	endings := map[string]func(t *testing.T, rt *mrtr.Runtime, tool *tripTool, asked tripReply){
		"declined": func(t *testing.T, _ *mrtr.Runtime, tool *tripTool, asked tripReply) {
			ended(t, tool.round(t.Context(), "", asked.state, declining(asked)).err, mrtr.Declined)
		},
		"closed": func(t *testing.T, rt *mrtr.Runtime, _ *tripTool, _ tripReply) { require.NoError(t, rt.Close()) },
		"cancelled": func(t *testing.T, _ *mrtr.Runtime, tool *tripTool, asked tripReply) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-resumed
				cancel()
			}()
			require.ErrorIs(t, tool.round(ctx, "", asked.state, accepting(asked, "x")).err, context.Canceled)
		},
	}
	require.NotEmpty(t, endings)
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			var did deeds
			rt := newTripRuntime(t, nil)
			tool := newTrip(rt, linear.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				once(s, "before", did.do("before"))
				defer did.note("outermost")
				defer func() {
					_, err := linear.Ask(s.ctx, s.Call, text("too late"))
					did.note("an unwound question returned " + err.Error())
				}()
				defer func() {
					if _, err := mrtr.Once(s.ctx, s.Call, "after", did.do("after")); err != nil {
						did.note("refused")
					}
				}()
				ask(s, text("first"))
				resumed <- struct{}{}
				<-s.ctx.Done()
				_, err := linear.Ask(s.ctx, s.Call, text("second"))
				return tripOut{}, err
			})), "")
			asked := tool.begin()
			require.Equal(t, []string{"first"}, asked.asks)
			end(t, rt, tool, asked)
			soon(t, func() bool { return did.count("outermost") == 1 }, "deferred functions run to the first")
			require.Equal(t, 1, did.count("refused"), "an effect in a deferred function does not run")
			require.Zero(t, did.count("after"))
			require.Equal(t, 1, did.count("before"))
			soon(t, func() bool { return holdsNothing(rt) }, "nothing is left")
		})
	}
}

// A handler that is told to end and asks all the same does not come back from
// that; its round ends in an error that tells why, not in an empty result.
func TestLinearAsksAfterClose(t *testing.T) {
	eachLinear(t, func(t *testing.T, style linearStyle) {
		rt := newTripRuntime(t, nil)
		running := make(chan struct{})
		tool := newTrip(rt, style(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			close(running)
			<-ctx.Done()
			_, err := linear.Ask(ctx, c, text("first"))
			return tripOut{Plan: "came back"}, err
		}), "")
		reply := underWay(func() tripReply { return tool.begin() })
		<-running
		require.NoError(t, rt.Close())
		require.Equal(t, tripReply{err: &mrtr.Error{Reason: mrtr.ShuttingDown}}, <-reply)
	})
}

// A handler asks in the very moment in which its round's time is up. Either its question goes
// out, and the handler is there for the answer, or the call ends and undoes its effects.
func TestAHandlerAsksAsItsTimeIsUp(t *testing.T) {
	ends := map[bool]int{}
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			did, un := &deeds{}, &deeds{}
			rt := newTripRuntime(t, &mrtr.Options{State: &statecodec.Options{Ephemeral: true}, Durable: durable.In(store.NewMemory(nil), nil)})
			style := linear.Coroutine(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				ask(s, text("q"))
				once(s, "pay", did.do("pay"))
				time.Sleep(time.Second)
				_, err := linear.Ask(s.ctx, s.Call, text("r"))
				return tripOut{Plan: "done"}, err
			})).OnStop(mrtr.UndoOf("pay", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { un.note("pay"); return nil }))
			tool := &tripTool{handler: mrtr.Tool(rt, style, &mrtr.HandlerOptions{Within: time.Second})}
			last := tool.answer(tool.begin(), "yes")
			asked := last.err == nil
			if asked {
				last = tool.answer(last, "yes")
				require.Equal(t, "done", last.plan, last.err)
				require.Zero(t, un.count("pay"))
			} else {
				require.Equal(t, 1, un.count("pay"))
			}
			ends[asked]++
			require.Equal(t, 1, did.count("pay"))
		})
	}
	require.NotZero(t, ends[true])
	require.NotZero(t, ends[false])
	t.Logf("asked, or ended: %v", ends)
}

// A handler that was held in earlier rounds is judged by what it did in all of them: what it
// registered before its first question holds in its last round, and a mistake ends its call
// whatever it makes of that.
func TestARoundJudgesTheHandlerThatWasHeld(t *testing.T) {
	for name, style := range map[string]linearStyle{"coroutine": linear.Coroutine[tripIn, tripOut], "resumable": linear.Resumable[tripIn, tripOut]} {
		for _, mistaken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mistaken=%t", name, mistaken), func(t *testing.T) {
				completed := 0
				tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
					c.OnComplete(func(context.Context) { completed++ })
					for _, key := range []string{"q", "r"} {
						if _, err := linear.Ask(ctx, c, text(key)); err != nil {
							return tripOut{}, err
						}
					}
					if mistaken {
						_, _ = mrtr.Answer(c, mrtr.Elicit[string]("r", "In other words?"))
					}
					return tripOut{Plan: "done"}, nil
				}))
				last := tool.answer(tool.answer(tool.begin(), "x"), "y")
				if mistaken {
					require.Contains(t, misuse(t, last.err).Error(), `key "r"`)
					require.Zero(t, completed)
					return
				}
				require.Equal(t, tripReply{plan: "done"}, last)
				require.Equal(t, 1, completed)
			})
		}
	}
}

// Goroutines of a handler may use its call while it is held, and while it is given the next
// round.
func TestACallIsUsedWhileItsRoundsChange(t *testing.T) {
	ended := make(chan struct{})
	tool := serveTrip(t, linear.Coroutine(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		defer close(ended)
		goOn, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for last := 1; ; {
				select {
				case <-goOn:
					return
				default:
					round := c.Round()
					if round < last {
						panic("it went back")
					}
					last = round
				}
			}
		}()
		defer func() { close(goOn); <-stopped }()
		for _, key := range []string{"a", "b", "c", "d"} {
			if _, err := linear.Ask(ctx, c, text(key)); err != nil {
				return tripOut{}, err
			}
		}
		return tripOut{Plan: "done"}, nil
	}))
	reply := tool.begin()
	for reply.err == nil && reply.plan == "" {
		reply = tool.answer(reply, "x")
	}
	require.Equal(t, tripReply{plan: "done"}, reply)
	<-ended
}
