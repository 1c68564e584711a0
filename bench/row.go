package main

import "regexp"

// row is one line of the table. Its figure is ours; or (ours − base) where there
// is a base; or that over (theirs − base) where there is something to compare
// with. faster turns the quotient over.
type row struct {
	section, name      string
	ours, theirs, base *reading
	faster             bool
	counted            bool // instructions decide where the time does not
	target             *target
	alone              string // the flag of the run of its own in which it is measured
}

// target is the bound that a row's figure has to keep.
type target struct {
	atLeast bool
	value   float64
}

func atMost(v float64) *target  { return &target{value: v} }
func atLeast(v float64) *target { return &target{true, v} }

func (r *row) readings() []reading {
	var all []reading
	for _, of := range []*reading{r.ours, r.theirs, r.base} {
		if of != nil {
			all = append(all, *of)
		}
	}
	return all
}

// inInstructions is the row of the same loads for their instructions.
func (r row) inInstructions() row {
	for _, of := range []**reading{&r.ours, &r.theirs, &r.base} {
		if *of != nil {
			*of = ptr((*of).load.read(instructions))
		}
	}
	r.counted = false
	return r
}

// orCounted makes a row of times one that instructions decide where its interval holds
// the target. They are the same in every run, and leave out the work of the kernel.
func (r row) orCounted() row { r.counted = true; return r }

// over compares two loads in one quantity.
func over(ours, theirs load, q quantity) row {
	return row{ours: ptr(ours.read(q)), theirs: ptr(theirs.read(q))}
}

func value(of reading) row { return row{ours: &of} }

// adds is the extra cost of a load over another.
func adds(ours, base load, q quantity) row {
	return row{ours: ptr(ours.read(q)), base: ptr(base.read(q))}
}

func (r row) named(section, name string, t *target) row {
	r.section, r.name, r.target = section, name, t
	return r
}

func (r row) timesFaster() row { r.faster = true; return r }

// aloneWith makes a row one that is measured in a run of its own, with this flag.
func (r row) aloneWith(flag string) row { r.alone = flag; return r }

func ptr[T any](v T) *T { return &v }

// chooseRows keeps the rows whose section and name match.
func chooseRows(all []row, pattern *regexp.Regexp) []row {
	var chosen []row
	for _, r := range all {
		if pattern.MatchString(r.section + ": " + r.name) {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// aloneRows keeps the rows that are measured in a run of their own.
func aloneRows(all []row) []row {
	var alone []row
	for _, r := range all {
		if r.alone != "" {
			alone = append(alone, r)
		}
	}
	return alone
}
