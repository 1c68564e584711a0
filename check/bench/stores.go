package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"

	"github.com/mrtr-go/sdk/check/roundcost"
)

// The programs that remember rounds are the tests of the stores, each in its module: a
// driver is required there and nowhere else.
const (
	memoryStore   program = "benchmarks of the memory store"
	sqliteStore   program = "benchmarks of the store for SQLite"
	natsStore     program = "benchmarks of the store for NATS"
	postgresStore program = "benchmarks of the store for PostgreSQL"
	redisStore    program = "benchmarks of the store for Redis"
)

var stores = map[program]struct {
	name   string
	folder string
	server string // that the machine must have, "" for none
}{
	memoryStore:   {"memory", "../../store", ""},
	sqliteStore:   {"SQLite", "../../store/sqlitestore", ""},
	natsStore:     {"NATS", "../../store/natsstore", ""},
	postgresStore: {"PostgreSQL", "../../store/pgstore", "PostgreSQL: run store/install"},
	redisStore:    {"Redis", "../../store/redisstore", "Redis: run store/install"},
}

func isStore(p program) bool {
	_, ok := stores[p]
	return ok
}

// The three kinds of work of package roundcost. One process does them all.
func remembered(store program) load   { return load{program: store, subject: "remembered"} }
func besideWrites(store program) load { return load{program: store, subject: "beside"} }
func withoutStore(store program) load { return load{program: store, subject: "without"} }

// measureStore runs the benchmark of a store in a process of its own for each sitting, and
// records its rounds. Where the machine lacks the store's server, it notes that.
func (w *workshop) measureStore(p pace, s wanted, store program, found *results) error {
	for sitting := range p.sittings {
		rounds, err := w.roundsWith(store, p.stores)
		if isMissing(err) {
			for _, of := range s.readings {
				if of.program == store {
					found.missing[of] = err
				}
			}
			return nil
		}
		if err != nil {
			return err
		}
		for _, round := range rounds {
			for _, kind := range []struct {
				load load
				cost roundcost.Cost
			}{
				{remembered(store), round.Remembered}, {besideWrites(store), round.Beside}, {withoutStore(store), round.Without},
			} {
				found.record(s.section, kind.load.read(cpu), sitting, kind.cost.CPU)
				found.record(s.section, kind.load.read(wall), sitting, kind.cost.Wall)
				found.record(s.section, kind.load.read(allocs), sitting, kind.cost.Allocs)
			}
		}
	}
	return nil
}

// roundsWith runs the benchmark of a store for n rounds of blocks.
func (w *workshop) roundsWith(store program, n int) (rounds []roundcost.Round, _ error) {
	command, err := w.command(store)
	if err != nil {
		return nil, err
	}
	if store == memoryStore {
		n *= 4 // they take little time, and the target lies close
	}
	// Without -test.v a benchmark that is skipped says nothing.
	benchmark := exec.Command(command[0], "-test.run=^$", "-test.v", "-test.bench=^BenchmarkRound$", fmt.Sprintf("-test.benchtime=%dx", n))
	if store == memoryStore { // whose differences are those of microseconds
		benchmark.Args = append(benchmark.Args, "-test.cpu=1")
	}
	benchmark.Dir = stores[store].folder
	output, err := benchmark.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", store, err, output)
	}
	_, text, found := strings.Cut(string(output), roundcost.Mark)
	if !found && strings.Contains(string(output), "--- SKIP") && stores[store].server != "" {
		return nil, &missing{stores[store].server}
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&rounds); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", store, err, output)
	}
	if len(rounds) == 0 {
		return nil, fmt.Errorf("%s: no rounds\n%s", store, output)
	}
	return rounds, nil
}
