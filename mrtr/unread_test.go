package mrtr_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// A guard that reads under another key than it asks never finds its answer. The call
// ends when the answer has come, not after nine rounds of the same question.
func TestAGuardThatReadsAnotherKeyIsFoundOut(t *testing.T) {
	type guards = func(c *mrtr.Call) *mrtr.IncompleteResult
	read := func(c *mrtr.Call, key string) bool {
		_, ok := mrtr.Answer(c, text(key))
		return ok
	}
	tests := map[string]struct {
		guards guards
		rounds int
		want   string // of the error, "" where the call completes
	}{
		"another key": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "seet") {
				return mrtr.Need(text("seat"))
			}
			return nil
		}, 2, "seat"},
		"among others, of which one is read": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "who") {
				return mrtr.Need(text("who"), text("seat"))
			}
			if !read(c, "seet") {
				return mrtr.Need(text("seat"))
			}
			return nil
		}, 2, "seat"},
		"in a later round": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "who") {
				return mrtr.Need(text("who"))
			}
			if !read(c, "seet") {
				return mrtr.Need(text("seat"))
			}
			return nil
		}, 3, "seat"},
		"read, and asked anew": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "seat") || c.Round() < 4 {
				return mrtr.Need(text("seat"))
			}
			return nil
		}, 4, ""},
		"a whole form asked anew for one of its answers": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			if !read(c, "who") || c.Round() < 3 {
				return mrtr.Need(text("who"), text("seat"))
			}
			return nil
		}, 3, ""},
		"asked anew later": {func(c *mrtr.Call) *mrtr.IncompleteResult {
			switch c.Round() {
			case 1, 3:
				return mrtr.Need(text("seat"))
			case 2:
				return mrtr.Need(text("who"))
			}
			return nil
		}, 4, ""},
	}
	require.NotEmpty(t, tests)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			last, rounds := serveTrip(t, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
				return test.guards(c), tripOut{}, nil
			})).run()
			require.Equal(t, test.rounds, rounds)
			if test.want == "" {
				require.NoError(t, last.err)
				return
			}
			var usage *mrtr.UsageError
			require.ErrorAs(t, last.err, &usage)
			require.EqualError(t, usage, `mrtr: question "`+test.want+`" was just answered and is asked again, but the handler did not read its answer: does it read another key?`)
		})
	}
}

// The same where nobody has to be asked, within one round.
func TestAGuardThatReadsAnotherKeyIsFoundOutWithinARound(t *testing.T) {
	entered := 0
	tool := serveTrip(t, mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		entered++
		if _, ok := mrtr.Answer(c, mrtr.Confirm("shure", "Sure?")); !ok {
			return mrtr.Need(mrtr.Confirm("sure", "Sure?")), tripOut{}, nil
		}
		return nil, tripOut{}, nil
	}))
	tool.mute = true
	var usage *mrtr.UsageError
	require.ErrorAs(t, tool.begin().err, &usage)
	require.Equal(t, 2, entered)
}
