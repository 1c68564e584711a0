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

func TestMain(m *testing.M) { kit.Main(m) }

// A handler that panics, ends its goroutine or asks where nobody may ask ends its call with an
// error that says so, and nothing else: the tool's next call works.
func TestLinearRunSurvivesItsHandler(t *testing.T) {
	const (
		panics  = "The tool failed unexpectedly."
		exits   = "mrtr: the handler ended its goroutine with runtime.Goexit"
		byChild = `mrtr: question "first" is asked from a goroutine that the handler started: ask from the handler's own`
		twice   = `mrtr: key "first" stands for two questions: each needs a key of its own`
	)
	first := func(ctx context.Context, c *mrtr.Call) (string, error) { return linear.Ask(ctx, c, kit.Text("first")) }
	then := func(end func(ctx context.Context, c *mrtr.Call) (string, error)) kit.Body {
		return func(ctx context.Context, c *mrtr.Call) (string, error) {
			_, _ = first(ctx, c)
			return end(ctx, c)
		}
	}
	goexit := func(context.Context, *mrtr.Call) (string, error) { runtime.Goexit(); return "", nil }
	tests := map[string]struct {
		body kit.Body
		want string // of the error; "" where the call completes
	}{
		"panics before asking":            {func(context.Context, *mrtr.Call) (string, error) { panic("no fuel") }, panics},
		"panics after asking":             {then(func(context.Context, *mrtr.Call) (string, error) { panic(errors.New("no fuel")) }), panics},
		"panics with nil":                 {func(context.Context, *mrtr.Call) (string, error) { panic(nil) }, panics}, //nolint
		"ends its goroutine":              {goexit, exits},
		"ends its goroutine after asking": {then(goexit), exits},
		"locks its thread": {func(ctx context.Context, c *mrtr.Call) (string, error) {
			runtime.LockOSThread()
			_, err := first(ctx, c)
			return "done", err
		}, ""},
		"has two children that ask": {func(ctx context.Context, c *mrtr.Call) (string, error) {
			var children sync.WaitGroup
			errs := make([]error, 2)
			for i := range errs {
				children.Go(func() { _, errs[i] = first(ctx, c) })
			}
			children.Wait()
			require.Equal(t, errs[0], errs[1])
			return "", errs[0]
		}, byChild},
		"asks the same twice": {then(first), twice},
		"asks the same twice, among others": {then(func(ctx context.Context, c *mrtr.Call) (string, error) {
			return "", linear.AskAll(ctx, c, kit.Text("second"), kit.Text("first"))
		}), twice},
		"asks inside an effect": {func(ctx context.Context, c *mrtr.Call) (string, error) {
			return mrtr.Once(ctx, c, "book", func(ctx context.Context, _ string) (string, error) { return first(ctx, c) })
		}, `mrtr: question "first" is asked while effect "book" is running: ask before it, or after`},
		"panics in a deferred function": {func(ctx context.Context, c *mrtr.Call) (string, error) {
			defer func() { panic("in defer") }()
			_, _ = first(ctx, c)
			return "", errors.New("an error")
		}, panics},
		"recovers from everything": {func(ctx context.Context, c *mrtr.Call) (string, error) {
			defer func() {
				if v := recover(); v != nil {
					panic("recovered the engine's business")
				}
			}()
			_, err := first(ctx, c)
			return "done", err
		}, ""},
		"asks in a deferred function": {func(ctx context.Context, c *mrtr.Call) (plan string, _ error) {
			defer func() {
				second, _ := linear.Ask(ctx, c, kit.Text("second"))
				plan += second
			}()
			_, err := first(ctx, c)
			return "done ", err
		}, ""},
	}
	require.NotEmpty(t, tests)
	kit.EachLinear(t, func(t *testing.T, style kit.LinearStyle) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call, in kit.In) (kit.Out, error) {
					if in.Who == "next" {
						return kit.Out{Plan: "works"}, nil
					}
					plan, err := test.body(ctx, c)
					return kit.Out{Plan: plan}, err
				}))
				last, _ := tool.Run()
				if test.want == "" {
					require.NoError(t, last.Err)
					require.Contains(t, last.Plan, "done")
				} else {
					require.EqualError(t, last.Err, test.want)
				}
				if test.want == panics {
					require.Contains(t, string(kit.PanicOf(t, last.Err).Stack), "run_test.go", "the stack leads to the handler")
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
