package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/internal/sample"
)

// results holds the readings. Loads are compared within a section, so that is
// where their readings are kept.
type results struct {
	mu      sync.Mutex
	series  map[string]map[reading]sample.Series // by section
	missing map[reading]error                    // why something was not measured
}

func newResults() *results {
	return &results{series: map[string]map[reading]sample.Series{}, missing: map[reading]error{}}
}

// record keeps a value that a sitting of a section found.
func (r *results) record(section string, of reading, sitting int, v float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.series[section] == nil {
		r.series[section] = map[reading]sample.Series{}
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
	drawn    bool // for a picture only: there is no verdict that sittings could overturn
}

// wantedBy lists what rows and curves are made of, by section, in their order. Rows
// that are measured in a run of their own are left out of every other one.
func wantedBy(rows []row, curves []curve, alone bool) []wanted {
	var all []wanted
	want := func(section string, of reading, drawn bool) {
		i := slices.IndexFunc(all, func(w wanted) bool { return w.section == section })
		if i < 0 {
			i, all = len(all), append(all, wanted{section: section, drawn: drawn})
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
			want(r.section, of, false)
		}
		if r.counted {
			counts := r.inInstructions()
			for _, of := range counts.readings() {
				want(r.section, of, false)
			}
		}
	}
	for _, c := range curves {
		for _, p := range c.points {
			want(c.section, p.of.read(cpu), true)
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
			switch {
			case s.drawn:
				p.sittings = 1
			case slices.Contains(fine, s.section):
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
	if l.program == engine || l.program == mrtrBench {
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

// ask starts a subject for the word that it says first.
func (w *workshop) ask(p pace, section string, of reading, found *results) error {
	l := of.load
	if l.subject == "held" {
		l.subject = fmt.Sprintf("held/%d", p.held)
	}
	r, err := w.start(l, nil)
	if err != nil {
		return err
	}
	said := r.(*worker).word
	if err := r.close(); err != nil {
		return err
	}
	if of.quantity == word {
		v, err := strconv.ParseFloat(said, 64)
		found.record(section, of, 0, v)
		return err
	}
	var h holdings
	if err := json.Unmarshal([]byte(said), &h); err != nil {
		return err
	}
	fmt.Fprintf(w.progress, "held %d calls in %v, %.0f bytes each; resumed and finished each once in %v\n",
		h.Held, h.Hold.Round(time.Millisecond), h.Bytes, h.Resume.Round(time.Millisecond))
	found.record(section, of, 0, h.Bytes)
	return nil
}

// holdings is the answer of a subject of the kind held.
type holdings struct {
	Held   int           `json:"held"`
	Bytes  float64       `json:"bytes"`
	Hold   time.Duration `json:"hold"`
	Resume time.Duration `json:"resume"`
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
