package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/check/roundcost"
)

// results holds the readings. Loads are compared within a section, so that is
// where their readings are kept.
type results struct {
	mu      sync.Mutex
	series  map[string]map[reading]roundcost.Series // by section
	missing map[reading]error                       // why something was not measured
}

func newResults() *results {
	return &results{series: map[string]map[reading]roundcost.Series{}, missing: map[reading]error{}}
}

// record keeps a value that a sitting of a section found.
func (r *results) record(section string, of reading, sitting int, v float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.series[section] == nil {
		r.series[section] = map[reading]roundcost.Series{}
	}
	s := r.series[section][of]
	for len(s) <= sitting {
		s = append(s, nil)
	}
	s[sitting] = append(s[sitting], v)
	r.series[section][of] = s
}

// wanted are the readings of a section.
type wanted struct {
	section  string
	readings []reading
}

// wantedBy lists the readings of the rows, by section, in their order. Rows that are
// measured in a run of their own are left out of every other one.
func wantedBy(rows []row, alone bool) []wanted {
	var all []wanted
	want := func(section string, of reading) {
		i := slices.IndexFunc(all, func(w wanted) bool { return w.section == section })
		if i < 0 {
			i, all = len(all), append(all, wanted{section: section})
		}
		if !slices.Contains(all[i].readings, of) {
			all[i].readings = append(all[i].readings, of)
		}
	}
	for _, r := range rows {
		if r.alone != "" && !alone {
			continue
		}
		for _, of := range r.readings() {
			want(r.section, of)
		}
		if r.counted {
			counts := r.inInstructions()
			for _, of := range counts.readings() {
				want(r.section, of)
			}
		}
	}
	return all
}

// measure measures everything that is wanted: first the timed loads, section by
// section, then the counted ones, on all processors at once.
func (w *workshop) measure(p pace, all []wanted) (*results, error) {
	found := newResults()
	var counted []func() error
	for _, s := range all {
		begun := time.Now()
		var timed []load
		var remembering []program
		for _, of := range s.readings {
			err := w.available(of)
			switch {
			case isMissing(err):
				found.missing[of] = err
			case err != nil:
				return nil, err
			case isStore(of.program):
				if !slices.Contains(remembering, of.program) {
					remembering = append(remembering, of.program)
				}
			case of.quantity == instructions:
				counted = append(counted, func() error { return w.countPairs(p, s.section, of.load, found) })
			case of.quantity == word || of.quantity == heldBytes:
				if err := w.ask(p, s.section, of, found); err != nil {
					return nil, err
				}
			case !slices.Contains(timed, of.load):
				timed = append(timed, of.load)
			}
		}
		if len(timed) > 0 {
			p := p
			if slices.Contains(fine, s.section) {
				p.rounds *= p.fine
			}
			record := func(of reading, sitting int, v float64) { found.record(s.section, of, sitting, v) }
			if err := w.takeRounds(p, timed, record); err != nil {
				return nil, fmt.Errorf("%s: %w", s.section, err)
			}
		}
		for _, store := range remembering {
			if err := w.measureStore(p, s, store, found); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(w.progress, "%.0fs: %s\n", time.Since(begun).Seconds(), s.section)
	}
	begun := time.Now()
	if err := inParallel(counted); err != nil {
		return nil, err
	}
	fmt.Fprintf(w.progress, "%.0fs: instructions\n", time.Since(begun).Seconds())
	return found, nil
}

// fine are the sections whose targets lie close to the figures: there are more
// rounds of them.
var fine = []string{overSocket, engineOnly, inProcess, bounded}

// available says why a reading cannot be taken on this machine, if it cannot.
func (w *workshop) available(of reading) error {
	_, err := w.command(of.program)
	if err == nil && of.quantity == instructions {
		_, err = valgrind("")
	}
	return err
}

// countPairs counts a load's instructions. Where a call takes so few that a
// collection would be as many as hundreds of calls, it is counted without the
// collector, and more calls are counted.
func (w *workshop) countPairs(p pace, section string, l load, found *results) error {
	n, counted := p.counted, l
	if strings.HasPrefix(l.subject, "engine/") || l.program == mrtrBench {
		n *= 10
		counted.gogc = noCollector
	}
	for sitting := range p.pairs {
		v, err := w.count(counted, n)
		if err != nil {
			return err
		}
		found.record(section, l.read(instructions), sitting, v)
	}
	return nil
}

// ask starts a subject for the figure that it says first.
func (w *workshop) ask(p pace, section string, of reading, found *results) error {
	l := of.load
	if l.subject == "held" {
		l.subject = fmt.Sprintf("held/%d", p.held)
	}
	r, err := w.start(l, nil)
	if err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(r.(*worker).word, 64)
	found.record(section, of, 0, v)
	return err
}

// inParallel does everything, as much at once as there are processors.
func inParallel(all []func() error) error {
	failures := make([]error, len(all))
	free := make(chan struct{}, runtime.NumCPU())
	var done sync.WaitGroup
	for i, do := range all {
		free <- struct{}{}
		done.Go(func() {
			defer func() { <-free }()
			failures[i] = do()
		})
	}
	done.Wait()
	return errors.Join(failures...)
}

// pace is how long and how often everything is measured.
type pace struct {
	sittings int           // subjects are started anew for each
	rounds   int           // of one sitting
	fine     int           // times as many, if small differences matter
	turn     time.Duration // processor time of a load in one round
	warm     time.Duration // processor time before the first round
	warmNode int           // calls before the first round, for a program that is compiled while it runs
	counted  int           // calls whose instructions are counted, at least
	pairs    int           // how often they are
	stores   int           // rounds of one sitting with a store
	held     int           // calls held at once
	short    bool          // too short for a verdict
}

var (
	full  = pace{sittings: 3, rounds: 8, fine: 3, turn: 25 * time.Millisecond, warm: 100 * time.Millisecond, warmNode: 1500, counted: 40, pairs: 2, stores: 60, held: 100_000}
	quick = pace{sittings: 1, rounds: 2, fine: 1, turn: 4 * time.Millisecond, warm: 4 * time.Millisecond, warmNode: 50, counted: 4, pairs: 1, stores: 2, held: 10_000, short: true}
)

// benchmarkCalls is how often a benchmark is run in its shorter process: so often
// that the process's start, which varies, is small beside it.
const benchmarkCalls = 20_000

// seat is a load at one sitting.
type seat struct {
	load
	runner
	calls int // made in each round
}

// takeRounds measures loads against one another: all of them in each round, a few
// calls of each, so that whatever else the machine does weighs on all alike. The
// order is another one in each round, since who comes after whom matters.
func (w *workshop) takeRounds(p pace, loads []load, record func(reading, int, float64)) (err error) {
	for sitting := range p.sittings {
		var seats []*seat
		closeAll := func() error {
			var all []error
			for _, s := range seats {
				all = append(all, s.close())
			}
			return errors.Join(all...)
		}
		for _, l := range loads {
			r, err := w.start(l, nil)
			if err != nil {
				return errors.Join(err, closeAll())
			}
			s := &seat{load: l, runner: r}
			seats = append(seats, s)
			if err := s.warmUp(p); err != nil {
				return errors.Join(err, closeAll())
			}
		}
		for range p.rounds {
			for _, i := range rand.Perm(len(seats)) {
				s := seats[i]
				if err := s.turn(func(q quantity, v float64) { record(s.read(q), sitting, v) }); err != nil {
					return errors.Join(err, closeAll())
				}
			}
		}
		if err := closeAll(); err != nil {
			return err
		}
	}
	return nil
}

// warmUp makes calls until caches and pools are filled, and finds how many fit
// into a turn.
func (s *seat) warmUp(p pace) error {
	if s.program == mrtrBench {
		s.calls = benchmarkCalls
		return nil
	}
	n, least := 4, 1
	if s.program == nodeServer {
		least = p.warmNode
	}
	var spent roundcost.Reading
	for made := 0; ; n *= 2 {
		var err error
		if spent, err = s.run(n); err != nil {
			return err
		}
		if made += n; spent.CPU > p.warm/2 && made >= least {
			break
		}
	}
	s.calls = max(2, int(p.turn*time.Duration(n)/spent.CPU))
	return nil
}

// turn makes the calls of a round and records the cost of one. A benchmark's process
// does more than the benchmark, so it takes two of different length.
func (s *seat) turn(record func(q quantity, v float64)) error {
	spent, err := s.run(s.calls)
	if err != nil {
		return err
	}
	n := s.calls
	if s.program == mrtrBench {
		longer, err := s.run(5 * n)
		if err != nil {
			return err
		}
		spent, n = longer.Since(spent), 4*n
	}
	each := func(total float64) float64 { return total / float64(n) }
	record(cpu, each(float64(spent.CPU.Nanoseconds())))
	record(wall, each(float64(spent.Wall.Nanoseconds())))
	record(allocs, each(float64(spent.Allocs)))
	record(heapBytes, each(float64(spent.Bytes)))
	return nil
}
