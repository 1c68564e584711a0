package mrtr_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

func showReply[T any](r mrtr.Replied[T]) string {
	if r.Accepted() {
		return fmt.Sprint(r.Value)
	}
	return string(r.Reason)
}

// The outcome of a question is a value, in every style and in both eras.
func TestReplyTellsEveryOutcome(t *testing.T) {
	ask := func() mrtr.Question[mrtr.Replied[string]] {
		return mrtr.Reply(mrtr.Choose("q", "Which units?", mrtr.Choices("metric", "imperial")...))
	}
	for name, style := range typeStyles(ask) {
		for _, test := range []struct {
			explanation  string
			answer       wire.Answer
			capabilities wire.Capabilities
			want         mrtr.Replied[string]
		}{
			{"accepted", wire.Value("metric"), wire.Everything, mrtr.Replied[string]{Value: "metric"}},
			{"declined", wire.Decline, wire.Everything, mrtr.Replied[string]{Reason: mrtr.Declined}},
			{"cancelled", wire.Cancel, wire.Everything, mrtr.Replied[string]{Reason: mrtr.Cancelled}},
			{"cannot be asked", nil, wire.Nothing, mrtr.Replied[string]{Reason: mrtr.CannotBeAsked}},
		} {
			for _, version := range []string{wire.Modern, wire.Legacy} {
				t.Run(fmt.Sprintf("%s/%s/%s", name, test.explanation, version), func(t *testing.T) {
					rt, _ := newRuntime(t, nil)
					client := connect(t, serveStyle(rt, style), &wire.Options{Version: version, Capabilities: test.capabilities})
					said(t, call(t, client, wire.Answers{"q": test.answer}), fmt.Sprint(test.want))
				})
			}
		}
	}
}

func TestReplyOfOtherQuestions(t *testing.T) {
	say := func(q mrtr.Question[mrtr.Replied[bool]], answer wire.Answer) string {
		return showReply(roundTrip(t, q, answer))
	}
	sure := mrtr.Reply(mrtr.Confirm("q", "Really?"))
	require.Equal(t, "true", say(sure, wire.Value(true)))
	require.Equal(t, "false", say(sure, wire.Value(false)))
	require.Equal(t, "declined", say(sure, wire.Decline), "told apart from a no")

	visited := roundTrip(t, mrtr.Reply(visit2), wire.Cancel)
	require.Equal(t, mrtr.Cancelled, visited.Reason)
	require.True(t, roundTrip(t, mrtr.Reply(visit2), wire.Accept(nil)).Accepted())

	rt, _ := newRuntime(t, nil)
	known := call(t, connect(t, serveTool(rt, asking(mrtr.Reply(mrtr.Known(7)), showReply[int]), nil), nil), nil)
	said(t, known, "7")

	// A type that decodes itself is still judged before the handler is entered.
	rt, seen := newRuntime(t, nil)
	q := mrtr.Reply(mrtr.Elicit[airport]("q", "?"))
	out := call(t, connect(t, serveTool(rt, asking(q, showReply[airport]), nil), nil), wire.Answers{"q": wire.InTurn(wire.Value(canary), wire.Value("lis"))})
	said(t, out, "LIS")
	require.Equal(t, 2, seen.entries())

	require.ErrorContains(t, mrtr.Reply(mrtr.Elicit[func()]("q", "?")).Err(), "cannot be asked for")
	require.ErrorContains(t, mrtr.Optional(mrtr.Reply(units)).Err(), "goes on without an answer by itself")
	require.ErrorContains(t, mrtr.Reply(mrtr.Reply(units)).Err(), "tells its outcome by itself")
	require.ErrorContains(t, mrtr.Reply(units).Default(mrtr.Replied[string]{Value: "metric"}).Err(), "belongs to the question inside")
}
