package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The bars were set before anything was measured. They are spelled out here again, so that
// none can be loosened or dropped in passing.
func TestBars(t *testing.T) {
	want := map[string]float64{
		"two rounds over HTTP, against mcp-go":                                    0.6,
		"the same, 100 clients":                                                   0.5,
		"the same, one user who answers every 1.2 s":                              1.1,
		"one round, no question":                                                  0.7,
		"tools/list, 2 tools":                                                     1,
		"tools/list, 100 tools":                                                   1,
		"two rounds over stdio":                                                   1.5,
		"a legacy client over HTTP, against go-sdk's own front":                   1.05,
		"two rounds over HTTP, instructions against the floor, GOGC=400 for both": 1.25,
		"two rounds over HTTP, bytes allocated":                                   45_000,
		"1,000,000 open Resumable calls, bytes":                                   1_000_000_000,
		"two rounds over HTTP, against go-sdk's front and a handler by hand":      0.2,
		"two rounds over HTTP, against the TypeScript SDK":                        0.2,
		"the engine in two rounds, instructions":                                  38_900,
		"the engine in two rounds, allocations":                                   12,
	}
	got, names := map[string]float64{}, map[string]bool{}
	for _, r := range rows() {
		require.False(t, names[r.name], "two rows of one name: %s", r.name)
		names[r.name] = true
		if r.bar > 0 {
			got[r.name] = r.bar
		}
	}
	require.Equal(t, want, got)
}

// Every row is measured, if only shortly: each server does its work right. Without all of
// the tools, a person gets a line about each that is missing.
func TestQuickRun(t *testing.T) {
	only := "HTTP, against the floor"
	if os.Getenv("MRTR_CI") == "1" {
		only = ""
	}
	var text strings.Builder
	require.NoError(t, run(quick, only, &text))
	lines := 0
	for _, r := range rows() {
		if strings.Contains(text.String(), "| "+r.name+" |") {
			lines++
		}
	}
	require.Equal(t, map[bool]int{true: len(rows()), false: 1}[only == ""], lines, text.String())
	require.NotContains(t, text.String(), "NaN")
}

// A server that fails says why, and the run fails with it.
func TestAFailingServerFailsTheRun(t *testing.T) {
	w, err := newWorkshop(quick)
	require.NoError(t, err)
	defer w.close()
	_, err = w.start(served("nobody"), twoRounds)
	require.ErrorContains(t, err, `no subject "nobody"`)
	_, err = w.start(served("floor").over("websocket"), twoRounds)
	require.ErrorContains(t, err, "floor is not measured over websocket")
	wrong := twoRounds
	wrong.call.Text = "Weather in Lisbon: 21°C, partly cloudy."
	r, err := w.start(served("floor"), wrong)
	require.NoError(t, err)
	require.ErrorContains(t, r.make(1), "22°C")
	require.NoError(t, r.close())
	require.ErrorContains(t, run(quick, "no such row", &strings.Builder{}), "no row matches")
}

// Where a tool is missing a person gets a line, and CI a failure.
func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", "")
	w := &workshop{pace: quick}
	_, err := w.counts(1, nil)
	require.ErrorContains(t, err, "needs valgrind: run lab/bench/install")
	t.Setenv("MRTR_CI", "")
	require.True(t, isMissing(err))
	t.Setenv("MRTR_CI", "1")
	require.False(t, isMissing(err))
}

func TestVerdict(t *testing.T) {
	r := row{name: "load", bar: 0.6}
	for _, c := range []struct {
		low, high float64
		short     bool
		verdict   string
	}{{0.4, 0.6, false, "met"}, {0.5, 0.7, false, "undecided"}, {0.61, 0.7, false, "missed"}, {0.1, 0.2, true, "too short a run"}} {
		require.Equal(t, c.verdict, r.verdict(finding{low: c.low, high: c.high}, c.short))
	}
	f := finding{ours: "1 µs", theirs: "2 µs", low: 0.4, value: 0.5, high: 0.55, text: ratio}
	require.Equal(t, "| load | 1 µs | 2 µs | 0.50× (0.40×–0.55×) | 0.60× | met |", r.line(f, false))
	require.Equal(t, "| load | | | needs Node | | |", r.line(finding{missing: "needs Node"}, false))
	require.Equal(t, "1,234,567", count(1234567))
	require.Equal(t, "-1,234", count(-1234))
	require.Equal(t, "123", count(123))
}

func TestWithoutSHA(t *testing.T) {
	cost, err := withoutSHA(`Ir
1,001,111  PROGRAM TOTALS

Ir         file:function
1,000,000  sha256block_amd64.s:crypto/internal/fips140/sha256.blockAVX2.abi0 [subject]
    1,000  work.go:main.work [subject]
       11  sha256block_amd64.go:crypto/internal/fips140/sha256.block [subject]
      100  sha256.go:crypto/sha256.Sum256 [subject]
`)
	require.NoError(t, err)
	require.Equal(t, 1100.0, cost)
	_, err = withoutSHA("Ir\n")
	require.ErrorContains(t, err, "0 totals")
}

// A server's processor time is read from outside.
func TestProcessorTimeGrows(t *testing.T) {
	before, err := processorTime(os.Getpid())
	require.NoError(t, err)
	for {
		after, err := processorTime(os.Getpid())
		require.NoError(t, err)
		if after > before {
			return
		}
	}
}
