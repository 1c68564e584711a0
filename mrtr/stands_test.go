package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/store"
)

// eachStanding plays a call in every style, with and without a store. A resumable handler
// goes on at a tool of another instance, where it replays.
func eachStanding(t *testing.T, styles func(did *kit.Deeds) map[string]kit.Style, play func(t *testing.T, tool, then *kit.Trip, did *kit.Deeds, style string)) {
	names := styles(&kit.Deeds{})
	require.GreaterOrEqual(t, len(names), 3)
	for name := range names {
		for _, stored := range []bool{false, true} {
			var did kit.Deeds
			opts := &mrtr.Options{}
			if stored {
				opts.Durable = durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)
			}
			style := styles(&did)[name]
			tool := kit.NewTrip(kit.TripRuntime(t, opts), style, "")
			then := tool
			if name == "resumable" {
				then = kit.NewTrip(kit.TripRuntime(t, opts), style, "")
			}
			t.Run(fmt.Sprint(name, ", stored: ", stored), func(t *testing.T) { play(t, tool, then, &did, name) })
		}
	}
}

func saying(yes bool, asked kit.Reply) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range asked.Asks {
		action := "decline"
		if yes {
			action = "accept"
		}
		responses[key] = &mcp.ElicitResult{Action: action, Content: map[string]any{key: yes}}
		if key == "mail" && yes {
			responses[key] = kit.Accept(key, "x@example.com")
		}
	}
	return responses
}

// The user agreed to 10, was charged, and the price moved. No style asks for 12 and goes on
// to say that nothing was charged.
func TestLivePrice(t *testing.T) {
	price := 0
	shops := func(opts *mrtr.EffectOptions[string]) func(did *kit.Deeds) map[string]kit.Style {
		return func(did *kit.Deeds) map[string]kit.Style {
			pay := func() mrtr.Question[bool] { return mrtr.Confirm("pay", fmt.Sprintf("Pay %d?", price)) }
			refund := mrtr.UndoOf("charge", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { did.Note("refunded"); return nil })
			styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
				if !kit.Ask(s, pay()) {
					return kit.Out{Plan: "nothing was charged"}, nil
				}
				_, err := mrtr.Once(s.Ctx, s.Call, "charge", did.Do("charged"), opts)
				kit.Unless(err, "")
				mail := kit.Ask(s, kit.Text("mail"))
				did.Note("sent") // bare, in the last round alone
				return kit.Out{Plan: "charged, mail to " + mail}, nil
			})
			var list kit.Steps
			agreed := steps.Ask(&list, "pay", func(context.Context, *kit.At) (mrtr.Question[bool], error) { return pay(), nil })
			steps.Do(&list, "charge", func(ctx context.Context, at *kit.At, idem string) (string, error) {
				if !agreed.Of(at) {
					return "", mrtr.ErrSkip
				}
				return did.Do("charged")(ctx, idem)
			}, opts)
			mail := steps.Always(&list, kit.Text("mail"))
			list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
				return kit.Out{Plan: "charged, mail to " + mail.Of(at)}, nil
			})
			styles["steps"] = kit.Build(t, &list)
			for name, style := range styles {
				styles[name] = style.OnStop(refund)
			}
			return styles
		}
	}
	charge := func(t *testing.T, tool *kit.Trip) (mailed kit.Reply) {
		price = 10
		asked := tool.Begin()
		mailed = tool.Round(t.Context(), "", asked.State, saying(true, asked))
		require.Equal(t, []string{"mail"}, mailed.Asks, "%v", mailed.Err)
		return mailed
	}
	eachStanding(t, shops(nil), func(t *testing.T, tool, then *kit.Trip, did *kit.Deeds, style string) {
		mailed := charge(t, tool)
		price = 12
		if style == "resumable" { // else its frame goes on, with the code that it is in
			tool.Ends(t, mailed)
		}
		last := then.Round(t.Context(), "", mailed.State, saying(true, mailed))
		if style == "coroutine" { // its code does not run again, and asks for no other price
			require.Equal(t, kit.Reply{Plan: "charged, mail to x@example.com"}, last)
			require.Zero(t, did.Count("refunded"))
			return
		}
		require.Nil(t, last.Asks)
		diverged := kit.Ended(t, last.Err, mrtr.Diverged)
		require.Equal(t, `question "pay" is not worded as it was`, diverged.Detail)
		require.Equal(t, []string{"charge"}, diverged.Undone)
		require.Equal(t, []int{1, 1}, []int{did.Count("charged"), did.Count("refunded")})
		require.Zero(t, did.Count("sent"), "the way to OnStop ends where the call stood")
	})
	t.Run("whatever the answers", func(t *testing.T) {
		eachStanding(t, shops(&mrtr.EffectOptions[string]{AnyAnswers: true}), func(t *testing.T, tool, _ *kit.Trip, did *kit.Deeds, style string) {
			if style != "native" { // the others look at the question in a replay alone, or never again
				return
			}
			mailed := charge(t, tool)
			price = 12
			again := tool.Round(t.Context(), "", mailed.State, saying(true, mailed))
			require.Equal(t, []string{"pay"}, again.Asks, "%v", again.Err)
			last := tool.Round(t.Context(), "", again.State, saying(true, again))
			for last.Asks != nil {
				last = tool.Round(t.Context(), "", last.State, saying(true, last))
			}
			require.Equal(t, kit.Reply{Plan: "charged, mail to x@example.com"}, last)
			require.Equal(t, []int{1, 0}, []int{did.Count("charged"), did.Count("refunded")})
		})
	})
}

// The seat that is held is that of another answer: the user was asked again and answered
// otherwise, or a limit moved so that a question stands above the effect now, or that the
// handler ends above it.
func TestStaleHold(t *testing.T) {
	limit := 0
	seats := func(did *kit.Deeds) map[string]kit.Style {
		styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			seat := kit.Ask(s, kit.Text("seat"))
			if limit == 1 && kit.Ask(s, kit.Text("sure")) != "yes" {
				return kit.Out{Plan: "no seat is held"}, nil
			}
			if limit == 2 {
				return kit.Out{Plan: "no seat is held"}, nil
			}
			held, err := mrtr.Once(s.Ctx, s.Call, "hold", func(context.Context, string) (string, error) {
				did.Note("held")
				return seat, nil
			})
			kit.Unless(err, "")
			if more := kit.Ask(s, kit.Text("more")); more == "another" && s.Guarded && s.Round() == 3 {
				s.Need(kit.Text("seat"))
			}
			return kit.Out{Plan: held}, nil
		})
		delete(styles, "coroutine") // it goes on where it is
		var list kit.Steps
		seat := steps.Always(&list, kit.Text("seat"))
		steps.Ask(&list, "sure", func(context.Context, *kit.At) (mrtr.Question[bool], error) {
			if limit == 0 {
				return mrtr.Known(true), nil
			}
			return mrtr.Confirm("sure", "Sure?"), nil
		})
		hold := steps.Do(&list, "hold", func(_ context.Context, at *kit.At, _ string) (string, error) {
			did.Note("held")
			return seat.Of(at), nil
		})
		steps.Always(&list, kit.Text("more"))
		list.End(func(_ context.Context, at *kit.At) (kit.Out, error) { return kit.Out{Plan: hold.Of(at)}, nil })
		styles["steps"] = kit.Build(t, &list)
		release := mrtr.UndoOf("hold", func(context.Context, *mrtr.Call, mrtr.Undo[string]) error { did.Note("released"); return nil })
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
			eachStanding(t, seats, func(t *testing.T, tool, then *kit.Trip, did *kit.Deeds, style string) {
				limit = 0
				more := tool.Answer(tool.Begin(), "1A")
				require.Equal(t, []string{"more"}, more.Asks, "%v", more.Err)
				limit = test.limit
				if style == "resumable" {
					tool.Ends(t, more)
				}
				last := then.Answer(more, test.answer)
				if style == "native" && test.seat != "" {
					require.Equal(t, []string{"seat"}, last.Asks, "%v", last.Err)
					last = tool.Answer(last, test.seat)
				}
				want := test.others
				if style == "native" {
					want = test.native
				}
				if style == "steps" { // a value of an earlier round stays
					want = ""
				}
				require.Equal(t, 1, did.Count("held"))
				if want == "" {
					require.Equal(t, kit.Reply{Plan: "1A"}, last)
					require.Zero(t, did.Count("released"))
					return
				}
				diverged := kit.Ended(t, last.Err, mrtr.Diverged)
				require.Equal(t, want, diverged.Detail)
				require.Equal(t, []string{"hold"}, diverged.Undone)
				require.Equal(t, 1, did.Count("released"))
			})
		})
	}
}

// A question below an effect may change as it likes, and answers that come later change
// nothing about it.
func TestAnEffectStandsOnTheAnswersAboveIt(t *testing.T) {
	words := "More?"
	eachStanding(t, func(did *kit.Deeds) map[string]kit.Style {
		styles := map[string]kit.Style{}
		for _, name := range []string{"asked in turn", "asked again", "read at the top"} {
			styles[name] = mrtr.Native(func(ctx context.Context, c *mrtr.Call, _ kit.In) (*mrtr.IncompleteResult, kit.Out, error) {
				more := mrtr.Confirm("more", words)
				seat, ok := mrtr.Answer(c, kit.Text("seat"))
				var yes, answered bool
				if name == "read at the top" {
					yes, answered = mrtr.Answer(c, more)
				}
				if !ok {
					return mrtr.Need(kit.Text("seat")), kit.Out{}, nil
				}
				held, err := mrtr.Once(ctx, c, "hold", did.Do(seat))
				if err != nil {
					return nil, kit.Out{}, err
				}
				if name != "read at the top" {
					yes, answered = mrtr.Answer(c, more)
				}
				if !answered {
					return mrtr.Need(more), kit.Out{}, nil
				}
				if name == "asked again" && !yes {
					return mrtr.Need(more), kit.Out{}, nil
				}
				if _, ok := mrtr.Answer(c, kit.Text("mail")); !ok {
					return mrtr.Need(kit.Text("mail")), kit.Out{}, nil
				}
				return nil, kit.Out{Plan: held}, nil
			})
		}
		return styles
	}, func(t *testing.T, tool, _ *kit.Trip, did *kit.Deeds, style string) {
		words = "More?"
		more := tool.Answer(tool.Begin(), "1A")
		require.Equal(t, []string{"more"}, more.Asks)
		if style == "asked again" {
			more = tool.Round(t.Context(), "", more.State, saying(false, more))
			require.Equal(t, []string{"more"}, more.Asks)
		}
		mail := tool.Round(t.Context(), "", more.State, saying(true, more))
		require.Equal(t, []string{"mail"}, mail.Asks)
		words = "Any more?"
		again := tool.Round(t.Context(), "", mail.State, saying(true, mail))
		require.Equal(t, []string{"more"}, again.Asks, "%v", again.Err)
		last := tool.Round(t.Context(), "", again.State, saying(true, again))
		require.Equal(t, kit.Reply{Plan: "1A"}, last)
		require.Equal(t, 1, did.Count("1A"))
	})
}

// After a deployment a call goes back past an effect that stands whatever the answers, and
// not past another.
func TestADeploymentGoesBackPastAnEffectForAnyAnswers(t *testing.T) {
	for _, free := range []bool{true, false} {
		words := "Which seat?"
		var did kit.Deeds
		opts := &mrtr.EffectOptions[string]{AnyAnswers: free}
		styles := kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
			seat := kit.Ask(s, mrtr.Elicit[string]("seat", words))
			_, err := mrtr.Once(s.Ctx, s.Call, "page", did.Do("counted"), opts)
			kit.Unless(err, "")
			return kit.Out{Plan: seat + kit.Ask(s, kit.Text("more"))}, nil
		})
		delete(styles, "coroutine")
		delete(styles, "native") // whose answers count for a question in other words
		var list kit.Steps
		seat := steps.Ask(&list, "seat", func(context.Context, *kit.At) (mrtr.Question[string], error) {
			return mrtr.Elicit[string]("seat", words), nil
		})
		steps.Do(&list, "page", func(ctx context.Context, _ *kit.At, idem string) (string, error) { return did.Do("counted")(ctx, idem) }, opts)
		more := steps.Always(&list, kit.Text("more"))
		list.End(func(_ context.Context, at *kit.At) (kit.Out, error) {
			return kit.Out{Plan: seat.Of(at) + more.Of(at)}, nil
		})
		styles["steps"] = kit.Build(t, &list)
		for name, style := range styles {
			t.Run(fmt.Sprintf("%s/free=%t", name, free), func(t *testing.T) {
				did = kit.Deeds{}
				words = "Which seat?"
				asked := kit.NewTrip(kit.TripRuntime(t, nil), style, "v1")
				next := asked.Ends(t, asked.Answer(asked.Begin(), "1A"))
				require.Equal(t, []string{"more"}, next.Asks)
				words = "Which of the seats?"
				deployed := kit.NewTrip(kit.TripRuntime(t, nil), style, "v2")
				last := deployed.Answer(next, "no")
				if !free {
					require.Equal(t, []string{"page"}, kit.Ended(t, last.Err, mrtr.Diverged).Applied)
					return
				}
				require.Equal(t, []string{"seat"}, last.Asks, "%v", last.Err)
				last = deployed.Answer(deployed.Answer(last, "2B"), "yes")
				require.Equal(t, kit.Reply{Plan: "2Byes"}, last)
				require.Equal(t, 1, did.Count("counted"))
			})
		}
	}
}
