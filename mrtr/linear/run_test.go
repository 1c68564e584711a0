package linear_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// A handler that ends its own goroutine ends its call with an error that says so,
// and nothing else: the tool's next call works.
func TestLinearRunSurvivesItsHandler(t *testing.T) {
	type handler = linear.Func[kit.In, kit.Out]
	first := func(ctx context.Context, c *mrtr.Call) { _, _ = linear.Ask(ctx, c, kit.Text("first")) }
	tests := map[string]struct {
		explanation string
		handler     handler
		want        string // of the error; "" where the call completes
		panics      bool
	}{
		"panics before asking": {
			explanation: "a panic is the call's error, and does not reach the process",
			handler:     func(context.Context, *mrtr.Call, kit.In) (kit.Out, error) { panic("no fuel") },
			want:        "The tool failed unexpectedly.", panics: true,
		},
		"panics after asking": {
			explanation: "also on a goroutine that has been parked",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				first(ctx, c)
				panic(errors.New("no fuel"))
			},
			want: "The tool failed unexpectedly.", panics: true,
		},
		"panics with nil": {
			explanation: "which recover tells from no panic",
			handler:     func(context.Context, *mrtr.Call, kit.In) (kit.Out, error) { panic(nil) }, //nolint
			want:        "The tool failed unexpectedly.", panics: true,
		},
		"ends its goroutine": {
			explanation: "the engine waits for a turn that only a deferred function can hand over",
			handler: func(context.Context, *mrtr.Call, kit.In) (kit.Out, error) {
				runtime.Goexit()
				return kit.Out{}, nil
			},
			want: "mrtr: the handler ended its goroutine with runtime.Goexit",
		},
		"ends its goroutine after asking": {
			explanation: "an error, not an empty result",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				first(ctx, c)
				runtime.Goexit()
				return kit.Out{}, nil
			},
			want: "mrtr: the handler ended its goroutine with runtime.Goexit",
		},
		"locks its thread": {
			explanation: "turns are handed over by channels, which do not care",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				runtime.LockOSThread()
				first(ctx, c)
				return kit.Out{Plan: "done"}, nil
			},
		},
		"asks from a goroutine of its own": {
			explanation: "the engine could not unwind it",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				asked := make(chan error)
				go func() {
					_, err := linear.Ask(ctx, c, kit.Text("first"))
					asked <- err
				}()
				return kit.Out{}, <-asked
			},
			want: `mrtr: question "first" is asked from a goroutine that the handler started: ask from the handler's own`,
		},
		"has two children that ask": {
			explanation: "each is refused, neither is left waiting",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				var children sync.WaitGroup
				errs := make([]error, 2)
				for i := range errs {
					children.Go(func() { _, errs[i] = linear.Ask(ctx, c, kit.Text("first")) })
				}
				children.Wait()
				if errs[0] == nil {
					return kit.Out{Plan: "asked"}, nil
				}
				return kit.Out{}, errs[1]
			},
			want: `mrtr: question "first" is asked from a goroutine that the handler started: ask from the handler's own`,
		},
		"asks the same twice": {
			explanation: "two answers under one key could not be told apart",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				first(ctx, c)
				_, err := linear.Ask(ctx, c, kit.Text("first"))
				return kit.Out{}, err
			},
			want: `mrtr: key "first" stands for two questions: each needs a key of its own`,
		},
		"asks the same twice, among others": {
			explanation: "wherever in the round it stands",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				first(ctx, c)
				return kit.Out{}, linear.AskAll(ctx, c, kit.Text("second"), kit.Text("first"))
			},
			want: `mrtr: key "first" stands for two questions: each needs a key of its own`,
		},
		"asks inside an effect": {
			explanation: "a replay would run the effect's beginning again",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				_, err := mrtr.Once(ctx, c, "book", func(ctx context.Context, _ string) (string, error) {
					return linear.Ask(ctx, c, kit.Text("first"))
				})
				return kit.Out{}, err
			},
			want: `mrtr: question "first" is asked while effect "book" is running: ask before it, or after`,
		},
		"panics in a deferred function": {
			explanation: "after an error of its own, the panic is what must be looked into",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				defer func() { panic("in defer") }()
				first(ctx, c)
				return kit.Out{}, errors.New("an error")
			},
			want: "The tool failed unexpectedly.", panics: true,
		},
		"recovers from everything": {
			explanation: "a recover in somebody's helper must not take a suspension for a panic",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
				defer func() {
					if v := recover(); v != nil {
						panic("recovered the engine's business")
					}
				}()
				first(ctx, c)
				return kit.Out{Plan: "done"}, nil
			},
		},
		"asks in a deferred function": {
			explanation: "of a handler that goes on, that is as good a place as any",
			handler: func(ctx context.Context, c *mrtr.Call, _ kit.In) (out kit.Out, _ error) {
				defer func() {
					if place, err := linear.Ask(ctx, c, kit.Text("second")); err == nil {
						out.Plan += place
					}
				}()
				first(ctx, c)
				return kit.Out{Plan: "done "}, nil
			},
		},
	}
	require.NotEmpty(t, tests)
	kit.EachLinear(t, func(t *testing.T, style func(handler) kit.Style) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call, in kit.In) (kit.Out, error) {
					if in.Who == "next" {
						return kit.Out{Plan: "works"}, nil
					}
					return test.handler(ctx, c, in)
				}))
				last, _ := tool.Run()
				if test.want == "" {
					require.NoError(t, last.Err, test.explanation)
					require.Contains(t, last.Plan, "done", test.explanation)
				} else {
					require.EqualError(t, last.Err, test.want, test.explanation)
				}
				var panicked *mrtr.PanicError
				require.Equal(t, test.panics, errors.As(last.Err, &panicked))
				if test.panics {
					require.Contains(t, string(panicked.Stack), "run_test.go", "the stack leads to the handler")
				}
				require.Equal(t, "works", tool.Round(t.Context(), "next", "", nil).Plan)
			})
		}
	})
}

// A handler that is told to end and asks all the same does not come back from
// that; its round ends in an error that tells why, not in an empty result.
func TestLinearAsksAfterClose(t *testing.T) {
	kit.EachLinear(t, func(t *testing.T, style kit.LinearStyle) {
		rt := kit.TripRuntime(t, nil)
		running := make(chan struct{})
		tool := kit.NewTrip(rt, style(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
			close(running)
			<-ctx.Done()
			_, err := linear.Ask(ctx, c, kit.Text("first"))
			return kit.Out{Plan: "came back"}, err
		}), "")
		reply := kit.UnderWay(func() kit.Reply { return tool.Begin() })
		<-running
		require.NoError(t, rt.Close())
		require.Equal(t, kit.Reply{Err: &mrtr.Error{Reason: mrtr.ShuttingDown}}, <-reply)
	})
}
