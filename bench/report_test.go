package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Six rounds of three benchmarks, one of which prints a unit of its own.
const sixRounds = `cpu: Abacus
cores: 2
peer: one v1
peer: two v2
round: 0
in: p
BenchmarkA/ours-2 	 100 	 1000 ns/op	 5 own-B
BenchmarkA/theirs-2 	 100 	 2000 ns/op
BenchmarkA/idle-2 	 100 	 900 ns/op
round: 1
in: p
BenchmarkA/ours 	 100 	 1100 ns/op	 5 own-B
BenchmarkA/theirs 	 100 	 2000 ns/op
BenchmarkA/idle 	 100 	 990 ns/op
in: p
BenchmarkA/ours 	 100 	 1200 ns/op	 5 own-B
BenchmarkA/theirs 	 100 	 2000 ns/op
BenchmarkA/idle 	 100 	 1080 ns/op
`

func TestReport(t *testing.T) {
	ours, theirs := read("p", "A/ours", clock), read("p", "A/theirs", clock)
	for _, c := range []struct {
		explanation string
		figure      figure
		row         string
	}{
		{"met in every round", figure{ours: ours, theirs: theirs, target: 0.7},
			"1.1 µs | 2 µs | 0.550 × (0.500 × to 0.600 ×) | ≤ 0.7 × | met |"},
		{"the median meets it, the spread does not", figure{ours: ours, theirs: theirs, target: 0.55},
			"1.1 µs | 2 µs | 0.550 × (0.500 × to 0.600 ×) | ≤ 0.55 × | met? |"},
		{"the median misses it, the spread does not", figure{ours: ours, theirs: theirs, target: 0.52},
			"1.1 µs | 2 µs | 0.550 × (0.500 × to 0.600 ×) | ≤ 0.52 × | missed? |"},
		{"missed in every round", figure{ours: theirs, theirs: ours, target: 1.5},
			"2 µs | 1.1 µs | 1.818 × (1.667 × to 2.000 ×) | ≤ 1.5 × | missed |"},
		{"faster turns the ratio over", figure{ours: ours, theirs: theirs, measured: faster, target: 1.5},
			"1.1 µs | 2 µs | 1.818 × (1.667 × to 2.000 ×) | ≥ 1.5 × faster | met |"},
		{"adds is a difference, in the unit", figure{ours: theirs, theirs: ours, measured: adds, target: 500},
			"2 µs | 1.1 µs | 900 ns (800 ns to 1 µs) | adds ≤ 500 ns | missed |"},
		{"no target, no verdict", figure{ours: ours, theirs: theirs},
			"1.1 µs | 2 µs | 0.550 × (0.500 × to 0.600 ×) | none | |"},
		{"go-sdk's share is that of the idle call", figure{ours: ours, theirs: theirs, idle: read("p", "A/idle", clock)},
			"1.1 µs | 2 µs | 0.550 × (0.500 × to 0.600 ×) | none | | 90% |"},
		{"a ratio that the benchmark made itself", figure{ours: read("p", "A/ours", "own-B"), measured: given, target: 4},
			"| | | | 5.000 × (5.000 × to 5.000 ×) | ≤ 4 × | missed | 20% |"},
		{"units are added up", figure{ours: read("p", "A/ours", "own-B+own-B"), theirs: theirs},
			"10 B | 2 µs"},
		{"what was skipped says so", figure{ours: ours, theirs: read("p", "A/absent", clock), target: 2},
			"not measured | | | ≤ 2 × | |"},
	} {
		var out strings.Builder
		require.NoError(t, report(&out, []section{{title: "One", against: "theirs", figures: []figure{c.figure}}}, sixRounds))
		require.Contains(t, strings.Join(strings.Fields(out.String()), " "), c.row, c.explanation)
		require.Contains(t, out.String(), "Abacus, 2 cores")
		require.Contains(t, out.String(), "one v1, two v2")
	}
}

func TestReportRefusesWhatItCannotRead(t *testing.T) {
	sections := []section{{figures: []figure{{ours: read("p", "A", clock), theirs: read("p", "B", clock)}}}}
	for explanation, text := range map[string]string{
		"no number":        "in: p\nBenchmarkA 1 x ns/op\n",
		"half a pair":      "in: p\nBenchmarkA 1 2\n6 ns/op\n",
		"a stray line":     "PASS\n",
		"rounds that lack": "in: p\nBenchmarkA 1 2 ns/op\nBenchmarkA 1 2 ns/op\nBenchmarkB 1 2 ns/op\n",
	} {
		require.Error(t, report(&strings.Builder{}, sections, text), explanation)
	}
}
