package durable_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/linear"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
)

// The tool of the table asks for a seat, holds it, asks whether to pay, and
// pays: two questions with an effect behind each. The native handler has no
// Once, and so has both effects below its last guard.
var duplicateStyles = []struct {
	name  string
	style func(t *testing.T, did *kit.Deeds) kit.Style
}{
	{"native", func(_ *testing.T, did *kit.Deeds) kit.Style {
		return mrtr.Native(kit.Guarded(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			seat, pay := kit.Ask(s, kit.Text("seat")), kit.Ask(s, kit.Text("pay"))
			did.Note("held")
			did.Note("paid")
			return kit.Out{Plan: seat + " " + pay}, nil
		}))
	}},
	{"once", func(_ *testing.T, did *kit.Deeds) kit.Style { return mrtr.Native(kit.Guarded(holdingAndPaying(did))) }},
	{"steps", func(t *testing.T, did *kit.Deeds) kit.Style {
		var list kit.Steps
		seat := steps.Ask(&list, "seat", kit.Asks("seat", did))
		steps.Do(&list, "hold", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return did.Do("held")(ctx, idem) })
		pay := steps.Ask(&list, "pay", kit.Asks("pay", did))
		list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
			did.Note("paid")
			return kit.Out{Plan: seat.Of(at) + " " + pay.Of(at)}, nil
		})
		return kit.Build(t, &list)
	}},
	{"coroutine", func(_ *testing.T, did *kit.Deeds) kit.Style { return linear.Coroutine(holdAndPay(did)) }},
	{"journal", func(_ *testing.T, did *kit.Deeds) kit.Style { return linear.Journal(holdAndPay(did)) }},
	{"resumable", func(_ *testing.T, did *kit.Deeds) kit.Style { return linear.Resumable(holdAndPay(did)) }},
}

func holdAndPay(did *kit.Deeds) linear.Func[kit.In, kit.Out] {
	return kit.Linear(holdingAndPaying(did))
}

func holdingAndPaying(did *kit.Deeds) kit.StageFunc[kit.In, kit.Out] {
	return func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		seat := kit.Ask(s, kit.Text("seat"))
		kit.Once(s, "hold", did.Do("held"))
		pay := kit.Ask(s, kit.Text("pay"))
		kit.Once(s, "pay", did.Do("paid"))
		return kit.Out{Plan: seat + " " + pay}, nil
	}
}

// duplicateSituations are the columns: requests of a client beyond, or instead of,
// those of one call.
var duplicateSituations = []situation{
	{"the final retry, sent again", func(t *testing.T, tool *kit.Trip) string {
		pay := tool.Answer(tool.Begin(), "window")
		require.Equal(t, "window yes", tool.Answer(pay, "yes").Plan)
		return outcomeOf(t, tool.Answer(pay, "yes"), "window yes")
	}},
	{"round one, answered anew after the end", func(t *testing.T, tool *kit.Trip) string {
		seat := tool.Begin()
		require.Equal(t, "window yes", tool.Answer(tool.Answer(seat, "window"), "yes").Plan)
		pay := tool.Answer(seat, "aisle")
		if pay.Err != nil {
			return outcomeOf(t, pay, "")
		}
		require.Equal(t, []string{"pay"}, pay.Asks, "the question after the one that was answered, and no other")
		return outcomeOf(t, tool.Answer(pay, "yes"), "aisle yes")
	}},
	{"two final retries at once", func(t *testing.T, tool *kit.Trip) string {
		pay := tool.Answer(tool.Begin(), "window")
		outcomes := make([]kit.Reply, 2)
		var both sync.WaitGroup
		for i := range outcomes {
			both.Go(func() { outcomes[i] = tool.Answer(pay, "yes") })
		}
		both.Wait()
		words := []string{outcomeOf(t, outcomes[0], "window yes"), outcomeOf(t, outcomes[1], "window yes")}
		slices.Sort(words)
		return "one " + words[0] + ", one " + words[1]
	}},
	{"the answer to another question", func(t *testing.T, tool *kit.Trip) string {
		seat := tool.Begin()
		again := tool.Round(t.Context(), "", seat.State, mcp.InputResponseMap{"pay": kit.Accept("pay", "yes")})
		require.Equal(t, []string{"seat"}, again.Asks, "%v", again.Err)
		pay := tool.Answer(again, "window")
		again = tool.Round(t.Context(), "", pay.State, mcp.InputResponseMap{"seat": kit.Accept("seat", "aisle")})
		require.Equal(t, []string{"pay"}, again.Asks, "%v", again.Err)
		require.Equal(t, "window yes", tool.Answer(again, "yes").Plan)
		return "asked again"
	}},
}

func outcomeOf(t *testing.T, reply kit.Reply, plan string) string {
	if gone := new(mrtr.Error); errors.As(reply.Err, &gone) && gone.Reason == mrtr.FrameGone {
		return "refused"
	}
	require.NoError(t, reply.Err)
	require.Equal(t, plan, reply.Plan, "the answers of this chain, and of no other")
	return "completes"
}

// situation is a column of a table of duplicates.
type situation struct {
	name string
	play func(t *testing.T, tool *kit.Trip) (outcome string)
}

// tabled plays each situation in each style. The table of it is measured here, and stands in
// docs/what-can-happen-twice.md.
func tabled(t *testing.T, situations []situation, opts func() *mrtr.Options) {
	require.Len(t, duplicateStyles, 6)
	require.NotEmpty(t, situations)
	head := "| |"
	for _, situation := range situations {
		head += " " + situation.name + " |"
	}
	var rows kit.Rows
	for _, s := range duplicateStyles {
		cells := ""
		for _, situation := range situations {
			t.Run(s.name+", "+situation.name, func(t *testing.T) {
				var did kit.Deeds
				outcome := situation.play(t, kit.NewTrip(kit.TripRuntime(t, opts()), s.style(t, &did), ""))
				cells += fmt.Sprintf(" %s; %d/%d |", outcome, did.Count("held"), did.Count("paid"))
			})
		}
		rows.Add(s.name, cells)
	}
	if t.Failed() {
		return
	}
	table := head + "\n|---|" + strings.Repeat("---|", len(situations)) + "\n" + rows.By(", ")
	doc, err := os.ReadFile("../../docs/what-can-happen-twice.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(doc), "\n\n"+head)
	inDoc, _, _ := strings.Cut(head+rest, "\n\n")
	require.Equal(t, table, strings.TrimRight(inDoc, "\n")+"\n", "the table in docs/what-can-happen-twice.md must be what was measured:\n%s", table)
}

// What becomes of duplicates when nothing but the client remembers a call.
func TestDuplicatesWithoutAStore(t *testing.T) {
	tabled(t, duplicateSituations, func() *mrtr.Options { return nil })
}

// storedDuplicates are the columns of the table with a store: requests of a client
// beyond, or instead of, those of one call.
var storedDuplicates = []situation{
	{"every round, sent again", func(t *testing.T, tool *kit.Trip) string {
		seat := tool.Begin()
		pay := tool.Answer(seat, "window")
		end := tool.Answer(pay, "yes")
		require.Equal(t, kit.Reply{Plan: "window yes"}, end)
		for range 3 {
			require.Equal(t, pay, tool.Answer(seat, "window"), "the same questions with the same state")
			require.Equal(t, end, tool.Answer(pay, "yes"))
		}
		return "the same results"
	}},
	{"every round, answered otherwise", func(t *testing.T, tool *kit.Trip) string {
		seat := tool.Begin()
		pay := tool.Answer(seat, "window")
		require.Equal(t, "window yes", tool.Answer(pay, "yes").Plan)
		refusedOtherwise(t, tool.Answer(seat, "aisle"))
		refusedOtherwise(t, tool.Answer(pay, "no"))
		refusedOtherwise(t, tool.Round(t.Context(), "", pay.State, kit.Declining(pay)))
		require.Equal(t, "window yes", tool.Answer(pay, "yes").Plan, "a refusal changes nothing")
		return "refused"
	}},
	{"50 final retries at once", func(t *testing.T, tool *kit.Trip) string {
		pay := tool.Answer(tool.Begin(), "window")
		replies := make([]kit.Reply, 50)
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range replies {
			all.Go(func() {
				<-begin
				replies[i] = tool.Answer(pay, "yes")
			})
		}
		close(begin)
		all.Wait()
		for _, reply := range replies {
			require.Equal(t, kit.Reply{Plan: "window yes"}, reply)
		}
		return "the same result"
	}},
	{"declined, then accepted", func(t *testing.T, tool *kit.Trip) string {
		pay := tool.Answer(tool.Begin(), "window")
		declined := tool.Round(t.Context(), "", pay.State, kit.Declining(pay))
		kit.Ended(t, declined.Err, mrtr.Declined)
		refusedOtherwise(t, tool.Answer(pay, "yes"))
		again := tool.Round(t.Context(), "", pay.State, kit.Declining(pay))
		require.EqualError(t, again.Err, declined.Err.Error())
		return "declined; refused"
	}},
	{"the answer to another question", duplicateSituations[len(duplicateSituations)-1].play},
}

// refusedOtherwise requires the refusal of answers to a round that ran with others.
func refusedOtherwise(t *testing.T, reply kit.Reply) {
	t.Helper()
	wire := kit.Code(t, reply.Err, jsonrpc.CodeInvalidParams)
	require.Equal(t, "This round was answered before, and otherwise. Send those answers again for its result.", wire.Message)
}

// remembering are options for a runtime with a memory store of its own.
func remembering() *mrtr.Options {
	return &mrtr.Options{Durable: durable.In(store.NewMemory(nil), nil), State: &statecodec.Options{Ephemeral: true}}
}

// What becomes of duplicates with a store.
func TestDuplicatesWithAStore(t *testing.T) { tabled(t, storedDuplicates, remembering) }

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
