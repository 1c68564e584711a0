package main

import (
	"fmt"
	"slices"
)

// reading is one number of one benchmark, by its unit. Several units joined
// by + are added up.
type reading struct {
	contender
	unit string
}

// measured is how ours is compared with theirs.
type measured int

const (
	times  measured = iota // ours over theirs, at most the target
	faster                 // theirs over ours, at least the target
	adds                   // ours less theirs, at most the target
	given                  // ours is the ratio, as the benchmark prints it
)

// figure is one line of the table.
type figure struct {
	what         string
	ours, theirs reading
	measured     measured
	target       float64 // 0 where there is none
	// idle is the same call with a handler that does nothing, whose cost is
	// go-sdk's share. Zero where go-sdk has none.
	idle reading
}

// section is one table.
type section struct {
	title   string
	against string // the name of the other side
	figures []figure
}

func (f *figure) contenders() []contender {
	var all []contender
	for _, c := range []contender{f.ours.contender, f.theirs.contender, f.idle.contender} {
		if c != (contender{}) {
			all = append(all, c)
		}
	}
	return all
}

// contendersOf are the benchmarks that the figures need, each once.
func contendersOf(sections []section) []contender {
	var all []contender
	for _, s := range sections {
		for _, f := range s.figures {
			for _, c := range f.contenders() {
				if !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// compare compares ours with theirs, round by round.
func (f *figure) compare(ours, theirs sample) sample {
	switch f.measured {
	case faster:
		return theirs.over(ours)
	case adds:
		return ours.minus(theirs)
	case given:
		return ours
	}
	return ours.over(theirs)
}

func (f *figure) meets(v float64) bool {
	if f.measured == faster {
		return v >= f.target
	}
	return v <= f.target
}

// text is a compared value in words.
func (f *figure) text(v float64) string {
	if f.measured == adds {
		return amount(v, f.ours.unit)
	}
	return digits(v) + " ×"
}

func (f *figure) targetText() string {
	switch {
	case f.target == 0:
		return "none"
	case f.measured == adds:
		return "adds ≤ " + amount(f.target, f.ours.unit)
	case f.measured == faster:
		return fmt.Sprintf("≥ %v × faster", f.target)
	}
	return fmt.Sprintf("≤ %v ×", f.target)
}

// verdict compares the figure with its target.
func (f *figure) verdict(compared sample) string {
	if f.target == 0 {
		return ""
	}
	low, median, high := compared.spread()
	verdict := "missed"
	if f.meets(median) {
		verdict = "met"
	}
	if f.meets(low) != f.meets(high) {
		verdict += "?"
	}
	return verdict
}
