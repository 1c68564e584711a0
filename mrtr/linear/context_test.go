package linear_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
)

type roundKey struct{}

// A held handler's context goes with the round that runs: its values, and its
// end. Of the round before there is nothing left, its deadline least of all.
func TestLinearContextGoesWithTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type inner struct{}
		var handlerCtx context.Context
		tool := kit.ServeTrip(t, linear.Coroutine(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			handlerCtx = context.WithValue(s.Ctx, inner{}, "the handler's own")
			values := make([]any, 0, 3)
			for _, key := range []string{"first", "second", "third"} {
				values = append(values, s.Ctx.Value(roundKey{}))
				_, deadline := s.Ctx.Deadline()
				require.False(t, deadline)
				require.NoError(t, s.Ctx.Err())
				kit.Ask(s, kit.Text(key))
			}
			require.Equal(t, []any{1, 2, 3}, values)
			require.Equal(t, 4, s.Ctx.Value(roundKey{}))
			return kit.Out{Plan: handlerCtx.Value(inner{}).(string)}, nil
		})))
		var reply kit.Reply
		for n := 1; n <= 4; n++ {
			ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), roundKey{}, n), time.Second)
			reply = tool.Round(ctx, "", reply.State, kit.Accepting(reply, "x"))
			require.NoError(t, reply.Err)
			cancel()
			time.Sleep(time.Minute) // far beyond the deadline of the round
			if n < 4 {
				require.NoError(t, handlerCtx.Err(), "the context outlives round %d", n)
			}
		}
		require.Equal(t, "the handler's own", reply.Plan)
		synctest.Wait()
		require.ErrorIs(t, handlerCtx.Err(), context.Canceled, "the context ends with the handler")
	})
}

// The context of a linear handler tells why its call was cut off, as that of any other handler
// does. What a transport says there is for its own tests.
func TestALinearHandlerLearnsWhyItsCallEnds(t *testing.T) {
	kit.EachLinear(t, func(t *testing.T, style kit.LinearStyle) {
		gone := errors.New("the line was cut")
		ctx, cut := context.WithCancelCause(t.Context())
		var cause error
		tool := kit.ServeTrip(t, style(func(ctx context.Context, _ *mrtr.Call, _ kit.In) (kit.Out, error) {
			cut(gone)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return kit.Out{}, ctx.Err()
		}))
		require.Error(t, tool.Round(ctx, "", "", nil).Err)
		require.NoError(t, tool.Runtime.Close())
		require.Equal(t, gone, cause)
	})
}
