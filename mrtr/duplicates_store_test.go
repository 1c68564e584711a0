package mrtr_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// storedDuplicates are the columns of the table with a store: requests of a client
// beyond, or instead of, those of one call.
var storedDuplicates = []struct {
	name string
	play func(t *testing.T, tool *tripTool) (outcome string)
}{
	{"every round, sent again", func(t *testing.T, tool *tripTool) string {
		seat := tool.begin()
		pay := tool.answer(seat, "window")
		end := tool.answer(pay, "yes")
		require.Equal(t, tripReply{plan: "window yes"}, end)
		for range 3 {
			require.Equal(t, pay, tool.answer(seat, "window"), "the same questions with the same state")
			require.Equal(t, end, tool.answer(pay, "yes"))
		}
		return "the same results"
	}},
	{"every round, answered otherwise", func(t *testing.T, tool *tripTool) string {
		seat := tool.begin()
		pay := tool.answer(seat, "window")
		require.Equal(t, "window yes", tool.answer(pay, "yes").plan)
		refusedOtherwise(t, tool.answer(seat, "aisle"))
		refusedOtherwise(t, tool.answer(pay, "no"))
		refusedOtherwise(t, tool.round(t.Context(), "", pay.state, declining(pay)))
		require.Equal(t, "window yes", tool.answer(pay, "yes").plan, "a refusal changes nothing")
		return "refused"
	}},
	{"50 final retries at once", func(t *testing.T, tool *tripTool) string {
		pay := tool.answer(tool.begin(), "window")
		replies := make([]tripReply, 50)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range replies {
			all.Go(func() {
				<-begin
				replies[i] = tool.answer(pay, "yes")
			})
		}
		close(begin)
		all.Wait()
		for _, reply := range replies {
			require.Equal(t, tripReply{plan: "window yes"}, reply)
		}
		return "50 times the same result"
	}},
	{"declined, then accepted", func(t *testing.T, tool *tripTool) string {
		pay := tool.answer(tool.begin(), "window")
		declined := tool.round(t.Context(), "", pay.state, declining(pay))
		ended(t, declined.err, mrtr.Declined)
		refusedOtherwise(t, tool.answer(pay, "yes"))
		again := tool.round(t.Context(), "", pay.state, declining(pay))
		require.EqualError(t, again.err, declined.err.Error())
		return "declined; refused"
	}},
	{"the answer to another question", duplicateSituations[len(duplicateSituations)-1].play},
}

// refusedOtherwise requires the refusal of answers to a round that ran with others.
func refusedOtherwise(t *testing.T, reply tripReply) {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, reply.err, &wire)
	require.EqualValues(t, jsonrpc.CodeInvalidParams, wire.Code)
	require.Equal(t, "This round was answered before, and otherwise. Send those answers again for its result, or begin a new call.", wire.Message)
}

// remembering are options for a runtime with a memory store of its own.
func remembering() *mrtr.Options {
	return &mrtr.Options{Store: store.NewMemory(nil), State: &statecodec.Options{Ephemeral: true}}
}

// What becomes of duplicates with a store. The table is measured here, and stands in
// docs/with-a-store.md.
func TestDuplicatesWithAStore(t *testing.T) {
	require.NotEmpty(t, duplicateStyles)
	require.NotEmpty(t, storedDuplicates)
	var table strings.Builder
	table.WriteString("| |")
	for _, situation := range storedDuplicates {
		table.WriteString(" " + situation.name + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(storedDuplicates)) + "\n")
	for _, s := range duplicateStyles {
		table.WriteString("| " + s.name + " |")
		for _, situation := range storedDuplicates {
			t.Run(s.name+", "+situation.name, func(t *testing.T) {
				var did deeds
				tool := newTrip(newTripRuntime(t, remembering()), s.style(t, &did), "")
				outcome := situation.play(t, tool)
				fmt.Fprintf(&table, " %s; held %d, paid %d |", outcome, did.count("held"), did.count("paid"))
			})
		}
		table.WriteString("\n")
	}
	if t.Failed() {
		return
	}
	t.Logf("\n%s", table.String())
	doc, err := os.ReadFile("../docs/with-a-store.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(doc), "\n\n| | every round")
	inDoc, _, _ := strings.Cut("| | every round"+rest, "\n\n")
	require.Equal(t, table.String(), strings.TrimRight(inDoc, "\n")+"\n", "the table in docs/with-a-store.md must be what was measured:\n%s", table.String())
}

// A duplicate is told to come again, and runs nothing, while the first one is running.
func TestADuplicateOfARunningRoundComesAgain(t *testing.T) {
	opts := remembering()
	opts.Remember = &mrtr.RememberOptions{Wait: 1}
	running, goOn := make(chan struct{}), make(chan struct{})
	entered := 0
	tool := newTrip(newTripRuntime(t, opts), mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
		seat, ok := mrtr.Answer(c, text("seat"))
		if !ok {
			return mrtr.Need(text("seat")), tripOut{}, nil
		}
		entered++
		close(running)
		<-goOn
		return nil, tripOut{Plan: seat}, nil
	}), "")
	seat := tool.begin()
	first := make(chan tripReply)
	go func() { first <- tool.answer(seat, "window") }()
	<-running
	retryable(t, tool.answer(seat, "window").err, "in_flight")
	close(goOn)
	require.Equal(t, tripReply{plan: "window"}, <-first)
	require.Equal(t, tripReply{plan: "window"}, tool.answer(seat, "window"))
	require.Equal(t, 1, entered)
}

// retryable requires a protocol error that says to send the same request again.
func retryable(t *testing.T, err error, reason string) {
	t.Helper()
	var wire *jsonrpc.Error
	require.ErrorAs(t, err, &wire)
	_, bare := err.(*jsonrpc.Error)
	require.True(t, bare, "an error result would make a model begin another call")
	require.EqualValues(t, -31001, wire.Code)
	require.JSONEq(t, `{"reason":"`+reason+`","retryable":true}`, string(wire.Data))
}

// The same answer may reach another instance before it reaches the one that holds the
// frame. Both requests get the result; where the owner never gets it, the other says
// that the frame is gone.
func TestAHeldRoundIsLeftToItsOwner(t *testing.T) {
	for _, ownerAnswers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			rounds, key := shared{store.NewMemory(nil)}, keys(1)
			var did deeds
			serve := func() *tripTool {
				rt, err := mrtr.New(&mrtr.Options{Store: rounds, State: &statecodec.Options{Keys: key}})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, rt.Close()) })
				return newTrip(rt, mrtr.Coroutine(holdAndPay(&did)), "")
			}
			owner, other := serve(), serve()
			asked := owner.answer(owner.begin(), "window")
			require.NoError(t, asked.err)
			replies := make(chan tripReply, 1)
			go func() { replies <- other.answer(asked, "yes") }()
			time.Sleep(100 * time.Millisecond)
			if !ownerAnswers {
				ended(t, (<-replies).err, mrtr.FrameGone)
				require.Zero(t, did.count("paid"))
				return
			}
			first := owner.answer(asked, "yes")
			require.NoError(t, first.err)
			require.Equal(t, first, <-replies)
			require.Equal(t, 1, did.count("paid"))
		})
	}
}
