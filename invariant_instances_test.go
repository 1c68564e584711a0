package sdk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// fresh is the hardest balancer: no two rounds of a call reach the same
// instance, and the instance before is gone by the next.
var fresh = setting{name: "a fresh instance each round", fresh: true}

// resumable is style H with the journal of style J to fall back to: the linear
// function of both, written out once more, for theirs is their own.
func resumable() subject {
	return subjectOf("resumable", between, func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
		return mrtr.Tool(rt, mrtr.Resumable(func(ctx context.Context, c *mrtr.Call, q options.Query) (options.Report, error) {
			which, err := options.WhichPlace(q.Location)
			if err != nil {
				return options.Report{}, err
			}
			place, err := mrtr.Ask(ctx, c, which)
			if err != nil {
				return options.Report{}, err
			}
			_, err = mrtr.Once(ctx, c, "audit", func(context.Context, string) (bool, error) {
				audit.Record(place)
				return true, nil
			})
			if err != nil {
				return options.Report{}, err
			}
			units, err := mrtr.Ask(ctx, c, options.Units)
			if err != nil {
				return options.Report{}, err
			}
			return options.NewReport(place, units), nil
		}), nil)
	})
}

// All but the coroutine go on anywhere, and what the client sees is, frame for
// frame, what it sees of one instance.
func TestInvariantAcrossInstances(t *testing.T) {
	anywhere := append(styles("native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "journal"), resumable())
	hold(t, anywhere, modernContracts(), fresh)
	hold(t, []subject{resumable()}, modernContracts(), setting{name: "one instance"})

	for _, c := range modernContracts() {
		one, err := play(t.Context(), styles("native")[0], c, setting{name: "one instance"})
		require.NoError(t, err)
		many, err := play(t.Context(), styles("native")[0], c, fresh)
		require.NoError(t, err)
		require.Equal(t, one.transcript, many.transcript, c.name)
	}
}

// The coroutine's frame is held by one instance. Where it would have to go on,
// the call ends and says what to do, and nothing happens twice; where nothing
// has to go on, because the first question got a no or none at all was asked,
// it keeps its contract.
func TestInvariantOfALostFrame(t *testing.T) {
	coroutine := styles("coroutine")[0]
	kept, gone := 0, 0
	for _, c := range modernContracts() {
		t.Run(c.name, func(t *testing.T) {
			if !c.resumes() {
				kept++
				hold(t, []subject{coroutine}, []contract{c}, fresh)
				return
			}
			gone++
			saw, err := play(t.Context(), coroutine, c, fresh)
			require.NoError(t, err)
			require.True(t, saw.last.IsError)
			require.Equal(t, "This call's frame is gone: it was held by a server that no longer has it. Call the tool again.", saw.last.Text)
			require.Empty(t, saw.last.Structured)
			require.Empty(t, saw.last.State)
			require.LessOrEqual(t, len(saw.effects), 1)
		})
	}
	require.NotZero(t, kept)
	require.NotZero(t, gone)
}

// resumes reports whether the tool has to go on below a question in this call,
// or its question has to be asked again: it was asked something and came to its
// end, or asked more than once.
func (c contract) resumes() bool {
	keys := map[string]bool{}
	for _, a := range c.asks {
		keys[a.key] = true
	}
	return len(c.asks) > 1 || len(keys) == 1 && !c.ends.isError
}
