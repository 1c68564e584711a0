package main

import (
	"fmt"
	"strconv"
	"strings"
)

// printed is the parsed output of the benchmarks.
type printed struct {
	config map[string][]string // in the order in which they came
	values map[contender]map[string]sample
}

// readPrinted reads the benchmark format as measure writes it.
func readPrinted(text string) (*printed, error) {
	p := &printed{config: map[string][]string{}, values: map[contender]map[string]sample{}}
	pkg := ""
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if key, isConfig := strings.CutSuffix(fields[0], ":"); isConfig {
			value := strings.Join(fields[1:], " ")
			if key == "in" {
				pkg = value
			} else {
				p.config[key] = append(p.config[key], value)
			}
			continue
		}
		name, isBenchmark := strings.CutPrefix(fields[0], "Benchmark")
		if !isBenchmark || len(fields)%2 != 0 {
			return nil, fmt.Errorf("not a benchmark's line: %q", line)
		}
		if err := p.add(contender{pkg, withoutProcs(name)}, fields[2:]); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	return p, nil
}

func (p *printed) add(c contender, pairs []string) error {
	if p.values[c] == nil {
		p.values[c] = map[string]sample{}
	}
	for i := 0; i < len(pairs); i += 2 {
		v, err := strconv.ParseFloat(pairs[i], 64)
		if err != nil {
			return err
		}
		p.values[c][pairs[i+1]] = append(p.values[c][pairs[i+1]], v)
	}
	return nil
}

// withoutProcs drops the suffix with the number of processors, such as -2.
func withoutProcs(name string) string {
	if dash := strings.LastIndexByte(name, '-'); dash > 0 {
		if _, err := strconv.Atoi(name[dash+1:]); err == nil {
			return name[:dash]
		}
	}
	return name
}

// of is a reading in every round, nil if there is none.
func (p *printed) of(r reading) sample {
	var sum sample
	for unit := range strings.SplitSeq(r.unit, "+") {
		one := p.values[r.contender][unit]
		if len(one) == 0 {
			return nil
		}
		if sum == nil {
			sum = make(sample, len(one))
		}
		for i := range one {
			sum[i] += one[i]
		}
	}
	return sum
}
