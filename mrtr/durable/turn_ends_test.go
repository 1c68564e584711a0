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
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/store"
)

// A round that was declined does not answer a cancel, nor the other way round.
func TestADeclineIsNoCancel(t *testing.T) {
	responses := map[mrtr.Reason]string{mrtr.Declined: "decline", mrtr.Cancelled: "cancel"}
	for first, action := range responses {
		tool := kit.NewTrip(kit.TripRuntime(t, withStore(store.NewMemory(nil))), linear.Journal(holdAndPay(&kit.Deeds{})), "")
		seat := tool.Begin()
		say := func(action string) error {
			return tool.Round(t.Context(), "", seat.State, mcp.InputResponseMap{"seat": &mcp.ElicitResult{Action: action}}).Err
		}
		kit.Ended(t, say(action), first)
		for _, other := range responses {
			if other != action {
				kit.Code(t, say(other), jsonrpc.CodeInvalidParams)
			}
		}
		kit.Ended(t, say(action), first, "as before")
	}
}

// A round that is refused since too many run whose clients have left is free afterwards, with
// the effects that an earlier run of it has had.
func TestARefusedRoundLeavesItsTurnAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		opts := withStore(store.NewMemory(nil), &durable.Options{MaxOrphans: 1})
		rt := kit.TripRuntime(t, opts)
		waits := kit.NewTrip(rt, waitsFor(goOn), "")
		var did kit.Deeds
		failed := false
		pays := &kit.Trip{Handler: mrtr.Tool(rt, linear.Journal(kit.Linear(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			kit.Ask(s, kit.Text("seat"))
			kit.Once(s, "pay", did.Do("paid"))
			if !failed {
				failed = true
				return kit.Out{}, soonBetter{errors.New("busy")}
			}
			return kit.Out{Plan: "paid"}, nil
		})), &mrtr.HandlerOptions{Audience: "pays"})}
		seat := pays.Begin()
		require.ErrorContains(t, pays.Answer(seat, "window").Err, "busy")

		asked := waits.Begin()
		ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		require.ErrorIs(t, waits.Round(ctx, "", asked.State, kit.Accepting(asked, "window")).Err, context.DeadlineExceeded)
		kit.Code(t, pays.Answer(seat, "window").Err, -31001)
		close(goOn)
		synctest.Wait()
		require.Equal(t, kit.Reply{Plan: "paid"}, pays.Answer(seat, "window"))
		require.Equal(t, 1, did.Count("paid"))
	})
}
