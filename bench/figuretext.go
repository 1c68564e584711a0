package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

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

// targetText is the target in words, "" where there is none.
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
