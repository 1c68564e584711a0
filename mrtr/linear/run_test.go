package linear_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
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

// script is a handler written as a list, so that two versions of it can be
// laid side by side: "?key" asks, "?key=words" asks in other words, "?a+b" asks
// both at once, "!key" runs an effect.
func script(did *kit.Deeds, lines ...string) linear.Func[kit.In, kit.Out] {
	return kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		ctx, c := s.Ctx, s.Call
		plan := ""
		for _, line := range lines {
			if key := line[1:]; line[0] == '!' {
				v := kit.Once(s, key, did.Do(key))
				plan += v + " "
				continue
			}
			var questions []mrtr.Question[string]
			var all []mrtr.AnyQuestion
			for _, key := range splitKeys(line[1:]) {
				q := kit.Text(key[0])
				if len(key) > 1 {
					q = mrtr.Elicit[string](key[0], key[1])
				}
				questions, all = append(questions, q), append(all, q)
			}
			if err := linear.AskAll(ctx, c, all...); err != nil {
				return kit.Out{}, err
			}
			for _, q := range questions {
				v, _ := mrtr.Answer(c, q)
				plan += v + " "
			}
		}
		return kit.Out{Plan: plan}, nil
	})
}

// A deployment in the middle of a call: version 1 sealed the state, version 2
// gets the answers. Where the two would not have come to the same, the call
// ends with what changed, and nothing was done twice or in the past.
func TestJournalNoticesAChangedHandler(t *testing.T) {
	before := []string{"!a", "?q", "!b", "?r", "?s", "!z"}
	tests := map[string]struct {
		after []string
		want  string // what changed; "" where the call goes on
		again bool   // the question that was answered across the deployment is asked again
	}{
		"unchanged":                    {after: before},
		"an effect behind it all":      {after: []string{"!a", "?q", "!b", "?r", "?s", "!z", "!new"}},
		"a question behind it all":     {after: []string{"!a", "?q", "!b", "?r", "?s", "!z", "?t"}},
		"an effect after a question":   {after: []string{"!a", "?q", "?r", "!b", "?s", "!z"}},
		"a question renamed":           {after: []string{"!a", "?Q", "!b", "?r", "?s", "!z"}, want: `question "Q" is asked where "q" was`},
		"a question reworded":          {after: []string{"!a", "?q=other words", "!b", "?r", "?s", "!z"}, want: `question "q" is not worded as it was`},
		"a later question reworded":    {after: []string{"!a", "?q", "!b", "?r=other words", "?s", "!z"}, again: true},
		"questions in another order":   {after: []string{"!a", "?r", "!b", "?q", "?s", "!z"}, want: `question "r" is asked where "q" was`},
		"a question removed":           {after: []string{"!a", "!b", "?r", "?s", "!z"}, want: `question "r" is asked where "q" was`},
		"questions removed to the end": {after: []string{"!a", "?q", "!b", "!z"}, want: `effect "z" is run where there was none`},
		"an early end":                 {after: []string{"!a", "?q", "!b"}, want: `question "r" is no longer asked`},
		"a question added before":      {after: []string{"!a", "?new", "?q", "!b", "?r", "?s", "!z"}, want: `question "new" is asked where "q" was`},
		"a question asked along":       {after: []string{"!a", "?q", "!b", "?r+new", "?s", "!z"}, want: `question "new" is asked along with others, where it was not`},
		"questions put together":       {after: []string{"!a", "?q", "!b", "?r+s", "!z"}, want: `question "s" is asked along with others, where it was not`},
		"an effect renamed":            {after: []string{"!A", "?q", "!b", "?r", "?s", "!z"}, want: `effect "A" is run where there was none`},
		"an effect added in the past":  {after: []string{"!a", "?q", "!b", "!new", "?r", "?s", "!z"}, want: `effect "new" is run where there was none`},
		"an effect removed":            {after: []string{"?q", "!b", "?r", "?s", "!z"}, want: `effect "a" is no longer run. Add AnyAnswers to it if it stands whatever the answers are`},
	}
	require.NotEmpty(t, tests)
	for engine, style := range kit.LinearStyles {
		if engine == "coroutine" {
			continue // which would not be here to notice
		}
		for name, test := range tests {
			t.Run(engine+"/"+name, func(t *testing.T) {
				var did kit.Deeds
				one := kit.NewTrip(kit.TripRuntime(t, nil), style(script(&did, before...)), "v1")
				two := kit.NewTrip(kit.TripRuntime(t, nil), style(script(&did, test.after...)), "v2")
				q := one.Begin()
				r := one.Ends(t, one.Answer(q, "x"))
				require.Equal(t, []string{"r"}, r.Asks)

				last := two.Answer(r, "y")
				if test.again {
					require.Equal(t, []string{"r"}, last.Asks, "%v", last.Err)
					last = two.Answer(last, "y")
				}
				if test.want == "" {
					require.Equal(t, []string{"s"}, last.Asks, "%v", last.Err)
					last = two.Answer(last, "z")
					require.NoError(t, last.Err)
					require.Equal(t, 1, did.Count("z"))
				} else {
					diverged := kit.Ended(t, last.Err, mrtr.Diverged)
					require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Detail: test.want, Replaced: true, Applied: []string{"a", "b"}}, diverged)
					require.EqualError(t, diverged, "The tool changed during this call: "+test.want+". \"a\", \"b\" were done: do not call the tool again without checking.")
					require.Zero(t, did.Count("z"))
					require.Zero(t, did.Count("new"))
					require.Zero(t, did.Count("A"))
				}
				require.Equal(t, 1, did.Count("a"))
				require.Equal(t, 1, did.Count("b"))
			})
		}
	}
}

// A handler that waits for an answer has nobody left who may act for it.
func TestJournalRefusesEffectsWhileItsHandlerWaits(t *testing.T) {
	kit.EachLinear(t, func(t *testing.T, style kit.LinearStyle) {
		var did kit.Deeds
		asked, refused := make(chan bool), make(chan error)
		tool := kit.ServeTrip(t, style(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
			go func() {
				<-asked
				_, err := mrtr.Once(ctx, c, "late", did.Do("late"))
				refused <- err
			}()
			_, err := linear.Ask(ctx, c, kit.Text("q"))
			return kit.Out{}, err
		}))
		require.NoError(t, tool.Begin().Err)
		close(asked)
		usage := kit.Misuse(t, <-refused)
		require.Contains(t, usage.Error(), `effect "late" does not run: its handler`)
		require.Zero(t, did.Count("late"))
	})
}

func TestJournalReportsAPanicInADeferredFunction(t *testing.T) {
	var panicked *mrtr.PanicError
	tool := kit.ServeTrip(t, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ kit.In) (kit.Out, error) {
		defer func() { panic("the door jams") }()
		_, err := linear.Ask(ctx, c, kit.Text("q"))
		return kit.Out{}, err
	}))
	require.ErrorAs(t, tool.Begin().Err, &panicked)
	require.Equal(t, "the door jams", panicked.Value)
}

// splitKeys reads "a+b=words" as a, and b with other words.
func splitKeys(line string) (keys [][]string) {
	for _, key := range strings.Split(line, "+") {
		keys = append(keys, strings.SplitN(key, "=", 2))
	}
	return keys
}
