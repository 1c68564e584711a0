package main

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/mrtr-go/sdk/internal/meter"
)

// pace is how long and how often everything is measured.
type pace struct {
	sittings int           // subjects are started anew for each
	rounds   int           // of one sitting
	fine     int           // times as many, where small differences matter
	turn     time.Duration // processor time of a load in one round
	warm     time.Duration // processor time before the first round
	warmNode int           // calls before the first round, for a program that is compiled while it runs
	counted  int           // calls whose instructions are counted, at least
	pairs    int           // how often they are
	stores   int           // rounds of one sitting with a store
	held     int           // calls held at once
}

var (
	full  = pace{sittings: 3, rounds: 8, fine: 3, turn: 25 * time.Millisecond, warm: 100 * time.Millisecond, warmNode: 1500, counted: 40, pairs: 2, stores: 60, held: 100_000}
	quick = pace{sittings: 1, rounds: 2, fine: 1, turn: 4 * time.Millisecond, warm: 4 * time.Millisecond, warmNode: 50, counted: 4, pairs: 1, stores: 2, held: 10_000}
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
	n, least := max(4, s.clients), 1
	if s.program == nodeServer || s.program == nodeCodec {
		least = p.warmNode
	}
	var spent meter.Reading
	for made := 0; ; n *= 2 {
		var err error
		if spent, err = s.run(n); err != nil {
			return err
		}
		if made += n; spent.CPU > p.warm/2 && made >= least {
			break
		}
	}
	s.calls = max(2, s.clients, int(p.turn*time.Duration(n)/spent.CPU))
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
