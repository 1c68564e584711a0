package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// eachStanding plays a call in every style, with and without a store. A resumable handler
// goes on at a tool of another instance, where it replays.
func eachStanding(t *testing.T, styles func(did *deeds) map[string]tripStyle, play func(t *testing.T, tool, then *tripTool, did *deeds, style string)) {
	names := styles(&deeds{})
	require.GreaterOrEqual(t, len(names), 3)
	for name := range names {
		for _, stored := range []bool{false, true} {
			var did deeds
			opts := &mrtr.Options{}
			if stored {
				opts.Durable = durable.In(shared{store.NewMemory(nil)}, nil)
			}
			style := styles(&did)[name]
			tool := newTrip(newTripRuntime(t, opts), style, "")
			then := tool
			if name == "resumable" {
				then = newTrip(newTripRuntime(t, opts), style, "")
			}
			t.Run(fmt.Sprint(name, ", stored: ", stored), func(t *testing.T) { play(t, tool, then, &did, name) })
		}
	}
}

func saying(yes bool, asked tripReply) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range asked.asks {
		action := "decline"
		if yes {
			action = "accept"
		}
		responses[key] = &mcp.ElicitResult{Action: action, Content: map[string]any{key: yes}}
		if key == "mail" && yes {
			responses[key] = accept(key, "x@example.com")
		}
	}
	return responses
}

// The user agreed to 10, was charged, and the price moved. No style asks for 12 and goes on
// to say that nothing was charged.
func TestLivePrice(t *testing.T) {
	price := 0
	shops := func(opts *mrtr.EffectOptions[string]) func(did *deeds) map[string]tripStyle {
		return func(did *deeds) map[string]tripStyle {
			pay := func() mrtr.Question[bool] { return mrtr.Confirm("pay", fmt.Sprintf("Pay %d?", price)) }
			refund := mrtr.UndoOf("charge", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { did.note("refunded"); return nil })
			styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
				if !ask(s, pay()) {
					return tripOut{Plan: "nothing was charged"}, nil
				}
				_, err := mrtr.Once(s.ctx, s.Call, "charge", did.do("charged"), opts)
				unless(err, "")
				mail := ask(s, text("mail"))
				did.note("sent") // bare, in the last round alone
				return tripOut{Plan: "charged, mail to " + mail}, nil
			})
			var list tripSteps
			agreed := steps.Ask(&list, "pay", func(context.Context, *tripAt) (mrtr.Question[bool], error) { return pay(), nil })
			steps.Do(&list, "charge", func(ctx context.Context, at *tripAt, idem string) (string, error) {
				if !agreed.Of(at) {
					return "", mrtr.ErrSkip
				}
				return did.do("charged")(ctx, idem)
			}, opts)
			mail := steps.Always(&list, text("mail"))
			list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
				return tripOut{Plan: "charged, mail to " + mail.Of(at)}, nil
			})
			styles["steps"] = mustBuild(t, &list)
			for name, style := range styles {
				styles[name] = style.OnStop(refund)
			}
			return styles
		}
	}
	charge := func(t *testing.T, tool *tripTool) (mailed tripReply) {
		price = 10
		asked := tool.begin()
		mailed = tool.round(t.Context(), "", asked.state, saying(true, asked))
		require.Equal(t, []string{"mail"}, mailed.asks, "%v", mailed.err)
		return mailed
	}
	eachStanding(t, shops(nil), func(t *testing.T, tool, then *tripTool, did *deeds, style string) {
		mailed := charge(t, tool)
		price = 12
		if style == "resumable" { // else its frame goes on, with the code that it is in
			tool.ends(t, mailed)
		}
		last := then.round(t.Context(), "", mailed.state, saying(true, mailed))
		if style == "coroutine" { // its code does not run again, and asks for no other price
			require.Equal(t, tripReply{plan: "charged, mail to x@example.com"}, last)
			require.Zero(t, did.count("refunded"))
			return
		}
		require.Nil(t, last.asks)
		diverged := ended(t, last.err, mrtr.Diverged)
		require.Equal(t, `question "pay" is not worded as it was`, diverged.Detail)
		require.Equal(t, []string{"charge"}, diverged.Undone)
		require.Equal(t, []int{1, 1}, []int{did.count("charged"), did.count("refunded")})
		require.Zero(t, did.count("sent"), "the way to OnStop ends where the call stood")
	})
	t.Run("whatever the answers", func(t *testing.T) {
		eachStanding(t, shops(&mrtr.EffectOptions[string]{AnyAnswers: true}), func(t *testing.T, tool, _ *tripTool, did *deeds, style string) {
			if style != "native" { // the others look at the question in a replay alone, or never again
				return
			}
			mailed := charge(t, tool)
			price = 12
			again := tool.round(t.Context(), "", mailed.state, saying(true, mailed))
			require.Equal(t, []string{"pay"}, again.asks, "%v", again.err)
			last := tool.round(t.Context(), "", again.state, saying(true, again))
			for last.asks != nil {
				last = tool.round(t.Context(), "", last.state, saying(true, last))
			}
			require.Equal(t, tripReply{plan: "charged, mail to x@example.com"}, last)
			require.Equal(t, []int{1, 0}, []int{did.count("charged"), did.count("refunded")})
		})
	})
}

// The seat that is held is that of another answer: the user was asked again and answered
// otherwise, or a limit moved so that a question stands above the effect now, or that the
// handler ends above it.
func TestStaleHold(t *testing.T) {
	limit := 0
	seats := func(did *deeds) map[string]tripStyle {
		styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
			seat := ask(s, text("seat"))
			if limit == 1 && ask(s, text("sure")) != "yes" {
				return tripOut{Plan: "no seat is held"}, nil
			}
			if limit == 2 {
				return tripOut{Plan: "no seat is held"}, nil
			}
			held, err := mrtr.Once(s.ctx, s.Call, "hold", func(context.Context, string) (string, error) {
				did.note("held")
				return seat, nil
			})
			unless(err, "")
			if more := ask(s, text("more")); more == "another" && s.guarded && s.Round() == 3 {
				panic(cut{need: mrtr.Need(text("seat"))})
			}
			return tripOut{Plan: held}, nil
		})
		delete(styles, "coroutine") // it goes on where it is
		var list tripSteps
		seat := steps.Always(&list, text("seat"))
		steps.Ask(&list, "sure", func(context.Context, *tripAt) (mrtr.Question[bool], error) {
			if limit == 0 {
				return mrtr.Known(true), nil
			}
			return mrtr.Confirm("sure", "Sure?"), nil
		})
		hold := steps.Do(&list, "hold", func(_ context.Context, at *tripAt, _ string) (string, error) {
			did.note("held")
			return seat.Of(at), nil
		})
		steps.Always(&list, text("more"))
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) { return tripOut{Plan: hold.Of(at)}, nil })
		styles["steps"] = mustBuild(t, &list)
		release := mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { did.note("released"); return nil })
		for name, style := range styles {
			styles[name] = style.OnStop(release)
		}
		return styles
	}
	for name, test := range map[string]struct {
		limit  int
		answer string // to "more"
		seat   string // where it is asked again
		native string // the detail of Diverged, "" where the call completes
		others string
	}{
		"nothing changed":            {0, "no", "", "", ""},
		"the same seat again":        {0, "another", "1A", "", ""},
		"another seat":               {0, "another", "2B", `question "seat" is answered otherwise than before`, ""},
		"a limit asks above it":      {1, "no", "", `effect "hold" is no longer run. Add AnyAnswers to it if it stands whatever the answers are`, `question "sure" is asked where "more" was`},
		"a limit ends the way to it": {2, "no", "", `effect "hold" is no longer run. Add AnyAnswers to it if it stands whatever the answers are`, `question "more" is no longer asked`},
	} {
		t.Run(name, func(t *testing.T) {
			eachStanding(t, seats, func(t *testing.T, tool, then *tripTool, did *deeds, style string) {
				limit = 0
				more := tool.answer(tool.begin(), "1A")
				require.Equal(t, []string{"more"}, more.asks, "%v", more.err)
				limit = test.limit
				if style == "resumable" {
					tool.ends(t, more)
				}
				last := then.answer(more, test.answer)
				if style == "native" && test.seat != "" {
					require.Equal(t, []string{"seat"}, last.asks, "%v", last.err)
					last = tool.answer(last, test.seat)
				}
				want := test.others
				if style == "native" {
					want = test.native
				}
				if style == "steps" { // a value of an earlier round stays
					want = ""
				}
				require.Equal(t, 1, did.count("held"))
				if want == "" {
					require.Equal(t, tripReply{plan: "1A"}, last)
					require.Zero(t, did.count("released"))
					return
				}
				diverged := ended(t, last.err, mrtr.Diverged)
				require.Equal(t, want, diverged.Detail)
				require.Equal(t, []string{"hold"}, diverged.Undone)
				require.Equal(t, 1, did.count("released"))
			})
		})
	}
}

// A question below an effect may change as it likes, and answers that come later change
// nothing about it.
func TestAnEffectStandsOnTheAnswersAboveIt(t *testing.T) {
	words := "More?"
	eachStanding(t, func(did *deeds) map[string]tripStyle {
		styles := map[string]tripStyle{}
		for _, name := range []string{"asked in turn", "asked again", "read at the top"} {
			styles[name] = mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ tripIn) (*mrtr.IncompleteResult, tripOut, error) {
				more := mrtr.Confirm("more", words)
				seat, ok := mrtr.Answer(c, text("seat"))
				var yes, answered bool
				if name == "read at the top" {
					yes, answered = mrtr.Answer(c, more)
				}
				if !ok {
					return mrtr.Need(text("seat")), tripOut{}, nil
				}
				held, err := mrtr.Once(ctx, c, "hold", did.do(seat))
				if err != nil {
					return nil, tripOut{}, err
				}
				if name != "read at the top" {
					yes, answered = mrtr.Answer(c, more)
				}
				if !answered {
					return mrtr.Need(more), tripOut{}, nil
				}
				if name == "asked again" && !yes {
					return mrtr.Need(more), tripOut{}, nil
				}
				if _, ok := mrtr.Answer(c, text("mail")); !ok {
					return mrtr.Need(text("mail")), tripOut{}, nil
				}
				return nil, tripOut{Plan: held}, nil
			})
		}
		return styles
	}, func(t *testing.T, tool, _ *tripTool, did *deeds, style string) {
		words = "More?"
		more := tool.answer(tool.begin(), "1A")
		require.Equal(t, []string{"more"}, more.asks)
		if style == "asked again" {
			more = tool.round(t.Context(), "", more.state, saying(false, more))
			require.Equal(t, []string{"more"}, more.asks)
		}
		mail := tool.round(t.Context(), "", more.state, saying(true, more))
		require.Equal(t, []string{"mail"}, mail.asks)
		words = "Any more?"
		again := tool.round(t.Context(), "", mail.state, saying(true, mail))
		require.Equal(t, []string{"more"}, again.asks, "%v", again.err)
		last := tool.round(t.Context(), "", again.state, saying(true, again))
		require.Equal(t, tripReply{plan: "1A"}, last)
		require.Equal(t, 1, did.count("1A"))
	})
}

// After a deployment a call goes back past an effect that stands whatever the answers, and
// not past another.
func TestADeploymentGoesBackPastAnEffectForAnyAnswers(t *testing.T) {
	for _, free := range []bool{true, false} {
		words := "Which seat?"
		var did deeds
		opts := &mrtr.EffectOptions[string]{AnyAnswers: free}
		styles := everyStyle(func(s *stage, _ tripIn) (tripOut, error) {
			seat := ask(s, mrtr.Elicit[string]("seat", words))
			_, err := mrtr.Once(s.ctx, s.Call, "page", did.do("counted"), opts)
			unless(err, "")
			return tripOut{Plan: seat + ask(s, text("more"))}, nil
		})
		delete(styles, "coroutine")
		delete(styles, "native") // whose answers count for a question in other words
		var list tripSteps
		seat := steps.Ask(&list, "seat", func(context.Context, *tripAt) (mrtr.Question[string], error) {
			return mrtr.Elicit[string]("seat", words), nil
		})
		steps.Do(&list, "page", func(ctx context.Context, _ *tripAt, idem string) (string, error) { return did.do("counted")(ctx, idem) }, opts)
		more := steps.Always(&list, text("more"))
		list.End(func(_ context.Context, at *tripAt) (tripOut, error) {
			return tripOut{Plan: seat.Of(at) + more.Of(at)}, nil
		})
		styles["steps"] = mustBuild(t, &list)
		for name, style := range styles {
			t.Run(fmt.Sprintf("%s/free=%t", name, free), func(t *testing.T) {
				did = deeds{}
				words = "Which seat?"
				asked := newTrip(newTripRuntime(t, nil), style, "v1")
				next := asked.ends(t, asked.answer(asked.begin(), "1A"))
				require.Equal(t, []string{"more"}, next.asks)
				words = "Which of the seats?"
				deployed := newTrip(newTripRuntime(t, nil), style, "v2")
				last := deployed.answer(next, "no")
				if !free {
					require.Equal(t, []string{"page"}, ended(t, last.err, mrtr.Diverged).Applied)
					return
				}
				require.Equal(t, []string{"seat"}, last.asks, "%v", last.err)
				last = deployed.answer(deployed.answer(last, "2B"), "yes")
				require.Equal(t, tripReply{plan: "2Byes"}, last)
				require.Equal(t, 1, did.count("counted"))
			})
		}
	}
}
