package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

// script is a handler written as a list, so that two versions of it can be
// laid side by side: "?key" asks, "?key=words" asks in other words, "?a+b" asks
// both at once, "!key" runs an effect.
func script(did *deeds, lines ...string) linear.Func[tripIn, tripOut] {
	return linearOf(func(s *stage, _ tripIn) (tripOut, error) {
		ctx, c := s.ctx, s.Call
		plan := ""
		for _, line := range lines {
			if key := line[1:]; line[0] == '!' {
				v := once(s, key, did.do(key))
				plan += v + " "
				continue
			}
			var questions []mrtr.Question[string]
			var all []mrtr.AnyQuestion
			for _, key := range splitKeys(line[1:]) {
				q := text(key[0])
				if len(key) > 1 {
					q = mrtr.Elicit[string](key[0], key[1])
				}
				questions, all = append(questions, q), append(all, q)
			}
			if err := linear.AskAll(ctx, c, all...); err != nil {
				return tripOut{}, err
			}
			for _, q := range questions {
				v, _ := mrtr.Answer(c, q)
				plan += v + " "
			}
		}
		return tripOut{Plan: plan}, nil
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
	for engine, style := range linearStyles {
		if engine == "coroutine" {
			continue // which would not be here to notice
		}
		for name, test := range tests {
			t.Run(engine+"/"+name, func(t *testing.T) {
				var did deeds
				one := newTrip(newTripRuntime(t, nil), style(script(&did, before...)), "v1")
				two := newTrip(newTripRuntime(t, nil), style(script(&did, test.after...)), "v2")
				q := one.begin()
				r := one.ends(t, one.answer(q, "x"))
				require.Equal(t, []string{"r"}, r.asks)

				last := two.answer(r, "y")
				if test.again {
					require.Equal(t, []string{"r"}, last.asks, "%v", last.err)
					last = two.answer(last, "y")
				}
				if test.want == "" {
					require.Equal(t, []string{"s"}, last.asks, "%v", last.err)
					last = two.answer(last, "z")
					require.NoError(t, last.err)
					require.Equal(t, 1, did.count("z"))
				} else {
					diverged := ended(t, last.err, mrtr.Diverged)
					require.Equal(t, &mrtr.Error{Reason: mrtr.Diverged, Detail: test.want, Replaced: true, Applied: []string{"a", "b"}}, diverged)
					require.EqualError(t, diverged, "The tool changed during this call: "+test.want+". \"a\", \"b\" were done: do not call the tool again without checking.")
					require.Zero(t, did.count("z"))
					require.Zero(t, did.count("new"))
					require.Zero(t, did.count("A"))
				}
				require.Equal(t, 1, did.count("a"))
				require.Equal(t, 1, did.count("b"))
			})
		}
	}
}

// Effects inside effects, effects in loops, effects that fail and are tried
// again after a question: the replay takes the same way, and what succeeded is
// not done again.
func TestJournalReplaysEffects(t *testing.T) {
	eachLinear(t, func(t *testing.T, style linearStyle) {
		t.Run("nested", func(t *testing.T) {
			var did deeds
			tool := serveTrip(t, style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				ctx, c := s.ctx, s.Call
				plan, err := mrtr.Once(ctx, c, "outer", func(ctx context.Context, _ string) (string, error) {
					did.note("outer")
					inner, err := mrtr.Once(ctx, c, "inner", did.do("inner"))
					return "outer(" + inner + ")", err
				})
				if err != nil {
					return tripOut{}, err
				}
				for _, key := range []string{"q", "r"} {
					ask(s, text(key))
				}
				return tripOut{Plan: plan}, nil
			})))
			last, _ := tool.run()
			require.Equal(t, tripReply{plan: "outer(inner)"}, last)
			require.Equal(t, 1, did.count("outer"))
			require.Equal(t, 1, did.count("inner"))
		})
		t.Run("in a loop", func(t *testing.T) {
			var did deeds
			tool := serveTrip(t, style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				plan := ""
				for i := range 3 {
					effect, question := fmt.Sprintf("book-%d", i), fmt.Sprintf("more-%d", i)
					v := once(s, effect, did.do(effect))
					more := ask(s, text(question))
					plan += v + more
				}
				return tripOut{Plan: plan}, nil
			})))
			last, rounds := tool.run()
			require.NoError(t, last.err)
			require.Equal(t, 4, rounds)
			require.Equal(t, "book-0more-0book-1more-1book-2more-2", last.plan)
			for i := range 3 {
				require.Equal(t, 1, did.count(fmt.Sprintf("book-%d", i)))
			}
		})
		t.Run("failing, then tried again", func(t *testing.T) {
			var did deeds
			tool := serveTrip(t, style(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
				ctx, c := s.ctx, s.Call
				for try := 1; ; try++ {
					v, err := mrtr.Once(ctx, c, "book", func(ctx context.Context, _ string) (string, error) {
						if _, err := mrtr.Once(ctx, c, "reserve", did.do("reserve")); err != nil {
							return "", err
						}
						if n := did.note("book"); n < 3 {
							return "", fmt.Errorf("try %d failed", n)
						}
						return "booked", nil
					})
					if err == nil {
						return tripOut{Plan: v}, nil
					}
					if want := fmt.Sprintf("try %d failed", try); err.Error() != want {
						return tripOut{}, fmt.Errorf("got %w, want %s", err, want)
					}
					ask(s, text(fmt.Sprintf("again-%d", try)))
				}
			})))
			last, rounds := tool.run()
			require.NoError(t, last.err)
			require.Equal(t, 3, rounds)
			require.Equal(t, "booked", last.plan)
			require.Equal(t, 3, did.count("book"), "two failures, one success, none of them again in a replay")
			require.Equal(t, 1, did.count("reserve"), "what succeeded inside a failure is not done again")
		})
		t.Run("in a goroutine of the handler's", func(t *testing.T) {
			var did deeds
			tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
				errs := make(chan error, 2)
				for _, key := range []string{"left", "right"} {
					go func() {
						_, err := mrtr.Once(ctx, c, key, did.do(key))
						errs <- err
					}()
				}
				if err := errors.Join(<-errs, <-errs); err != nil {
					return tripOut{}, err
				}
				_, err := linear.Ask(ctx, c, text("q"))
				return tripOut{Plan: "done"}, err
			}))
			last, _ := tool.run()
			require.NoError(t, last.err)
			require.Equal(t, 1, did.count("left"))
			require.Equal(t, 1, did.count("right"))
		})
	})
}

// A handler that waits for an answer has nobody left who may act for it.
func TestJournalRefusesEffectsWhileItsHandlerWaits(t *testing.T) {
	eachLinear(t, func(t *testing.T, style linearStyle) {
		var did deeds
		asked, refused := make(chan bool), make(chan error)
		tool := serveTrip(t, style(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
			go func() {
				<-asked
				_, err := mrtr.Once(ctx, c, "late", did.do("late"))
				refused <- err
			}()
			_, err := linear.Ask(ctx, c, text("q"))
			return tripOut{}, err
		}))
		require.NoError(t, tool.begin().err)
		close(asked)
		usage := misuse(t, <-refused)
		require.Contains(t, usage.Error(), `effect "late" does not run: its handler`)
		require.Zero(t, did.count("late"))
	})
}

// Deferred functions of a handler that is unwound run in each round, and no effect
// of theirs does.
func TestJournalDeferredFunctionsCannotAct(t *testing.T) {
	var did deeds
	tool := serveTrip(t, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ tripIn) (out tripOut, _ error) {
		defer func() {
			v, err := mrtr.Once(ctx, c, "deferred", did.do("deferred"))
			did.note(fmt.Sprint(err == nil))
			out.Plan += v
		}()
		_, err := linear.Ask(ctx, c, text("q"))
		return tripOut{Plan: "done and "}, err
	}))
	asked := tool.begin()
	require.NoError(t, asked.err)
	require.Equal(t, 1, did.count("false"), "the round is not over before its deferred functions are")
	require.Equal(t, "done and deferred", tool.answer(asked, "x").plan)
	require.Equal(t, 1, did.count("true"))
	require.Equal(t, 1, did.count("deferred"), "once, on the way out of the handler that ended")
}

func TestJournalReportsAPanicInADeferredFunction(t *testing.T) {
	var panicked *mrtr.PanicError
	tool := serveTrip(t, linear.Journal(func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		defer func() { panic("the door jams") }()
		_, err := linear.Ask(ctx, c, text("q"))
		return tripOut{}, err
	}))
	require.ErrorAs(t, tool.begin().err, &panicked)
	require.Equal(t, "the door jams", panicked.Value)
}
