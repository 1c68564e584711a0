package linear_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

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
