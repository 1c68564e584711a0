package mrtr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// Agents, logs and the boundary act on these answers, and clients see the texts.
func TestReasonsOfErrors(t *testing.T) {
	for _, test := range []struct {
		err             mrtr.Error
		typ             string
		expected, quiet bool
		text            string
	}{
		{mrtr.Error{Reason: mrtr.Declined, Key: "q"}, "declined", true, true, `Stopped: "q" was declined.`},
		{mrtr.Error{Reason: mrtr.Cancelled, Key: "q"}, "cancelled", true, true, `Stopped: "q" was cancelled.`},
		{mrtr.Error{Reason: mrtr.Unanswered, Key: "q"}, "unanswered", true, false, `Stopped: "q" was asked 4 times without a usable answer.`},
		{mrtr.Error{Reason: mrtr.CannotBeAsked, Key: "q", Detail: "roots"}, "client_cannot_be_asked", true, false, `This client cannot be asked for "q": it lacks roots.`},
		{mrtr.Error{Reason: mrtr.FrameGone}, "frame_gone", true, false, `This call's frame is gone: it was held by a server that no longer has it. What it has done is unknown: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.FrameGone, Applied: []string{"a", "b"}}, "frame_gone", true, false, `This call's frame is gone: it was held by a server that no longer has it. "a", "b" were done, and perhaps more: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.FrameGone, Applied: []string{"a"}, Unknown: []string{"b"}}, "frame_gone", true, false, `This call's frame is gone: it was held by a server that no longer has it. "a" was done; whether "b" was done is unknown: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.Diverged, Detail: "x"}, "diverged", true, false, `The tool changed during this call: x. Call the tool again.`},
		{mrtr.Error{Reason: mrtr.Diverged, Detail: "x", Applied: []string{"a"}}, "diverged", true, false, `The tool changed during this call: x. "a" was done: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.Diverged, Detail: "x", Unknown: []string{"b"}}, "diverged", true, false, `The tool changed during this call: x. Whether "b" was done is unknown: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.Busy, Detail: "7"}, "busy", true, false, `Too many calls are waiting for answers (limit 7). Try again later.`},
		{mrtr.Error{Reason: mrtr.Busy, Detail: "7", Applied: []string{"a"}}, "busy", true, false, `Too many calls are waiting for answers (limit 7). "a" was done: do not call the tool again without checking.`},
		{mrtr.Error{Reason: mrtr.LimitExceeded, Detail: "9 rounds"}, "limit_exceeded", false, false, `Stopped: more than 9 rounds.`},
		{mrtr.Error{Reason: mrtr.ShuttingDown}, "shutting_down", true, false, `Stopped: this server is shutting down. Call the tool again.`},
		{mrtr.Error{Reason: mrtr.ShuttingDown, Applied: []string{"a"}}, "shutting_down", true, false, `Stopped: this server is shutting down. "a" was done: do not call the tool again without checking.`},
	} {
		t.Run(test.text, func(t *testing.T) {
			require.Equal(t, test.typ, test.err.ToolErrorType())
			require.Equal(t, test.expected, test.err.ToolErrorExpected())
			require.Equal(t, test.quiet, test.err.ToolErrorQuiet())
			require.EqualError(t, &test.err, test.text)
		})
	}
}
