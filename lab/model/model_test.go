package model

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var budget = flag.Int("steps", 20_000, "how many steps of the engine to explore")

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(800) // a third of the time goes into garbage otherwise
	os.Exit(m.Run())
}

// Whatever clients send, in whatever order, the engine answers as the model says. A
// script that shows otherwise is shortened by rapid, whose seed plays it again, and
// then without it.
func TestTheEngineAgreesWithTheModel(t *testing.T) {
	var failing *Script
	explored := 0
	if !t.Run("explored", func(t *testing.T) { explore(t, &explored, &failing) }) && failing != nil {
		story := shorten(*failing, func(s Script) (err error) {
			defer func() {
				if v := recover(); v != nil { // goroutines were left behind
					err = fmt.Errorf("%s %v", marker, v)
				}
			}()
			synctest.Test(t, func(t *testing.T) { _, err = Play(t.Context(), s, nil) })
			return err
		})
		t.Fatalf("After %d steps, in short, %v", explored, story)
	}
}

// explore plays scripts until the budget is spent and every outcome was seen. It
// fails if five times the budget does not show an outcome.
func explore(t *testing.T, explored *int, failing **Script) {
	// These are more scripts than it takes; those that are left are not played.
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(*budget)))
	require.NoError(t, flag.Set("rapid.nofailfile", "true"))
	seen := map[string]int{}
	enough := func() bool {
		return *explored >= *budget && (*explored >= 5**budget || len(unseen(seen)) == 0)
	}
	rapid.Check(t, func(t *rapid.T) {
		if *failing == nil && enough() {
			return
		}
		script := scripts.Draw(t, "script")
		rapid.SyncTest(t, func(t *rapid.T) {
			steps, err := Play(t.Context(), script, func(style, outcome string) { seen[style+" "+outcome]++ })
			if *failing == nil {
				*explored += steps
			}
			if err != nil {
				*failing = &script
				t.Fatalf("%v", err)
			}
		})
	})
	require.GreaterOrEqual(t, *explored, *budget)
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%7d %s", seen[what], what)
	}
	require.Emptyf(t, unseen(seen), "%d steps never came to these outcomes", *explored)
}

func unseen(seen map[string]int) []string {
	return slices.DeleteFunc(reachable(), func(what string) bool { return seen[what] > 0 })
}

// shorten leaves out commands as long as the rest still fails, and returns the
// error of the rest.
func shorten(s Script, play func(Script) error) error {
	err := play(s)
	for size := len(s.Commands); size > 0; size /= 2 {
		for at := 0; at+size <= len(s.Commands); {
			less := Script{Tools: s.Tools, Stored: s.Stored, Commands: slices.Concat(s.Commands[:at], s.Commands[at+size:])}
			if shorter := play(less); shorter != nil {
				s, err = less, shorter
			} else {
				at++
			}
		}
	}
	return err
}

// reachable are the outcomes that an exploration has to come to, by style: one that
// never does tests nothing of them.
func reachable() []string {
	var all []string
	for _, s := range styleNames {
		outcomes := []outcome{
			{kind: asksUser}, {kind: completes}, {kind: refuses, code: invalidParams}, {kind: refuses, code: lacksCapability},
		}
		for _, reason := range []string{stopDeclined, stopCancelled, stopUnanswered, stopCannotAsk, stopTooMany, stopNoAnswer, failedEffect, stopUnknown, stopPanic} {
			outcomes = append(outcomes, outcome{kind: stops, reason: reason})
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
		for _, o := range []outcome{{kind: completes}, {kind: stops, reason: stopDeclined}, {kind: stops, reason: stopCancelled}, {kind: stops, reason: stopUnanswered}, {kind: stops, reason: failedEffect}, {kind: refuses, code: lacksCapability}} {
			all = append(all, string(s+asTask)+" "+o.class())
		}
	}
	return all
}
