package main

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mrtr-go/sdk/check/roundcost"
)

// figure is the finding of a row.
type figure struct {
	row
	unit         quantity // "" for a quotient
	mine, others float64  // the medians of ours and theirs, 0 if there is none
	estimate     roundcost.Estimate
	count        *figure // of the instructions, if they may decide
	missing      string  // why it was not measured
	short        bool    // the run was too short for a verdict
}

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
	get := func(of *reading) roundcost.Series {
		s := found.series[r.section][*of]
		if r.base != nil {
			s = s.Each(found.series[r.section][*r.base], func(v, base float64) float64 { return v - base })
		}
		return s
	}
	ours := get(r.ours)
	f.mine = medianOf(ours)
	if r.theirs == nil {
		f.unit = r.ours.quantity
		f.estimate = ours.Estimate().Widened(r.ours.quantity.margin())
		if r.ours.quantity.whole() {
			f.estimate = roundcost.Estimate{Low: math.Round(f.estimate.Low), Value: math.Round(f.estimate.Value), High: math.Round(f.estimate.High)}
		}
		return f
	}
	theirs := get(r.theirs)
	f.others = medianOf(theirs)
	over := func(a, b float64) float64 { return a / b }
	if r.faster {
		ours, theirs = theirs, ours
	}
	// The quotient of the lower quartiles is another estimate of the same, which
	// suffers less from other work. Where the two disagree, neither is known.
	f.estimate = ours.Each(theirs, over).Estimate().
		Including(over(roundcost.LowerQuartile(ours.Flat()), roundcost.LowerQuartile(theirs.Flat()))).
		Widened(r.ours.quantity.margin())
	return f
}

func medianOf(s roundcost.Series) float64 {
	_, median, _ := roundcost.Median(s.Flat())
	return median
}

// margin is the part of a value by which an interval is widened: runs differ by that much
// that agree. Counts of one process vary with its collector and its pools, and times also
// with the other processes, which share the caches.
func (q quantity) margin() float64 {
	switch q {
	case cpu, wall:
		return 0.01
	case instructions:
		return 0.003
	case word:
		return 0
	}
	return 0.001
}

// whole reports that one call has a whole number of it. A mean is not whole if
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

// text is a value of the figure, in its unit.
func (f *figure) text(v float64) string {
	if f.unit != "" {
		return f.unit.amount(v)
	}
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f ×", v)
	case v >= 10:
		return fmt.Sprintf("%.1f ×", v)
	}
	return fmt.Sprintf("%.3f ×", v)
}

// targetText is the target in words, "" if there is none.
func (r *row) targetText() string {
	if r.target == nil {
		return ""
	}
	f := figure{row: *r}
	text := strconv.FormatFloat(r.target.value, 'f', -1, 64) + " ×"
	if r.theirs == nil {
		text = r.ours.quantity.amount(r.target.value)
	}
	if f.target.atLeast {
		return "≥ " + text
	}
	return "≤ " + text
}

// amount is a number of the quantity, for people.
func (q quantity) amount(v float64) string {
	switch q {
	case cpu, wall:
		return duration(v)
	case heapBytes, heldBytes:
		return grouped(v) + " B"
	case instructions:
		return grouped(v)
	case allocs:
		return grouped(v) + " allocs"
	}
	return grouped(v)
}

// duration is a time of so many nanoseconds, with three digits.
func duration(ns float64) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if math.Abs(ns) >= float64(unit.of) {
			return threeDigits(ns/float64(unit.of)) + " " + unit.name
		}
	}
	return threeDigits(ns) + " ns"
}

func threeDigits(v float64) string {
	decimals := 2
	for size := math.Abs(v); size >= 9.995 && decimals > 0; size /= 10 {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// grouped is a whole number with its digits in groups of three.
func grouped(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
