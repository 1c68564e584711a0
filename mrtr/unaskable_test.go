package mrtr_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
)

// One policy holds for every client that cannot be asked, whatever its era.
func TestAPolicyForClientsThatCannotBeAsked(t *testing.T) {
	clients := map[string]*wire.Options{
		"modern":          {Capabilities: wire.Nothing},
		"legacy":          legacyMute,
		"negotiated down": negotiatedDown,
	}
	for name, client := range clients {
		for _, test := range []struct {
			explanation string
			policy      mrtr.UnaskablePolicy
			place       string // its default
			want        string // "" where the call is refused
		}{
			{"defaults", mrtr.UnaskableDefaults, "Rome", "metric in Rome"},
			{"a default is missing", mrtr.UnaskableDefaults, "", ""},
			{"refused, whatever default there is", mrtr.UnaskableRefuse, "Rome", ""},
			{"unless it is set", mrtr.UnaskableInherit, "Rome", ""},
		} {
			t.Run(name+"/"+test.explanation, func(t *testing.T) {
				check := func(rt *mrtr.Runtime, opts *mrtr.HandlerOptions) {
					out := call(t, connect(t, serveTool(rt, twoQuestions(test.place), opts), client), nil)
					require.Empty(t, out.Questions)
					if test.want != "" {
						said(t, out, test.want)
						return
					}
					require.True(t, out.IsError || out.Error != nil, "%s", out.Result)
				}
				rt, _ := newRuntime(t, &mrtr.Options{Unaskable: test.policy})
				check(rt, nil)
				rt, _ = newRuntime(t, nil)
				check(rt, &mrtr.HandlerOptions{Unaskable: test.policy})
			})
		}
	}
	// Who can be asked is asked.
	for _, client := range []*wire.Options{nil, legacyClient} {
		rt, _ := newRuntime(t, &mrtr.Options{Unaskable: mrtr.UnaskableDefaults})
		said(t, call(t, connect(t, serveTool(rt, twoQuestions("Rome"), nil), client), imperialInPlace), "imperial in Oslo")
	}
}

func TestPoliciesThatContradictEachOther(t *testing.T) {
	for _, wrong := range []mrtr.Options{
		{Unaskable: mrtr.UnaskableRefuse, Legacy: mrtr.LegacyDefaults},
		{Unaskable: mrtr.UnaskableRefuse, Legacy: mrtr.LegacyBridgeOrDefaults},
		{Unaskable: mrtr.UnaskableDefaults, Legacy: mrtr.LegacyRefuse},
		{Unaskable: 3},
		{Unaskable: -1},
	} {
		_, err := mrtr.New(&wrong)
		var usage *mrtr.UsageError
		require.ErrorAs(t, err, &usage, "%+v", wrong)

		rt, _ := newRuntime(t, nil)
		require.Panics(t, func() {
			serveTool(rt, twoQuestions(""), &mrtr.HandlerOptions{Unaskable: wrong.Unaskable, Legacy: wrong.Legacy})
		})
	}
}

// counting asks n questions, one a round.
func counting(n int) nativeHandler {
	return func(_ context.Context, c *mrtr.Call, _ input) (*mrtr.IncompleteResult, output, error) {
		for i := range n {
			q := mrtr.Elicit[string](fmt.Sprintf("q%d", i), "?")
			if _, ok := mrtr.Answer(c, q); !ok {
				return mrtr.Need(q), output{}, nil
			}
		}
		return nil, output{"done"}, nil
	}
}

// More than nine rounds are for those of whom something shows that they follow them.
func TestMaxRounds(t *testing.T) {
	patient := func(req mcp.Request) int {
		if req.GetParams().GetMeta()["patient"] == true {
			return 30
		}
		return 0
	}
	follows := func(n int) func(mcp.Request) int { return func(mcp.Request) int { return n } }
	for _, test := range []struct {
		explanation string
		opts        mrtr.Options
		client      *wire.Options
		limit       int
	}{
		{"a modern client of which nothing is known", mrtr.Options{MaxRounds: 20}, nil, 9},
		{"one of which the function knows nothing", mrtr.Options{MaxRounds: 20, FollowsRounds: patient}, nil, 9},
		{"one that follows further", mrtr.Options{MaxRounds: 20, FollowsRounds: follows(12)}, nil, 12},
		{"one that follows further than the server", mrtr.Options{MaxRounds: 20, FollowsRounds: follows(50)}, nil, 20},
		{"one that follows less", mrtr.Options{FollowsRounds: follows(4)}, nil, 4},
		{"a legacy client, whose rounds the server makes", mrtr.Options{MaxRounds: 20}, legacyClient, 20},
		{"a legacy client, unless it is set", mrtr.Options{}, legacyClient, 9},
		{"fewer for all", mrtr.Options{MaxRounds: 3}, nil, 3},
		{"fewer for legacy clients too", mrtr.Options{MaxRounds: 3}, legacyClient, 3},
	} {
		t.Run(test.explanation, func(t *testing.T) {
			everything := wire.Answers{"*": func(q wire.Question) any { return wire.Value("x")(q) }}
			rt, _ := newRuntime(t, &test.opts)
			said(t, call(t, connect(t, serveTool(rt, counting(test.limit), nil), test.client), everything), "done")
			rt, _ = newRuntime(t, &test.opts)
			out := call(t, connect(t, serveTool(rt, counting(test.limit+1), nil), test.client), everything)
			require.True(t, out.IsError)
			require.Equal(t, fmt.Sprintf("Stopped: more than %d rounds of questions in one call.", test.limit), out.Text)
		})
	}
	_, err := mrtr.New(&mrtr.Options{MaxRounds: -1})
	require.ErrorContains(t, err, "MaxRounds is negative")
}
