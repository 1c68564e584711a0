package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// contender is one benchmark: the package it is in, and its name without
// "Benchmark".
type contender struct{ pkg, name string }

// takesTurns reports whether the benchmark measures all its entrants itself, in
// turns, and so needs more time.
func (c contender) takesTurns() bool {
	return strings.HasPrefix(c.name, "Memory/") || strings.HasPrefix(c.name, "HTTP/") || strings.HasPrefix(c.name, "Ratio/")
}

const turns = "10x"

// packages are where the benchmarks are. The last is this package again, built
// with a go-sdk that decodes JSON from the bytes.
var packages = map[string]string{
	"bench":      ".",
	"form":       "../internal/form",
	"mrtr":       "../mrtr",
	"statecodec": "../statecodec",
	"boundary":   "../boundary",
	mended:       ".",
}

const mended = "mended"

// measure runs the benchmarks in rounds and writes their output, with a
// configuration line for the round and the package. It fails if one of them does.
func measure(out, progress io.Writer, all []contender, rounds int, moment string) error {
	dir, err := os.MkdirTemp("", "mrtr-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build(dir, progress, all); err != nil {
		return err
	}
	order := slices.Clone(all)
	for round := range rounds {
		fmt.Fprintf(progress, "round %d of %d\n", round+1, rounds)
		fmt.Fprintf(out, "round: %d\n", round)
		for _, c := range order {
			printed, err := once(dir, c, moment)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "in: %s\n%s", c.pkg, printed)
		}
		slices.Reverse(order)
	}
	return nil
}

// build builds the test binary of every package that is needed.
func build(dir string, progress io.Writer, all []contender) error {
	needed := map[string]bool{}
	for _, c := range all {
		needed[c.pkg] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(needed)) {
		fmt.Fprintf(progress, "building %s\n", pkg)
		arguments := []string{"test", "-c", "-o", filepath.Join(dir, pkg+".test")}
		if pkg == mended {
			modfile, err := mend(dir)
			if err != nil {
				return err
			}
			// Without the path of the copy in the binary, the build cache serves.
			arguments = append(arguments, "-trimpath", "-modfile", modfile)
		}
		command := exec.Command("go", append(arguments, ".")...)
		command.Dir = packages[pkg]
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", pkg, err, output)
		}
	}
	return nil
}

// once runs one benchmark in a process of its own and returns its line, "" if it
// was skipped.
func once(dir string, c contender, moment string) (line string, _ error) {
	levels := strings.Split("Benchmark"+c.name, "/")
	for i := range levels {
		levels[i] = "^" + regexp.QuoteMeta(levels[i]) + "$"
	}
	if c.takesTurns() && !strings.HasSuffix(moment, "x") {
		moment = turns
	}
	printed, err := launch(dir, c.pkg, strings.Join(levels, "/"), moment)
	if err != nil {
		return "", err
	}
	lines := linesOf(printed)
	switch {
	case len(lines) > 1:
		return "", fmt.Errorf("%s in %s is several benchmarks", c.name, c.pkg)
	case len(lines) == 1:
		return lines[0], nil
	case strings.Contains(printed, "--- SKIP"):
		return "", nil
	}
	return "", fmt.Errorf("%s in %s is no benchmark", c.name, c.pkg)
}

// launch runs the benchmarks of a package that match a pattern.
func launch(dir, pkg, pattern, moment string) (printed string, _ error) {
	command := exec.Command(filepath.Join(dir, pkg+".test"), "-test.run=^$", "-test.v", "-test.bench="+pattern,
		"-test.benchtime="+moment, "-test.benchmem", "-test.timeout=5m")
	command.Dir = packages[pkg]
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s in %s: %w\n%s%s", pattern, pkg, err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// linesOf are the lines with results in the output of a test binary.
func linesOf(printed string) []string {
	var lines []string
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "Benchmark") && strings.Contains(line, "\t") {
			lines = append(lines, line)
		}
	}
	return lines
}
