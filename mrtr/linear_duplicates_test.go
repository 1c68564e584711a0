package mrtr_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
)

// The tool of the table asks for a seat, holds it, asks whether to pay, and
// pays: two questions with an effect behind each. The native handler has no
// Once, and so has both effects below its last guard.
var duplicateStyles = []struct {
	name  string
	style func(t *testing.T, did *deeds) mrtr.Style[tripIn, tripOut]
}{
	{"native", func(_ *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] {
		return mrtr.Native(func(_ context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			seat, ok := mrtr.Answer(c, text("seat"))
			if !ok {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			pay, ok := mrtr.Answer(c, text("pay"))
			if !ok {
				return mrtr.Need(text("pay")), tripOut{}, nil
			}
			did.note("held")
			did.note("paid")
			return nil, tripOut{Plan: seat + " " + pay}, nil
		})
	}},
	{"once", func(_ *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] {
		return mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
			seat, ok := mrtr.Answer(c, text("seat"))
			if !ok {
				return mrtr.Need(text("seat")), tripOut{}, nil
			}
			if _, err := mrtr.Once(ctx, c, "hold", did.do("held")); err != nil {
				return nil, tripOut{}, err
			}
			pay, ok := mrtr.Answer(c, text("pay"))
			if !ok {
				return mrtr.Need(text("pay")), tripOut{}, nil
			}
			_, err := mrtr.Once(ctx, c, "pay", did.do("paid"))
			return nil, tripOut{Plan: seat + " " + pay}, err
		})
	}},
	{"steps", func(t *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] {
		var list tripSteps
		seat := mrtr.AskStep(&list, "seat", asks("seat", did))
		mrtr.DoStep(&list, "hold", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do("held")(ctx, idem) })
		pay := mrtr.AskStep(&list, "pay", asks("pay", did))
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
			did.note("paid")
			return tripOut{Plan: seat.Of(at) + " " + pay.Of(at)}, nil
		})
		return mustBuild(t, &list)
	}},
	{"coroutine", func(_ *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] { return mrtr.Coroutine(holdAndPay(did)) }},
	{"journal", func(_ *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] { return mrtr.Journal(holdAndPay(did)) }},
	{"resumable", func(_ *testing.T, did *deeds) mrtr.Style[tripIn, tripOut] { return mrtr.Resumable(holdAndPay(did)) }},
}

func holdAndPay(did *deeds) mrtr.LinearFunc[tripIn, tripOut] {
	return func(ctx context.Context, c *mrtr.Call, _ tripIn) (tripOut, error) {
		seat, err := mrtr.Ask(ctx, c, text("seat"))
		if err != nil {
			return tripOut{}, err
		}
		if _, err := mrtr.Once(ctx, c, "hold", did.do("held")); err != nil {
			return tripOut{}, err
		}
		pay, err := mrtr.Ask(ctx, c, text("pay"))
		if err != nil {
			return tripOut{}, err
		}
		_, err = mrtr.Once(ctx, c, "pay", did.do("paid"))
		return tripOut{Plan: seat + " " + pay}, err
	}
}

// duplicateSituations are the columns: requests of a client beyond, or instead of,
// those of one call.
var duplicateSituations = []struct {
	name string
	play func(t *testing.T, tool *tripTool) (outcome string)
}{
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
		require.NoError(t, again.err)
		require.Equal(t, []string{"seat"}, again.asks)
		pay := tool.answer(again, "window")
		again = tool.round(t.Context(), "", pay.state, mcp.InputResponseMap{"seat": accept("seat", "aisle")})
		require.NoError(t, again.err)
		require.Equal(t, []string{"pay"}, again.asks)
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

// What becomes of duplicates when nothing but the client remembers a call. The
// table is measured here, and stands in docs/without-a-store.md.
func TestDuplicatesWithoutAStore(t *testing.T) {
	require.NotEmpty(t, duplicateStyles)
	require.NotEmpty(t, duplicateSituations)
	var table strings.Builder
	table.WriteString("| |")
	for _, situation := range duplicateSituations {
		table.WriteString(" " + situation.name + " |")
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(duplicateSituations)) + "\n")
	for _, s := range duplicateStyles {
		table.WriteString("| " + s.name + " |")
		for _, situation := range duplicateSituations {
			var did deeds
			outcome := situation.play(t, serveTrip(t, s.style(t, &did)))
			fmt.Fprintf(&table, " %s; held %d, paid %d |", outcome, did.count("held"), did.count("paid"))
		}
		table.WriteString("\n")
	}
	doc, err := os.ReadFile("../docs/without-a-store.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(doc), "\n\n| |")
	inDoc, _, _ := strings.Cut("| |"+rest, "\n\n")
	require.Equal(t, table.String(), strings.TrimRight(inDoc, "\n")+"\n", "the table in docs/without-a-store.md must be what was measured:\n%s", table.String())
}
