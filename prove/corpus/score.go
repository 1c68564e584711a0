package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// write prints a line for each server that was not judged as it must be, and the score.
// If verbose, it has a line for every server.
func write(out io.Writer, results []judged, verbose bool) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, j := range results {
		if !verbose && j.right() {
			continue
		}
		wanted := j.server.mistake.rules
		if j.server.correct() {
			wanted = "none of the specification's"
		}
		fmt.Fprintf(table, "%s\t%s\twanted %s\tgot %s\n", j.server.name(), abilities(j.able), wanted, j.got())
	}
	_ = table.Flush()
	for _, j := range results {
		for _, f := range j.condemned() {
			if verbose && j.server.correct() {
				fmt.Fprintf(out, "%s, %s:\n%s\n", j.server.name(), abilities(j.able), f)
			}
		}
	}
	for _, able := range []bool{true, false} {
		fmt.Fprint(out, scoreOf(results, able))
	}
}

func abilities(able bool) string {
	if able {
		return "all abilities"
	}
	return "URL and counter"
}

// right says that a server was judged as it must be.
func (j judged) right() bool {
	if j.server.correct() {
		return j.err == nil && len(j.condemned()) == 0
	}
	return j.found()
}

// score counts servers. A mistake stands behind several designs.
type score struct {
	able             bool
	mistakes         map[string]bool // by language and name: whether it was found behind every design
	broken, found    int
	correct, accused int
	unproved         int
}

func scoreOf(results []judged, able bool) score {
	s := score{able: able, mistakes: map[string]bool{}}
	for _, j := range results {
		if j.able != able {
			continue
		}
		if j.err != nil {
			s.unproved++
		}
		if j.server.correct() {
			s.correct++
			if len(j.condemned()) > 0 {
				s.accused++
			}
			continue
		}
		s.broken++
		name := j.server.language.name + "/" + j.server.mistake.name
		known, seen := s.mistakes[name]
		s.mistakes[name] = j.found() && (known || !seen)
		if j.found() {
			s.found++
		}
	}
	return s
}

// recall is the part of the servers with a mistake that the right rule condemned.
func (s score) recall() float64 { return float64(s.found) / float64(max(s.broken, 1)) }

// precision is the part of those whom a verdict hit that deserved it: a correct server deserves
// none of a rule of the specification.
func (s score) precision() float64 { return float64(s.found) / float64(max(s.found+s.accused, 1)) }

func (s score) String() string {
	everywhere := 0
	for _, found := range s.mistakes {
		if found {
			everywhere++
		}
	}
	return fmt.Sprintf(`%s
  recall     %5.1f %%  the right rule failed for %d of %d servers with a mistake; %d of %d mistakes behind every design
  precision  %5.1f %%  a rule of the specification failed for %d of %d correct servers
  unproved   %d
`, abilities(s.able), 100*s.recall(), s.found, s.broken, everywhere, len(s.mistakes), 100*s.precision(), s.accused, s.correct, s.unproved)
}
