package sdk_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/mrtr"
	"github.com/mrtr-go/sdk/options"
)

// fault is a way to break a style.
type fault string

const (
	none             fault = "sound"
	effectAboveGuard fault = "effect above the guard"
	questionRenamed  fault = "question renamed"
	answerDropped    fault = "answer dropped"
	declineSwallowed fault = "decline swallowed"
	extraRound       fault = "an extra round"
)

// faulty is style E with one thing wrong with it.
func faulty(f fault) subject {
	units, optional := options.Units, mrtr.Optional(options.Units)
	if f == questionRenamed {
		units = mrtr.Choose("unit", "Which units?", mrtr.Choices("metric", "imperial")...)
	}
	return subjectOf(string(f), atEnd, func(rt *mrtr.Runtime, audit *options.Audit) options.Handler {
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
				audit.Record(place)
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
			case f == extraRound:
				if _, been := mrtr.Carried[bool](c); !been {
					return mrtr.Need().Carry(true), options.Report{}, nil
				}
			}
			if f != effectAboveGuard {
				audit.Record(place)
			}
			return nil, options.NewReport(place, chosen), nil
		}), nil)
	})
}

// A test that finds nothing proves nothing until it has been seen to find
// something. Here styles are broken on purpose, and each must be reported, by
// name, under the rule that it breaks; the same style unbroken must not.
func TestInvariantNotices(t *testing.T) {
	cases := []struct {
		fault       fault
		rule        string
		contract    string // in which it shows, among others
		explanation string
	}{
		{effectAboveGuard, "effects", "Lisbon, metric", "it happens again in each round"},
		{questionRenamed, "questions", "Lisbon, metric", "a client files the answer under the key, and a person's rules may go by it"},
		{answerDropped, "result", "Lisbon, imperial", "what was asked for is not what comes"},
		{declineSwallowed, "result", "Lisbon, declined at units", "a no must not end in a success"},
		{extraRound, "rounds", "Lisbon, metric", "the client has to come back for nothing"},
	}
	subjects := []subject{faulty(none)}
	for _, c := range cases {
		subjects = append(subjects, faulty(c.fault))
	}
	found, err := judge(t.Context(), subjects, modernContracts(), setting{name: "one instance"})
	require.NoError(t, err)
	require.Empty(t, of(found, string(none)), "the sound style")
	require.Len(t, cases, 5)
	for _, c := range cases {
		t.Run(string(c.fault), func(t *testing.T) {
			i := slices.IndexFunc(of(found, string(c.fault)), func(f finding) bool {
				return f.rule.name == c.rule && f.contract == c.contract
			})
			require.GreaterOrEqualf(t, i, 0, "%s: not noticed by the rule %q", c.explanation, c.rule)
			said := of(found, string(c.fault))[i].String()
			for _, word := range []string{string(c.fault), c.contract, c.rule} {
				require.Contains(t, said, word)
			}
		})
	}
}

// The transcript rule sees what no other rule looks at.
func TestInvariantNoticesASecretSign(t *testing.T) {
	c := modernContracts()[0]
	sound, err := play(t.Context(), faulty(none), c, setting{})
	require.NoError(t, err)
	signed := *sound
	signed.transcript = slices.Clone(sound.transcript)
	last := len(signed.transcript) - 1
	signed.transcript[last] = strings.Replace(signed.transcript[last], `"_meta":{`, `"_meta":{"style":"other",`, 1)
	require.NotEqual(t, sound.transcript, signed.transcript)
	for _, r := range rules {
		detail := r.broken(trial{faulty(none), c, &signed, sound})
		require.Equal(t, r.name == "transcript", detail != "", "%s: %s", r.name, detail)
	}
}

// The two exhibits pass for sound but for the one thing: every call that
// completes has audited twice, and nothing else shows it to anybody.
func TestInvariantCatchesTheExhibits(t *testing.T) {
	subjects := append(styles("native"), styles("await", "naive")...)
	require.Len(t, subjects, 3)
	found, err := judge(t.Context(), subjects, modernContracts(), setting{name: "one instance"})
	require.NoError(t, err)
	require.Empty(t, of(found, "native"))
	for _, exhibit := range subjects[1:] {
		t.Run(exhibit.name, func(t *testing.T) {
			caught := map[string]string{}
			for _, f := range of(found, exhibit.name) {
				require.Equal(t, "effects", f.rule.name, f)
				caught[f.contract] = f.detail
			}
			for _, c := range modernContracts() {
				if c.ends.isError {
					require.Empty(t, caught[c.name], c.name)
					continue
				}
				twice := []string{c.effects.line, c.effects.line}
				require.Equal(t, differ("the effects", c.effects.of(exhibit), twice), caught[c.name], c.name)
			}
			require.NotEmpty(t, caught)
		})
	}
}
