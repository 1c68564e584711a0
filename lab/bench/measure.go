package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/check/roundcost"
)

// finding is what a row was found to be: an amount of ours, or a ratio to theirs, with its
// quartiles.
type finding struct {
	ours, theirs     string
	low, value, high float64
	text             func(v float64) string
	missing          string
}

// pace is how long and how often everything is measured.
type pace struct {
	sittings int // servers are started anew for each
	rounds   int // of one sitting
	thinking int // rounds of one sitting of a user who thinks
	block    time.Duration
	counted  int // calls whose instructions are counted, at least
	open     int // calls that are open at once
	short    bool
}

var (
	full  = pace{sittings: 3, rounds: 8, thinking: 8, block: 60 * time.Millisecond, counted: 40, open: 1_000_000}
	quick = pace{sittings: 1, rounds: 2, thinking: 1, block: 5 * time.Millisecond, counted: 4, open: 20_000, short: true}
)

// cpu compares the processor time of a call at two servers.
func cpu(ours, theirs side, l load) func(w *workshop) (finding, error) {
	return func(w *workshop) (finding, error) {
		var spent [2][]float64
		var ratios []float64
		for range w.sittings {
			err := w.sit(ours, theirs, l, func(mine, other float64) {
				spent[0], spent[1] = append(spent[0], mine), append(spent[1], other)
				ratios = append(ratios, mine/other)
			})
			if err != nil {
				return finding{}, err
			}
		}
		f := finding{ours: medianTime(spent[0]), theirs: medianTime(spent[1]), text: ratio}
		f.low, f.value, f.high = roundcost.Quartiles(ratios)
		return f, nil
	}
}

// sit starts two servers, and records what a call costs each in every round.
func (w *workshop) sit(ours, theirs side, l load, record func(mine, other float64)) (err error) {
	var servers [2]*server
	for i, s := range []side{ours, theirs} {
		if servers[i], err = w.start(s, l); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, servers[i].close()) }()
	}
	if l.call.Think > 0 {
		return w.think(servers, record)
	}
	var calls [2]int
	for i, s := range servers {
		if calls[i], err = s.warmUp(w.block); err != nil {
			return err
		}
	}
	for range w.rounds {
		var each [2]float64
		for _, i := range rand.Perm(2) {
			spent, err := servers[i].spends(func() error { return servers[i].make(calls[i]) })
			if err != nil {
				return err
			}
			each[i] = float64(spent) / float64(calls[i])
		}
		record(each[0], each[1])
	}
	return nil
}

// think lets both servers serve a user who thinks, at the same time: what they do meanwhile
// counts too.
func (w *workshop) think(servers [2]*server, record func(mine, other float64)) error {
	for range w.thinking {
		var spent [2]time.Duration
		var failed [2]error
		done := make(chan int)
		for i, s := range servers {
			go func() {
				spent[i], failed[i] = s.spends(func() error { return s.make(1) })
				done <- i
			}()
		}
		<-done
		<-done
		if err := errors.Join(failed[:]...); err != nil {
			return err
		}
		record(float64(spent[0]), float64(spent[1]))
	}
	return nil
}

// warmUp makes calls until caches and pools are filled, and finds how many fit into a block.
// A program that is compiled while it runs needs many.
func (r *server) warmUp(block time.Duration) (calls int, _ error) {
	for n := len(r.clients); ; n *= 2 {
		spent, err := r.spends(func() error { return r.make(n) })
		if err != nil {
			return 0, err
		}
		if spent > 4*block {
			fit := int(block * time.Duration(n) / spent)
			return max(1, fit/len(r.clients)) * len(r.clients), nil
		}
	}
}

// instructions compares the instructions of a call at two servers. They are the same in
// every run, and leave out the work of the kernel.
func instructions(ours, theirs side, l load) func(w *workshop) (finding, error) {
	return func(w *workshop) (finding, error) {
		mine, err := w.instructionsOf(ours, l)
		if err != nil {
			return finding{}, err
		}
		other, err := w.instructionsOf(theirs, l)
		v := mine / other
		return finding{ours: count(mine), theirs: count(other), low: v, value: v, high: v, text: ratio}, err
	}
}

func (w *workshop) instructionsOf(s side, l load) (float64, error) {
	return w.counts(w.counted, func(n int, prefix ...string) error {
		r, err := w.start(s, l, prefix...)
		if err != nil {
			return err
		}
		return errors.Join(r.make(n), r.close())
	})
}

// counts is how many instructions each of n runs takes. A process does it n times and
// another one five times as often, so that how they start and end falls out. SHA-256's
// compression function is taken off: valgrind has no instructions for SHA, and runs in its
// place code that no machine runs that has them.
func (w *workshop) counts(n int, do func(n int, prefix ...string) error) (float64, error) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		return 0, &missing{"valgrind: run lab/bench/install"}
	}
	total := func(n int) (float64, error) {
		file := filepath.Join(w.dir, "callgrind.out")
		err := do(n, "env", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", valgrind, "--tool=callgrind", "--quiet", "--callgrind-out-file="+file)
		if err != nil {
			return 0, err
		}
		text, err := said("callgrind_annotate", "--threshold=100", "--auto=no", "--tree=none", "--show-percs=no", file)
		if err != nil {
			return 0, err
		}
		return withoutSHA(text)
	}
	few, err := total(n)
	if err != nil {
		return 0, err
	}
	many, err := total(5 * n)
	return (many - few) / float64(4*n), err
}

// costLine is the line of the total, or that of SHA-256's compression function.
var costLine = regexp.MustCompile(`(?m)^ *([\d,]+)  (?:(PROGRAM TOTALS)|[^= ].*:crypto/internal/fips140/sha256\.block)`)

// withoutSHA reads the costs in an account by callgrind_annotate.
func withoutSHA(account string) (cost float64, _ error) {
	totals := 0
	for _, m := range costLine.FindAllStringSubmatch(account, -1) {
		v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			return 0, err
		}
		if m[2] != "" {
			cost += v
			totals++
		} else {
			cost -= v
		}
	}
	if totals != 1 {
		return 0, fmt.Errorf("%d totals in the account of callgrind_annotate:\n%s", totals, account)
	}
	return cost, nil
}

// allocated is how many bytes a server allocates for a call.
func allocated(s side, l load) func(w *workshop) (finding, error) {
	return func(w *workshop) (f finding, err error) {
		r, err := w.start(s, l)
		if err != nil {
			return f, err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		calls, err := r.warmUp(w.block)
		if err != nil {
			return f, err
		}
		calls = max(calls, 100)
		before, err := r.allocated()
		if err != nil {
			return f, err
		}
		if err := r.make(calls); err != nil {
			return f, err
		}
		after, err := r.allocated()
		return amount((after-before)/float64(calls), bytes), err
	}
}

func (r *server) allocated() (float64, error) {
	res, err := http.Get("http://" + r.address + "/allocated")
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(text), 64)
}

// engine runs the tests of package mrtr, or their benchmarks, in a process of its own.
func (w *workshop) engine(environment string, prefix []string, arguments ...string) (string, error) {
	binary, err := w.built("mrtr.test", "../..", "test", "-c", "./mrtr")
	if err != nil {
		return "", err
	}
	line := append(append(append([]string(nil), prefix...), binary), arguments...)
	command := exec.Command(line[0], line[1:]...)
	command.Dir, command.Env = "../../mrtr", append(os.Environ(), environment)
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	return string(output), err
}

// openCalls is the memory of calls that wait.
func openCalls(w *workshop) (finding, error) {
	output, err := w.engine(fmt.Sprintf("MRTR_OPEN_CALLS=%d", w.open), nil, "-test.run=^TestOpenCallsTakeBoundedMemory$", "-test.v")
	if err != nil {
		return finding{}, err
	}
	v, err := numberIn(output, `held in (\d+) bytes`)
	return amount(v, bytes), err
}

// engineAllocations are those that the engine adds to a handler that asks by hand.
func engineAllocations(w *workshop) (finding, error) {
	var each [2]float64
	for i, of := range []string{"engine", "bare"} {
		output, err := w.engine("GOGC=off", nil, "-test.run=^$", "-test.bench=^BenchmarkTwoRounds$/^"+of+"$", "-test.benchtime=2000x")
		if err != nil {
			return finding{}, err
		}
		if each[i], err = numberIn(output, `(\d+) allocs/op`); err != nil {
			return finding{}, err
		}
	}
	return amount(each[0]-each[1], count), nil
}

func engineInstructions(w *workshop) (finding, error) {
	var each [2]float64
	for i, of := range []string{"engine", "bare"} {
		var err error
		each[i], err = w.counts(10*w.counted, func(n int, prefix ...string) error {
			_, err := w.engine("GOGC=off", prefix, "-test.run=^$", "-test.bench=^BenchmarkTwoRounds$/^"+of+"$", fmt.Sprintf("-test.benchtime=%dx", n))
			return err
		})
		if err != nil {
			return finding{}, err
		}
	}
	return amount(each[0]-each[1], count), nil
}

func numberIn(text, pattern string) (float64, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no %q in %s", pattern, text)
	}
	return strconv.ParseFloat(found[1], 64)
}

// said is the output of a command without the space around it.
func said(name string, arguments ...string) (string, error) {
	out, err := exec.Command(name, arguments...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
