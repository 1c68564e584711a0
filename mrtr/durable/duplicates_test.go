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
	style func(t *testing.T, did *deeds) tripStyle
}{
	{"native", func(_ *testing.T, did *deeds) tripStyle {
		return mrtr.Native(guardedOf(func(s *stage, _ tripIn) (tripOut, error) {
			seat, pay := ask(s, text("seat")), ask(s, text("pay"))
			did.note("held")
			did.note("paid")
			return tripOut{Plan: seat + " " + pay}, nil
		}))
	}},
	{"once", func(_ *testing.T, did *deeds) tripStyle { return mrtr.Native(guardedOf(holdingAndPaying(did))) }},
	{"steps", func(t *testing.T, did *deeds) tripStyle {
		var list tripSteps
		seat := steps.Ask(&list, "seat", asks("seat", did))
		steps.Do(&list, "hold", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do("held")(ctx, idem) })
		pay := steps.Ask(&list, "pay", asks("pay", did))
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
			did.note("paid")
			return tripOut{Plan: seat.Of(at) + " " + pay.Of(at)}, nil
		})
		return mustBuild(t, &list)
	}},
	{"coroutine", func(_ *testing.T, did *deeds) tripStyle { return linear.Coroutine(holdAndPay(did)) }},
	{"journal", func(_ *testing.T, did *deeds) tripStyle { return linear.Journal(holdAndPay(did)) }},
	{"resumable", func(_ *testing.T, did *deeds) tripStyle { return linear.Resumable(holdAndPay(did)) }},
}

func holdAndPay(did *deeds) linear.Func[tripIn, tripOut] { return linearOf(holdingAndPaying(did)) }

func holdingAndPaying(did *deeds) stageFunc[tripIn, tripOut] {
	return func(s *stage, _ tripIn) (tripOut, error) {
		seat := ask(s, text("seat"))
		once(s, "hold", did.do("held"))
		pay := ask(s, text("pay"))
		once(s, "pay", did.do("paid"))
		return tripOut{Plan: seat + " " + pay}, nil
	}
}

// duplicateSituations are the columns: requests of a client beyond, or instead of,
// those of one call.
var duplicateSituations = []situation{
	{"the final retry, sent again", func(t *testing.T, tool *tripTool) string {
		pay := tool.answer(tool.begin(), "window")
		require.Equal(t, "window yes", tool.answer(pay, "yes").plan)
		return outcomeOf(t, tool.answer(pay, "yes"), "window yes")
	}},
	{"round one, answered anew after the end", func(t *testing.T, tool *tripTool) string {
		seat := tool.begin()
		require.Equal(t, "window yes", tool.answer(tool.answer(seat, "window"), "yes").plan)
		pay := tool.answer(seat, "aisle")
		if pay.err != nil {
			return outcomeOf(t, pay, "")
		}
		require.Equal(t, []string{"pay"}, pay.asks, "the question after the one that was answered, and no other")
		return outcomeOf(t, tool.answer(pay, "yes"), "aisle yes")
	}},
	{"two final retries at once", func(t *testing.T, tool *tripTool) string {
		pay := tool.answer(tool.begin(), "window")
		outcomes := make([]tripReply, 2)
		var both sync.WaitGroup
		for i := range outcomes {
			both.Go(func() { outcomes[i] = tool.answer(pay, "yes") })
		}
		both.Wait()
		words := []string{outcomeOf(t, outcomes[0], "window yes"), outcomeOf(t, outcomes[1], "window yes")}
		slices.Sort(words)
		return "one " + words[0] + ", one " + words[1]
	}},
	{"the answer to another question", func(t *testing.T, tool *tripTool) string {
		seat := tool.begin()
		again := tool.round(t.Context(), "", seat.state, mcp.InputResponseMap{"pay": accept("pay", "yes")})
		require.Equal(t, []string{"seat"}, again.asks, "%v", again.err)
		pay := tool.answer(again, "window")
		again = tool.round(t.Context(), "", pay.state, mcp.InputResponseMap{"seat": accept("seat", "aisle")})
		require.Equal(t, []string{"pay"}, again.asks, "%v", again.err)
		require.Equal(t, "window yes", tool.answer(again, "yes").plan)
		return "asked again"
	}},
}

func outcomeOf(t *testing.T, reply tripReply, plan string) string {
	if gone := new(mrtr.Error); errors.As(reply.err, &gone) && gone.Reason == mrtr.FrameGone {
		return "refused"
	}
	require.NoError(t, reply.err)
	require.Equal(t, plan, reply.plan, "the answers of this chain, and of no other")
	return "completes"
}

// situation is a column of a table of duplicates.
type situation struct {
	name string
	play func(t *testing.T, tool *tripTool) (outcome string)
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
	var rows joinedRows
	for _, s := range duplicateStyles {
		cells := ""
		for _, situation := range situations {
			t.Run(s.name+", "+situation.name, func(t *testing.T) {
				var did deeds
				outcome := situation.play(t, newTrip(newTripRuntime(t, opts()), s.style(t, &did), ""))
				cells += fmt.Sprintf(" %s; %d/%d |", outcome, did.count("held"), did.count("paid"))
			})
		}
		rows.add(s.name, cells)
	}
	if t.Failed() {
		return
	}
	table := head + "\n|---|" + strings.Repeat("---|", len(situations)) + "\n" + rows.by(", ")
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

// joinedRows are the rows of a table. Names whose cells are equal share one.
type joinedRows []struct {
	names []string
	cells string
}

func (r *joinedRows) add(name, cells string) {
	for i := range *r {
		if (*r)[i].cells == cells {
			(*r)[i].names = append((*r)[i].names, name)
			return
		}
	}
	*r = append(*r, struct {
		names []string
		cells string
	}{[]string{name}, cells})
}

func (r joinedRows) by(separator string) (rows string) {
	for _, row := range r {
		rows += "| " + strings.Join(row.names, separator) + " |" + row.cells + "\n"
	}
	return rows
}

// storedDuplicates are the columns of the table with a store: requests of a client
// beyond, or instead of, those of one call.
var storedDuplicates = []situation{
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
		return "the same result"
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
	wire := requireCode(t, reply.err, jsonrpc.CodeInvalidParams)
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
