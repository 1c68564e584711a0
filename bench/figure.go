package main

import (
	"fmt"
	"math"

	"github.com/mrtr-go/sdk/internal/sample"
)

// figure is the finding of a row.
type figure struct {
	row
	unit         quantity // "" for a quotient
	mine, others spent    // of ours and theirs; zero where there is none
	estimate     sample.Estimate
	count        *figure // of the instructions, where they may decide
	missing      string  // why it was not measured
	short        bool    // the run was too short for a verdict
}

// spent is the cost of one call of one subject.
type spent struct{ median, lowerQuartile float64 }

func spentOf(s sample.Series) spent {
	_, median, _ := sample.Median(s.Flat())
	return spent{median, sample.LowerQuartile(s.Flat())}
}

// Counts of one process vary with its collector and its pools, and times also with
// the other processes, which share the caches. Every interval
// is widened by that much, as part of the value: runs that differed by less have
// been seen.
const (
	marginOfAllocations  = 0.001
	marginOfInstructions = 0.003
	marginOfTimes        = 0.01
)

// judge makes a row's figure from the results.
func (r row) judge(found *results) figure {
	f := figure{row: r}
	if r.counted {
		f.count = ptr(r.inInstructions().judge(found))
	}
	for _, of := range r.readings() {
		if err := found.missing[of]; err != nil {
			f.missing = err.Error()
			return f
		}
		if found.series[r.section][of] == nil {
			f.missing = "not measured"
			if r.alone != "" {
				f.missing = "in a run of its own: " + r.alone
			}
			return f
		}
	}
	get := func(of *reading) sample.Series {
		s := found.series[r.section][*of]
		if r.base != nil {
			s = s.Each(found.series[r.section][*r.base], func(v, base float64) float64 { return v - base })
		}
		return s
	}
	ours := get(r.ours)
	f.mine = spentOf(ours)
	if r.theirs == nil {
		f.unit = r.ours.quantity
		f.estimate = ours.Estimate().Widened(r.ours.quantity.margin())
		if r.ours.quantity.whole() {
			f.estimate = sample.Estimate{Low: math.Round(f.estimate.Low), Value: math.Round(f.estimate.Value), High: math.Round(f.estimate.High)}
		}
		return f
	}
	theirs := get(r.theirs)
	f.others = spentOf(theirs)
	over := func(a, b float64) float64 { return a / b }
	if r.faster {
		ours, theirs = theirs, ours
	}
	// The quotient of the lower quartiles is another estimate of the same, which
	// suffers less from other work. Where the two disagree, neither is known.
	f.estimate = ours.Each(theirs, over).Estimate().
		Including(over(sample.LowerQuartile(ours.Flat()), sample.LowerQuartile(theirs.Flat()))).
		Widened(r.ours.quantity.margin())
	return f
}

// margin is the part of a value by which runs differ that agree.
func (q quantity) margin() float64 {
	switch q {
	case cpu, wall:
		return marginOfTimes
	case instructions:
		return marginOfInstructions
	case word:
		return 0
	}
	return marginOfAllocations
}

// whole reports that one call has a whole number of it. A mean is not whole where
// something happens once in many calls, a pool that is filled anew for instance.
func (q quantity) whole() bool { return q == allocs || q == word }

// verdict holds the figure against its target. Where the target lies within the
// interval another run might find it met or missed, so this one does not say, unless
// instructions were counted.
func (f *figure) verdict() string {
	switch {
	case f.target == nil || f.missing != "":
		return ""
	case f.short:
		return "too short a run"
	case f.target.meets(f.estimate.Low) && f.target.meets(f.estimate.High):
		return "met"
	case f.target.meets(f.estimate.Low) || f.target.meets(f.estimate.High):
		if f.count == nil || f.count.missing != "" {
			return "undecided"
		}
		counted := f.count.verdict()
		if counted == "undecided" {
			return counted
		}
		return fmt.Sprintf("%s by instructions, %s", counted, f.count.text(f.count.estimate.Value))
	case f.target.value == 0:
		return "missed by " + f.unit.amount(f.estimate.Value)
	}
	percent := 100 * math.Abs(f.estimate.Value/f.target.value-1)
	if percent < 1 {
		return fmt.Sprintf("missed by %.1f%%", percent)
	}
	return fmt.Sprintf("missed by %.0f%%", percent)
}

func (t *target) meets(v float64) bool {
	if t.atLeast {
		return v >= t.value
	}
	return v <= t.value
}
