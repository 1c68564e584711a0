package options_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/mrtr/mrtrtest"
	"github.com/mrtr-go/sdk/options"
	"github.com/mrtr-go/sdk/options/contract"
	"github.com/mrtr-go/sdk/options/landmine"
)

// fault is a way to break a style.
type fault string

const (
	none             fault = "sound"
	effectAboveGuard fault = "effect above the guard"
	questionRenamed  fault = "question renamed"
	answerDropped    fault = "answer dropped"
	declineSwallowed fault = "decline swallowed"
)

// faulty is style E with one fault.
func faulty(f fault) mrtrtest.Subject {
	units, optional := options.Units, mrtr.Optional(options.Units)
	if f == questionRenamed {
		units = mrtr.Choose("unit", "Which units?", mrtr.Choices("metric", "imperial")...)
	}
	return contract.SubjectUnder(mrtr.Options{}, string(f), false, func(rt *mrtr.Runtime, card *options.Card) options.Handler {
		return mrtr.Tool(rt, mrtr.Native(func(_ context.Context, c *mrtr.Call, q options.Query) (*mrtr.IncompleteResult, options.Report, error) {
			which, err := options.WhichPlace(q.Location)
			if err != nil {
				return nil, options.Report{}, err
			}
			place, ok := mrtr.Answer(c, which)
			if !ok {
				return mrtr.Need(which), options.Report{}, nil
			}
			if f == effectAboveGuard {
				card.Charge(place)
			}
			chosen, ok := mrtr.Answer(c, units)
			switch {
			case f == declineSwallowed:
				maybe, asked := mrtr.Answer(c, optional)
				if !asked {
					return mrtr.Need(optional), options.Report{}, nil
				}
				if chosen = "metric"; maybe != nil {
					chosen = *maybe
				}
			case !ok:
				return mrtr.Need(units), options.Report{}, nil
			case f == answerDropped:
				chosen = "metric"
			}
			if f != effectAboveGuard {
				card.Charge(place)
			}
			return nil, options.NewReport(place, chosen), nil
		}), nil)
	})
}

// Styles that are broken on purpose are reported under the rule they break, and
// the same style unbroken is not.
func TestInvariantNotices(t *testing.T) {
	cases := []struct {
		fault       fault
		rule        string
		contract    string // one of those that show the fault
		explanation string
	}{
		{effectAboveGuard, "effects", "Lisbon, metric", "the effect happens again in each round"},
		{questionRenamed, "questions", "Lisbon, metric", "a client files the answer under the key, and its rules may go by the key"},
		{answerDropped, "result", "Lisbon, imperial", "the user's answer must reach the result"},
		{declineSwallowed, "result", "Lisbon, declined at units", "a decline must not end in a success"},
	}
	subjects := []mrtrtest.Subject{faulty(none)}
	for _, c := range cases {
		subjects = append(subjects, faulty(c.fault))
	}
	found, err := mrtrtest.Differences(t.Context(), subjects, contract.ModernContracts(), contract.OneInstance)
	require.NoError(t, err)
	require.Empty(t, differencesOf(found, string(none)), "the sound style")
	require.Len(t, cases, 4)
	for _, c := range cases {
		t.Run(string(c.fault), func(t *testing.T) {
			mine := differencesOf(found, string(c.fault))
			i := slices.IndexFunc(mine, func(f mrtrtest.Difference) bool {
				return f.Rule == c.rule && f.Contract.Name == c.contract
			})
			require.GreaterOrEqualf(t, i, 0, "%s: not noticed by the rule %q", c.explanation, c.rule)
			for _, part := range []string{string(c.fault), c.contract, c.rule, mine[i].Explanation} {
				require.Contains(t, mine[i].String(), part)
			}
		})
	}

	// As a task, too. But a question that has no answer stays open, which is an error of Play.
	subjects = slices.DeleteFunc(subjects, func(s mrtrtest.Subject) bool { return s.Name == string(questionRenamed) })
	found, err = mrtrtest.Differences(t.Context(), subjects, contract.TaskContracts(contract.ModernContracts()), contract.AsTask)
	require.NoError(t, err)
	require.Empty(t, differencesOf(found, string(none)), "the sound style")
	for _, c := range cases {
		noticed := slices.ContainsFunc(differencesOf(found, string(c.fault)), func(f mrtrtest.Difference) bool {
			return f.Rule == c.rule && f.Contract.Name == c.contract
		})
		require.Equal(t, c.fault != questionRenamed, noticed, "as a task: %s", c.explanation)
	}
}

// A difference that only the transcript rule looks at is reported by it alone.
func TestInvariantNoticesAnExtraField(t *testing.T) {
	sound := faulty(none)
	marked := mrtrtest.Subject{Name: "marked", Build: func(w *mrtrtest.World) *mcp.Server {
		server := sound.Build(w)
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				result, err := next(ctx, method, req)
				if called, ok := result.(*mcp.CallToolResult); ok {
					copied := *called
					copied.Meta = mcp.Meta{"style": "other"}
					maps.Copy(copied.Meta, called.Meta)
					result = &copied
				}
				return result, err
			}
		})
		return server
	}}
	found, err := mrtrtest.Differences(t.Context(), []mrtrtest.Subject{sound, marked}, contract.ModernContracts()[:1], contract.OneInstance)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "marked", found[0].Subject.Name)
	require.Equal(t, "transcript", found[0].Rule)
}

func differencesOf(found []mrtrtest.Difference, subject string) []mrtrtest.Difference {
	return slices.DeleteFunc(slices.Clone(found), func(d mrtrtest.Difference) bool { return d.Subject.Name != subject })
}

// The landmines break two rules: a call that completes has charged twice, and one that stops
// behind its charge does not say so.
func TestInvariantCatchesTheLandmines(t *testing.T) {
	landminesAreCaught(t, contract.ModernContracts(), contract.OneInstance)
	landminesAreCaught(t, contract.TaskContracts(contract.ModernContracts()), contract.AsTask)
}

func landminesAreCaught(t *testing.T, contracts []mrtrtest.Contract, in *mrtrtest.Options) {
	subjects := append(contract.Styles("native"), contract.Styles("await", "naive")...)
	require.Len(t, subjects, 3)
	found, err := mrtrtest.Differences(t.Context(), subjects, contracts, in)
	require.NoError(t, err)
	require.Empty(t, differencesOf(found, "native"))
	for _, landmine := range subjects[1:] {
		t.Run(landmine.Name+", "+in.String(), func(t *testing.T) {
			charged, silent := map[string][]string{}, map[string]bool{} // by contract
			for _, f := range differencesOf(found, landmine.Name) {
				if f.Rule == "result" {
					silent[f.Contract.Name] = true
					continue
				}
				require.Equal(t, "effects", f.Rule, f)
				charged[f.Contract.Name] = f.Saw.Effects
			}
			for _, c := range contracts {
				require.Equal(t, c.EarlyStands != "", silent[c.Name], c.Name)
				if c.Ends.IsError {
					require.Empty(t, charged[c.Name], c.Name)
					continue
				}
				require.Equal(t, slices.Repeat(c.Effects, 2), charged[c.Name], c.Name)
			}
			require.NotEmpty(t, charged)
			require.NotEmpty(t, silent)
		})
	}
}

// One linear function is run by three engines. A bare charge happens once only on
// the engine that really waits; a charge in Once happens once on all three.
func TestTheLesson(t *testing.T) {
	bareCharges := map[string]int{"held": 1, "run again": 2, "replayed": 2}
	require.Len(t, landmine.Engines, len(bareCharges))
	for _, e := range landmine.Engines {
		t.Run(e.Name, func(t *testing.T) {
			for _, place := range []string{"Lisbon", "Springfield"} {
				require.Equal(t, bareCharges[e.Name], charges(t, e.Bare, place), "%s, bare: %s", place, e.Explanation)
				require.Equal(t, 1, charges(t, e.InOnce, place), "%s, with Once", place)
			}
		})
	}
}

// charges calls the tool for a user who answers everything, and counts the charges.
func charges(t *testing.T, handler func(*mrtr.Runtime, *options.Card) options.Handler, place string) int {
	rt, err := mrtr.New(nil)
	require.NoError(t, err)
	defer rt.Close()
	card := &options.Card{}
	server := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	mrtr.AddTool(server, &mcp.Tool{Name: "weather"}, handler(rt, card))
	client, err := wire.Connect(t.Context(), server, nil)
	require.NoError(t, err)
	defer client.Close()
	out, err := client.Call(t.Context(), "weather", map[string]any{"location": place}, wire.Answers{
		"place": wire.Value("Springfield, Illinois"), "units": wire.Value("metric"),
	})
	require.NoError(t, err)
	require.False(t, out.IsError, out.Text)
	require.Contains(t, out.Text, "Weather in "+place)
	return len(card.Charges())
}
