package durable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/durable"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/statecodec"
	"github.com/mrtr-go/sdk/store"
	"github.com/mrtr-go/sdk/tasks"
)

const deadline = time.Minute

var size = mrtr.Choose("q", "How big?", mrtr.Choices("small", "large")...)

// silences are the kinds of questions, with the words of their handler after an answer and after
// silence. Without words for silence, the call ends.
var silences = map[string]struct {
	read             func(*kit.Stage) string
	yes              any
	answered, silent string
}{
	"plain":        {func(s *kit.Stage) string { return kit.Ask(s, size.Within(deadline)) }, "large", "large", ""},
	"confirm":      {func(s *kit.Stage) string { return fmt.Sprint(kit.Ask(s, mrtr.Confirm("q", "Sure?").Within(deadline))) }, true, "true", "false"},
	"default":      {func(s *kit.Stage) string { return kit.Ask(s, size.Default("small").Within(deadline)) }, "large", "large", "small"},
	"late default": {func(s *kit.Stage) string { return kit.Ask(s, size.Within(deadline).Default("small")) }, "large", "large", "small"},
	"optional": {func(s *kit.Stage) string {
		if v := kit.Ask(s, mrtr.Optional(size.Within(deadline))); v != nil {
			return *v
		}
		return "nothing"
	}, "large", "large", "nothing"},
	"within an optional": {func(s *kit.Stage) string {
		if v := kit.Ask(s, mrtr.Optional(size).Within(deadline)); v != nil {
			return *v
		}
		return "nothing"
	}, "large", "large", "nothing"},
	"reply": {func(s *kit.Stage) string {
		r := kit.Ask(s, mrtr.Reply(size.Within(deadline)))
		return r.Value + string(r.Reason)
	}, "large", "large", "unanswered"},
	"reply with a default": {func(s *kit.Stage) string {
		r := kit.Ask(s, mrtr.Reply(size.Default("small").Within(deadline)))
		return r.Value + string(r.Reason)
	}, "large", "large", "small"},
	"raw": {func(s *kit.Stage) string {
		return kit.Ask(s, mrtr.ElicitRaw("q", &mcp.ElicitParams{Message: "Sure?"}).Within(deadline)).Action
	}, nil, "accept", "cancel"},
	"address": {func(s *kit.Stage) string {
		return fmt.Sprint(kit.Ask(s, mrtr.ElicitURL("q", "Go there.", "https://example.com/").Within(deadline)))
	}, nil, "{}", ""},
}

// silentWays are the ways in which a client can be asked and be silent. Each answers after a
// time, or never.
var silentWays = map[string]struct {
	client *wire.Options
	silent wire.Answer
}{
	"round trips, too late": {&wire.Options{}, nil},
	"round trips, nothing":  {&wire.Options{}, after(2*deadline, wire.Missing)},
	"round trips, no":       {&wire.Options{}, after(2*deadline, wire.Decline)},
	"a session, too late":   {&wire.Options{Version: wire.Legacy, Capabilities: wire.Everything}, nil},
	"a session, never":      {&wire.Options{Version: wire.Legacy, Capabilities: wire.Everything}, wire.Silent},
	"a task, too late":      {&wire.Options{TakesTasks: true}, nil},
	"a task, nothing":       {&wire.Options{TakesTasks: true}, after(2*deadline, wire.Missing)},
}

func after(d time.Duration, answer wire.Answer) wire.Answer {
	return func(q wire.Question) any {
		time.Sleep(d)
		return answer(q)
	}
}

// Silence is one outcome, in every style and every way to be asked. An answer that comes in time
// counts, and one that comes later does not.
func TestSilenceIsAnOutcome(t *testing.T) {
	require.Len(t, silences, 10)
	require.Len(t, silentWays, 7)
	cells := 0
	for kind, k := range silences {
		for style := range kit.EveryStyle(silent(k.read, nil)) {
			for way, w := range silentWays {
				for _, stored := range []bool{false, true} {
					if cells++; !kit.Tried(cells) {
						continue
					}
					kit.InBubble(t, fmt.Sprintf("%s, %s, %s, store %t", kind, style, way, stored), func(t *testing.T) {
						value := wire.Value(k.yes)
						if k.yes == nil {
							value = wire.Accept(map[string]any{})
						}
						for _, late := range []bool{false, true} {
							answer, want, how := after(deadline/2, value), k.answered, listen.HowAccepted
							if late {
								answer, want, how = w.silent, k.silent, listen.HowSilence
								if answer == nil {
									answer = after(2*deadline, value)
								}
							}
							o := &mrtr.Options{}
							if stored { // and shared, so that clocks may differ
								o.Durable = durable.In(kit.Shared{Memory: store.NewMemory(nil)}, nil)
								o.State = &statecodec.Options{Keys: []statecodec.Key{kit.SharedKey}}
							}
							rt, seen := kit.NewRuntime(t, o)
							effects := 0
							server := kit.NewServer()
							manager, err := tasks.Install(server, &tasks.Options{Runtime: rt})
							require.NoError(t, err)
							t.Cleanup(func() { require.NoError(t, manager.Close()) })
							mcp.AddTool(server, &mcp.Tool{Name: "tool"}, mrtr.Tool(rt, kit.EveryStyle(silent(k.read, &effects))[style], &mrtr.HandlerOptions{Task: taskPolicy}))
							out, err := kit.Connect(t, server, w.client).Call(t.Context(), "tool", map[string]any{}, wire.Answers{"*": answer})
							require.NoError(t, err)
							if want == "" {
								kit.FailsWith(t, out, `Stopped: "q" was not answered in time.`)
								require.Zero(t, effects)
							} else {
								kit.Said(t, out, want)
								require.Equal(t, 1, effects)
							}
							answers := seen.Of(observe.QuestionAnswered)
							require.Len(t, answers, 1)
							require.Equal(t, how, answers[0].Answer)
							time.Sleep(2 * deadline) // until whoever is too late has answered
						}
					})
				}
			}
		}
	}
}

// silent is a handler that asks, and has an effect.
func silent(read func(*kit.Stage) string, effects *int) kit.StageFunc[kit.Input, kit.Output] {
	return func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		answer := read(s)
		kit.Once(s, "effect", func(context.Context, string) (int, error) { *effects++; return *effects, nil })
		return kit.Output{Said: answer}, nil
	}
}

// A handler that asks over the session itself has the same outcomes.
func TestSilenceOverTheSession(t *testing.T) {
	for explanation, c := range map[string]struct {
		ask    func(context.Context, *mcp.ServerSession) (string, error)
		silent string
	}{
		"plain":   {size.Within(deadline).AskOver, ""},
		"default": {size.Default("small").Within(deadline).AskOver, "small"},
		"confirm": {func(ctx context.Context, s *mcp.ServerSession) (string, error) {
			yes, err := mrtr.Confirm("q", "Sure?").Within(deadline).AskOver(ctx, s)
			return fmt.Sprint(yes), err
		}, "false"},
		"longer than a session waits": {size.Default("small").Within(time.Hour).AskOver, "small"},
	} {
		kit.InBubble(t, explanation, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			client := kit.Connect(t, kit.ServeTool(rt, func(ctx context.Context, round *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
				said, err := c.ask(ctx, round.Session())
				return nil, kit.Output{Said: said}, err
			}, nil), kit.Legacy)
			out, err := client.Call(t.Context(), "tool", map[string]any{}, wire.Answers{"q": wire.Silent})
			require.NoError(t, err)
			if c.silent == "" {
				kit.FailsWith(t, out, `Stopped: "q" was not answered in time.`)
			} else {
				kit.Said(t, out, c.silent)
			}
			require.Equal(t, listen.HowSilence, seen.Of(observe.QuestionAnswered)[0].Answer)
		})
	}
}

// confirmedTrip pays after a yes, which has a deadline.
func confirmedTrip(i *instance, did *kit.Deeds) kit.StageFunc[kit.In, kit.Out] {
	return func(s *kit.Stage, _ kit.In) (kit.Out, error) {
		if !kit.Ask(s, mrtr.Confirm("q", "Pay?").Within(deadline)) {
			return kit.Out{Plan: "not paid"}, nil
		}
		paid := kit.Once(s, "pay", did.Do("paid"))
		i.passEnd()
		return kit.Out{Plan: paid}, nil
	}
}

func yesToAll(asked kit.Reply) mcp.InputResponseMap {
	responses := mcp.InputResponseMap{}
	for _, key := range asked.Asks {
		responses[key] = &mcp.ElicitResult{Action: "accept", Content: map[string]any{key: true}}
	}
	return responses
}

// A request that is sent again comes later, and at another instance. It gets what its round
// came to, however its answers would be judged by now; and other answers, and an answer where
// silence was one, get nothing.
func TestARepeatIsJudgedAsItsRoundWas(t *testing.T) {
	paid, not := kit.Reply{Plan: "paid"}, kit.Reply{Plan: "not paid"}
	for explanation, c := range map[string]struct {
		first, second func(kit.Reply) mcp.InputResponseMap
		late          bool // the first
		gets          kit.Reply
		refused       bool
	}{
		"yes in time, and again":      {yesToAll, yesToAll, false, paid, false},
		"no in time, and again":       {kit.Declining, kit.Declining, false, not, false},
		"yes in time, then nothing":   {yesToAll, noAnswers, false, paid, true},
		"yes in time, then no":        {yesToAll, kit.Declining, false, paid, true},
		"nothing in time, then yes":   {noAnswers, yesToAll, true, not, true},
		"yes too late, and again":     {yesToAll, yesToAll, true, not, false},
		"nothing too late, and again": {noAnswers, noAnswers, true, not, false},
		"no too late, and again":      {kit.Declining, kit.Declining, true, not, false},
	} {
		for style := range kit.EveryStyle(confirmedTrip(nil, nil)) {
			kit.InBubble(t, explanation+", "+style, func(t *testing.T) {
				s := newSiblings(t, 2, func(_ *testing.T, did *kit.Deeds) kit.Style {
					return kit.EveryStyle(confirmedTrip(&instance{}, did))[style]
				})
				asked := s.tools[0].Begin()
				require.Equal(t, []string{"q"}, asked.Asks)
				time.Sleep(deadline / 2)
				if c.late {
					time.Sleep(deadline)
				}
				for _, at := range []int{0, 1} {
					require.Equal(t, c.gets, s.tools[at].Round(t.Context(), "", asked.State, c.first(asked)))
				}
				time.Sleep(deadline)
				for _, at := range []int{1, 0} {
					again := s.tools[at].Round(t.Context(), "", asked.State, c.second(asked))
					if c.refused {
						refusedOtherwise(t, again)
					} else {
						require.Equal(t, c.gets, again)
					}
				}
				require.LessOrEqual(t, s.did.Count("paid"), 1)
			})
		}
	}
}

func noAnswers(kit.Reply) mcp.InputResponseMap { return nil }

// An answer in time counts, also where the instance stops in the middle, wherever that is, and the
// repeat that goes on comes after the deadline. Which answers were in time is decided once.
func TestATakeoverJudgesAsTheRoundDid(t *testing.T) {
	size := mrtr.Elicit[string]("size", "How much?").Within(deadline)
	for _, style := range []string{"journal", "resumable"} {
		for _, place := range []string{afterClaim, effectNoted} {
			for _, late := range []bool{false, true} {
				if late && place == effectNoted { // it has none
					continue
				}
				kit.InBubble(t, fmt.Sprintf("%s, %s, late %t", style, place, late), func(t *testing.T) {
					var did kit.Deeds
					memory := store.NewMemory(nil)
					serve := func(i *instance) *kit.Trip {
						return kit.NewTrip(kit.TripRuntime(t, &mrtr.Options{Durable: durable.In(i, nil), Listener: observe.With(i)}), kit.EveryStyle(func(s *kit.Stage, _ kit.In) (kit.Out, error) {
							sure := mrtr.Confirm("q", "Pay?").Within(2 * deadline)
							need := []mrtr.AnyQuestion{sure, size}
							if err := s.Await(need...); err != nil {
								return kit.Out{}, err
							}
							yes, _ := mrtr.Answer(s.Call, sure)
							much, _ := mrtr.Answer(s.Call, size)
							if !yes {
								return kit.Out{Plan: "not paid"}, nil
							}
							paid := kit.Once(s, "pay", did.Do("paid"))
							i.passEnd()
							return kit.Out{Plan: paid + " " + much}, nil
						})[style], "")
					}
					first, second := newInstance(memory, place), newInstance(memory, "")
					dying, living := serve(first), serve(second)
					asked := dying.Begin()
					answers := mcp.InputResponseMap{"q": yesToAll(kit.Reply{Asks: []string{"q"}})["q"], "size": kit.Accept("size", "all")}
					time.Sleep(deadline / 2)
					if late { // for one of the two
						time.Sleep(deadline)
					}
					own := first.stopsIn(func() kit.Reply { return dying.Round(context.Background(), "", asked.State, answers) })
					time.Sleep(3 * deadline)
					reply := living.Round(t.Context(), "", asked.State, answers)
					require.Len(t, second.events.Of(observe.RoundTakenOver), 1)
					first.goOn()
					woken := <-own
					if late {
						kit.Ended(t, reply.Err, mrtr.Unanswered)
						require.EqualError(t, woken.Err, reply.Err.Error())
						require.Zero(t, did.Count("paid"))
						return
					}
					require.Equal(t, kit.Reply{Plan: "paid all"}, reply)
					require.Equal(t, reply, woken)
					require.Equal(t, 1, did.Count("paid"))
				})
			}
		}
	}
}

func TestNobodyAnswersWithinNothing(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second, time.Microsecond} {
		kit.Misuse(t, size.Within(d).Err())
	}
	require.NoError(t, mrtr.Known("x").Within(time.Second).Err())
	kit.Misuse(t, mrtr.Question[string]{}.Within(time.Second).Err())
}
