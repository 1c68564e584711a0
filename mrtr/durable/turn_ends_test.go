package durable_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/store"
)

// A round that was declined does not answer a cancel, nor the other way round.
func TestADeclineIsNoCancel(t *testing.T) {
	responses := map[mrtr.Reason]string{mrtr.Declined: "decline", mrtr.Cancelled: "cancel"}
	for first, action := range responses {
		tool := newTrip(newTripRuntime(t, withStore(store.NewMemory(nil))), linear.Journal(holdAndPay(&deeds{})), "")
		seat := tool.begin()
		say := func(action string) error {
			return tool.round(t.Context(), "", seat.state, mcp.InputResponseMap{"seat": &mcp.ElicitResult{Action: action}}).err
		}
		ended(t, say(action), first)
		for _, other := range responses {
			if other != action {
				requireCode(t, say(other), jsonrpc.CodeInvalidParams)
			}
		}
		ended(t, say(action), first, "as before")
	}
}

// A round that is refused since too many run whose clients have left is free afterwards, with
// the effects that an earlier run of it has had.
func TestARefusedRoundLeavesItsTurnAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		opts := withStore(store.NewMemory(nil), &durable.Options{MaxOrphans: 1})
		rt := newTripRuntime(t, opts)
		waits := newTrip(rt, waitsFor(goOn), "")
		var did deeds
		failed := false
		pays := &tripTool{handler: mrtr.Tool(rt, linear.Journal(linearOf(func(s *stage, _ tripIn) (tripOut, error) {
			ask(s, text("seat"))
			once(s, "pay", did.do("paid"))
			if !failed {
				failed = true
				return tripOut{}, soonBetter{errors.New("busy")}
			}
			return tripOut{Plan: "paid"}, nil
		})), &mrtr.HandlerOptions{Audience: "pays"})}
		seat := pays.begin()
		require.ErrorContains(t, pays.answer(seat, "window").err, "busy")

		asked := waits.begin()
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		require.ErrorIs(t, waits.round(ctx, "", asked.state, accepting(asked, "window")).err, context.DeadlineExceeded)
		requireCode(t, pays.answer(seat, "window").err, -31001)
		close(goOn)
		synctest.Wait()
		require.Equal(t, tripReply{plan: "paid"}, pays.answer(seat, "window"))
		require.Equal(t, 1, did.count("paid"))
	})
}
