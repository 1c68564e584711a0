package model

import (
	"flag"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var budget = flag.Int("steps", 20_000, "how many steps of the engine to explore")

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(800) // a third of the time goes into garbage otherwise
	os.Exit(m.Run())
}

// Whatever clients send, in whatever order, the engine answers as the model says.
// The story of a failure is shortened, and can be told again with the seed that
// rapid names.
func TestTheEngineAgreesWithTheModel(t *testing.T) {
	// A script has more than five steps on average, so that these are enough. Those
	// beyond the budget are not played.
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(*budget/5+1)))
	require.NoError(t, flag.Set("rapid.nofailfile", "true"))
	explored, disagrees := 0, false
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		if explored >= *budget && !disagrees {
			return
		}
		script := scripts.Draw(t, "script")
		rapid.SyncTest(t, func(t *rapid.T) {
			steps, err := Play(t.Context(), script, func(style, outcome string) { seen[style+" "+outcome]++ })
			explored += steps
			if err != nil {
				disagrees = true
				t.Fatalf("%v", err)
			}
		})
	})
	require.GreaterOrEqual(t, explored, *budget)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[what], what)
	}
	if *budget < 20_000 {
		return
	}
	for _, what := range reachable() {
		require.NotZerof(t, seen[what], "%d steps never came to this: %s", explored, what)
	}
}

// reachable are the outcomes that an exploration has to come to, by style: one that
// never does tests nothing of them.
func reachable() []string {
	var all []string
	for _, s := range styleNames {
		outcomes := []outcome{
			{kind: asksUser}, {kind: completes}, {kind: refuses, code: invalidParams}, {kind: refuses, code: lacksCapability},
		}
		for _, reason := range []string{stopDeclined, stopCancelled, stopUnanswered, stopCannotAsk, stopTooMany, stopNoAnswer, failedEffect} {
			outcomes = append(outcomes, outcome{kind: stops, reason: reason})
		}
		if s.guarded() {
			outcomes = append(outcomes, outcome{kind: carries})
		}
		if s == coroutine {
			outcomes = append(outcomes, outcome{kind: stops, reason: stopFrameGone})
		}
		if s.replays() {
			outcomes = append(outcomes, outcome{kind: stops, reason: stopDiverged})
		}
		for _, o := range outcomes {
			all = append(all, string(s)+" "+o.class())
		}
	}
	return all
}
