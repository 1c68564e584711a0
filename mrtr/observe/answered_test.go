package observe_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/given"
	"github.com/mrtr-go/sdk/mrtr/internal/kit"
	"github.com/mrtr-go/sdk/mrtr/listen"
	"github.com/mrtr-go/sdk/mrtr/observe"
	"github.com/mrtr-go/sdk/mrtr/steps"
	"github.com/mrtr-go/sdk/tasks"
)

var (
	deadline = time.Minute
	deletes  = mrtr.Confirm("sure", "Delete it?").Within(deadline)
	keeps    = mrtr.Choose("keep", "Keep a copy?", mrtr.Choices("here", "there")...).Default("here")
)

// deleters are a tool that asks both questions, in every style.
func deleters(t *testing.T) map[string]mrtr.Style[kit.Input, kit.Output] {
	styles := kit.EveryStyle(func(s *kit.Stage, _ kit.Input) (kit.Output, error) {
		sure := kit.Ask(s, deletes)
		return kit.Output{Said: fmt.Sprint(sure, " ", kit.Ask(s, keeps))}, nil
	})
	var list steps.List[kit.Input, kit.Output]
	sure, keep := steps.Always(&list, deletes), steps.Always(&list, keeps)
	list.End(func(_ context.Context, at *steps.At[kit.Input]) (kit.Output, error) {
		return kit.Output{Said: fmt.Sprint(sure.Of(at), " ", keep.Of(at))}, nil
	})
	styles["steps"] = list.MustBuild()
	styles["given"] = given.Handler2(
		given.Always[kit.Input](deletes), given.Always[kit.Input](keeps),
		func(_ context.Context, _ *mrtr.Call, _ kit.Input, sure bool, keep string) (kit.Output, error) {
			return kit.Output{Said: fmt.Sprint(sure, " ", keep)}, nil
		})
	return styles
}

func sorted(list string) string {
	words := strings.Split(list, ", ")
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// The observer hears how each question was answered, alike in every style and in the three
// ways to ask, and never the answer.
func TestTheObserverHearsHowQuestionsWereAnswered(t *testing.T) {
	ways := map[string]*wire.Options{"modern": {}, "legacy": {Version: wire.Legacy}, "task": {TakesTasks: true}}
	yes, here := wire.Value(true), wire.Value("there")
	cases := map[string]struct {
		answers wire.Answers
		mute    bool
		policy  mrtr.UnaskablePolicy
		want    string
	}{
		"yes":       {answers: wire.Answers{"sure": yes, "keep": here}, want: "sure accepted, keep accepted"},
		"no":        {answers: wire.Answers{"sure": wire.Value(false), "keep": here}, want: "sure no, keep accepted"},
		"dismissed": {answers: wire.Answers{"sure": wire.Cancel, "keep": here}, want: "sure cancelled, keep accepted"},
		"decline":   {answers: wire.Answers{"sure": yes, "keep": wire.Decline}, want: "sure accepted, keep declined"},
		"cancel":    {answers: wire.Answers{"sure": yes, "keep": wire.Cancel}, want: "sure accepted, keep cancelled"},
		"misfit":    {answers: wire.Answers{"sure": wire.InTurn(wire.Value(7), yes), "keep": here}, want: "sure accepted, keep accepted"},
		"default":   {mute: true, policy: mrtr.UnaskableDefaults, want: "sure not asked, keep default"},
		"unasked":   {mute: true, want: "sure not asked, keep not asked"},
		"silence":   {answers: wire.Answers{"sure": kit.After(2*deadline, yes), "keep": here}, want: "sure silence, keep accepted"},
	}
	cells := 0
	for way, client := range ways {
		for style, handler := range deleters(t) {
			for name, c := range cases {
				cells++
				kit.InBubble(t, way+"/"+style+"/"+name, func(t *testing.T) {
					rt, seen := kit.NewRuntime(t, &mrtr.Options{Unaskable: c.policy})
					server := kit.ServeStyle(rt, handler, &mrtr.HandlerOptions{Task: mrtr.TaskPolicy{AtOnce: true}})
					manager, err := tasks.Install(server, &tasks.Options{Runtime: rt})
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, manager.Close()) })
					o := *client
					if c.mute {
						o.Capabilities = wire.Nothing
					}
					_, err = kit.Connect(t, server, &o).Call(t.Context(), "tool", map[string]any{}, c.answers)
					require.NoError(t, err)
					time.Sleep(2 * deadline) // until whoever is too late has answered
					var heard []string
					for _, e := range seen.Of(observe.QuestionAnswered) {
						heard = append(heard, e.Question+" "+e.Answer)
						words := map[string]string{"sure": deletes.Words(), "keep": keeps.Words()}
						require.Equal(t, words[e.Question], e.Wording)
						require.NotEmpty(t, e.Wording)
						require.NotContains(t, fmt.Sprint(e), "there")
					}
					want := c.want
					if style == "steps" && name == "unasked" { // it is refused before its first question
						want = "keep not asked"
					}
					if style == "given" { // which asks both at once
						want = sorted(want)
						heard = strings.Split(sorted(strings.Join(heard, ", ")), ", ")
					}
					require.Equal(t, want, strings.Join(heard, ", "))
				})
			}
		}
	}
	require.Equal(t, len(ways)*6*len(cases), cells)
}

// A handler that asks in place is heard too.
func TestTheObserverHearsOfQuestionsOverASession(t *testing.T) {
	asked := map[string]struct {
		client *wire.Options
		answer wire.Answer
		want   string
	}{
		"yes":     {kit.Legacy, wire.Value(true), listen.HowAccepted},
		"no":      {kit.Legacy, wire.InTurn(wire.Value(7), wire.Value(false)), listen.HowNo},
		"decline": {kit.Legacy, wire.Decline, listen.HowDeclined},
		"mute":    {kit.LegacyMute, nil, listen.HowNotAsked},
	}
	for name, c := range asked {
		t.Run(name, func(t *testing.T) {
			rt, seen := kit.NewRuntime(t, nil)
			client := kit.Connect(t, kit.ServeTool(rt, func(ctx context.Context, c *mrtr.Call, _ kit.Input) (*mrtr.IncompleteResult, kit.Output, error) {
				sure, err := deletes.AskOver(ctx, c.Session())
				return nil, kit.Output{Said: fmt.Sprint(sure)}, err
			}, nil), c.client)
			kit.Call(t, client, wire.Answers{"sure": c.answer})
			heard := seen.Of(observe.QuestionAnswered)
			require.Len(t, heard, 1)
			require.Equal(t, c.want, heard[0].Answer)
			require.Equal(t, deletes.Words(), heard[0].Wording)
		})
	}
}
