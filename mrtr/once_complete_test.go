package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// Functions registered for the end run at the end, once, and not at all when the
// call does not complete: a handler that is entered three times
// registers three times, and only the last counts.
func TestOnceOnComplete(t *testing.T) {
	var did deeds
	register := func(c *mrtr.Call) { c.OnComplete(func(context.Context) { did.note("completed") }) }
	styles := map[string]mrtr.Style[tripIn, tripOut]{
		"guarded": guardedTrip(func(_ context.Context, c *mrtr.Call) (string, error) {
			register(c)
			return "", nil
		}, "first", "second"),
	}
	for name, style := range linearStyles {
		styles[name] = style(func(ctx context.Context, c *mrtr.Call, in tripIn) (tripOut, error) {
			register(c)
			return script(&deeds{}, "?first", "?second")(ctx, c, in)
		})
	}
	var list mrtr.Steps[tripIn, tripOut]
	for _, key := range []string{"first", "second"} {
		mrtr.AskStep(&list, key, func(_ context.Context, at *mrtr.At[tripIn]) (mrtr.Question[string], error) {
			register(at.Call)
			return text(key), nil
		})
	}
	list.End(func(_ context.Context, at *mrtr.At[tripIn]) (tripOut, error) {
		register(at.Call)
		return tripOut{}, nil
	})
	steps, err := list.Build()
	require.NoError(t, err)
	styles["steps"] = steps
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			did = deeds{}
			tool := serveTrip(t, style)
			asked := tool.begin()
			require.Error(t, tool.round(t.Context(), "", asked.state, declining(asked)).err)
			require.Zero(t, did.count("completed"), "a decline completes nothing")
			asked = tool.answer(tool.begin(), "x")
			require.Equal(t, []string{"second"}, asked.asks)
			require.Zero(t, did.count("completed"), "nor does a question")
			require.NoError(t, tool.answer(asked, "y").err)
			require.Equal(t, 1, did.count("completed"))
		})
	}
}

// A handler that is entered twice in one round, because its question was
// answered by itself, has registered twice, and completes once.
func TestOnceOnCompleteWhenEnteredAgain(t *testing.T) {
	var did deeds
	sure := mrtr.Confirm("sure", "Sure?")
	register := func(c *mrtr.Call) {
		did.note("entered")
		c.OnComplete(func(context.Context) { did.note("completed") })
	}
	linear := func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		register(c)
		_, err := mrtr.Ask(ctx, c, sure)
		return tripOut{}, err
	}
	var list tripSteps
	mrtr.AskStep(&list, "sure", func(_ context.Context, at *tripAt) (mrtr.Question[bool], error) {
		register(at.Call)
		return sure, nil
	})
	list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
		register(at.Call)
		return tripOut{}, nil
	})
	styles := map[string]mrtr.Style[tripIn, tripOut]{
		"steps": mustBuild(t, &list), "journal": mrtr.Journal(linear), "coroutine": mrtr.Coroutine(linear), "resumable": mrtr.Resumable(linear),
	}
	for name, style := range styles {
		t.Run(name, func(t *testing.T) {
			did = deeds{}
			tool := serveTrip(t, style)
			tool.mute = true
			reply := tool.begin()
			require.NoError(t, reply.err)
			require.Nil(t, reply.asks)
			require.Equal(t, 1, did.count("completed"))
			if name == "steps" || name == "journal" {
				require.Equal(t, 2, did.count("entered"))
			}
		})
	}
}
