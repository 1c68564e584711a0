package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/check/roundcost"
)

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		explanation string
		target      *target
		estimate    roundcost.Estimate
		verdict     string
	}{
		{"without a target there is none", nil, roundcost.Estimate{Low: 1, Value: 1, High: 1}, ""},
		{"the whole interval meets it", atMost(1.05), roundcost.Estimate{Low: 1.01, Value: 1.03, High: 1.05}, "met"},
		{"a part of the interval misses it, the value meets it", atMost(1.05), roundcost.Estimate{Low: 1.01, Value: 1.03, High: 1.06}, "undecided"},
		{"a part of the interval meets it, the value misses it", atMost(1.05), roundcost.Estimate{Low: 1.04, Value: 1.06, High: 1.07}, "undecided"},
		{"the whole interval misses it", atMost(1.05), roundcost.Estimate{Low: 1.06, Value: 1.155, High: 1.2}, "missed by 10%"},
		{"missed by little", atMost(100), roundcost.Estimate{Low: 100.1, Value: 100.3, High: 100.4}, "missed by 0.3%"},
		{"at least, met", atLeast(2), roundcost.Estimate{Low: 2, Value: 3, High: 4}, "met"},
		{"at least, missed", atLeast(2), roundcost.Estimate{Low: 1, Value: 1.5, High: 1.9}, "missed by 25%"},
		{"at least, undecided", atLeast(2), roundcost.Estimate{Low: 1, Value: 1.5, High: 2}, "undecided"},
	} {
		f := figure{row: row{target: c.target}, estimate: c.estimate}
		require.Equal(t, c.verdict, f.verdict(), c.explanation)
	}
	undecided := roundcost.Estimate{Low: 0.9, Value: 1.1, High: 1.2}
	for _, c := range []struct {
		explanation string
		estimate    roundcost.Estimate
		count       figure
		verdict     string
	}{
		{"times that decide", roundcost.Estimate{Low: 0.7, Value: 0.8, High: 0.9}, figure{estimate: roundcost.Estimate{Low: 2, Value: 2, High: 2}}, "met"},
		{"times that decide otherwise", roundcost.Estimate{Low: 1.1, Value: 1.2, High: 1.3}, figure{estimate: roundcost.Estimate{Low: 0.5, Value: 0.5, High: 0.5}}, "missed by 20%"},
		{"instructions that meet it", undecided, figure{estimate: roundcost.Estimate{Low: 0.79, Value: 0.8, High: 0.81}}, "met by instructions, 0.800 ×"},
		{"instructions that miss it", undecided, figure{estimate: roundcost.Estimate{Low: 1.24, Value: 1.25, High: 1.26}}, "missed by 25% by instructions, 1.250 ×"},
		{"instructions that do not decide", undecided, figure{estimate: roundcost.Estimate{Low: 0.99, Value: 1, High: 1.01}}, "undecided"},
		{"instructions that were not counted", undecided, figure{missing: "needs valgrind"}, "undecided"},
	} {
		c.count.target = atMost(1)
		f := figure{row: row{target: atMost(1)}, estimate: c.estimate, count: &c.count}
		require.Equal(t, c.verdict, f.verdict(), c.explanation)
	}
	short := figure{row: row{target: atMost(1)}, short: true}
	require.Equal(t, "too short a run", short.verdict())
	nothing := figure{row: row{target: atMost(0)}, unit: allocs, estimate: roundcost.Estimate{Low: 3, Value: 3, High: 3}}
	require.Equal(t, "missed by 3 allocs", nothing.verdict())
}

func TestJudge(t *testing.T) {
	a, b, base := inMemory(today, "a"), inMemory(today, "b"), inMemory(today, "base")
	found := newResults()
	for sitting, values := range [][3]float64{{300, 200, 100}, {310, 200, 100}, {290, 200, 100}} {
		for range 8 {
			for i, l := range []load{a, b, base} {
				found.record("s", l.read(cpu), sitting, values[i])
				found.record("s", l.read(allocs), sitting, values[i]+0.2)
			}
		}
	}
	ratio := over(a, b, cpu).named("s", "ratio", nil).judge(found)
	require.InDelta(t, 1.5, ratio.estimate.Value, 1e-9)
	require.LessOrEqual(t, ratio.estimate.Low, 1.45, "a sitting found that")
	require.GreaterOrEqual(t, ratio.estimate.High, 1.55, "another found that")
	require.InDelta(t, 1/1.5, over(a, b, cpu).timesFaster().named("s", "faster", nil).judge(found).estimate.Value, 1e-9)

	difference := adds(a, base, allocs).named("s", "adds", nil).judge(found)
	require.Equal(t, 200.0, difference.estimate.Value)
	require.Equal(t, allocs, difference.unit)

	both := row{section: "s", ours: ptr(a.read(cpu)), theirs: ptr(b.read(cpu)), base: ptr(base.read(cpu))}
	require.InDelta(t, 2.0, ptr(both.judge(found)).estimate.Value, 1e-9, "200 over 100")

	for _, v := range []float64{399, 401} {
		found.record("s", a.read(instructions), 0, v)
		found.record("s", b.read(instructions), 0, 2*v)
	}
	counted := over(a, b, cpu).named("s", "ratio", atMost(1.5)).orCounted().judge(found)
	require.Equal(t, "met by instructions, 0.500 ×", counted.verdict())

	found.missing[b.read(cpu)] = &missing{"an abacus"}
	require.Equal(t, "needs an abacus", over(a, b, cpu).named("s", "ratio", nil).judge(found).missing)
	require.Equal(t, "not measured", over(a, b, wall).named("s", "ratio", nil).judge(found).missing)
}

func TestTexts(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.00 ns", 3.14159: "3.14 ns", 45.67: "45.7 ns", 999.6: "1000 ns", 1234: "1.23 µs", 56_789: "56.8 µs", 1_234_567: "1.23 ms", -5750: "-5.75 µs",
	} {
		require.Equal(t, want, duration(v))
	}
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		require.Equal(t, want, grouped(v))
	}
}
