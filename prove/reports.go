package prove

import (
	"io"
	"strings"
)

// Reports are several proofs, in the order in which they were made.
type Reports []*Report

// Count is the number of findings with an outcome.
func (all Reports) Count(o Outcome) int {
	n := 0
	for _, r := range all {
		n += r.Count(o)
	}
	return n
}

// String is the text of one report after the other.
func (all Reports) String() string {
	var b strings.Builder
	for _, r := range all {
		b.WriteString(r.String())
	}
	return b.String()
}

// WriteJSON writes the reports as one JSON array.
func (all Reports) WriteJSON(w io.Writer) error { return writeJSON(w, all) }

// WriteJUnit writes the reports as JUnit XML, one suite for each group of rules of
// each report.
func (all Reports) WriteJUnit(w io.Writer) error {
	var suites junitSuites
	for _, r := range all {
		suites.add(r)
	}
	return suites.write(w)
}
