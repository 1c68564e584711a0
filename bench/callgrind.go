package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// count is how many instructions one call of a load takes, SHA-256's compression
// function taken off: valgrind has no instructions for SHA, and runs in its place
// code that no machine runs that has them. The process is run for n calls and for
// five times as many, and the difference is what 4n calls take; how a process
// starts and ends falls out.
func (w *workshop) count(l load, n int) (float64, error) {
	few, err := w.total(l, n)
	if err != nil {
		return 0, err
	}
	many, err := w.total(l, 5*n)
	return (many - few) / float64(4*n), err
}

// total is how many instructions a process takes that makes n calls.
func (w *workshop) total(l load, n int) (_ float64, err error) {
	file, err := os.CreateTemp(w.dir, "callgrind-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	prefix, err := valgrind(filepath.Join(w.dir, filepath.Base(file.Name())))
	if err != nil {
		return 0, err
	}
	r, err := w.start(l, prefix)
	if err != nil {
		return 0, err
	}
	if _, err := r.run(n); err != nil {
		return 0, errors.Join(err, r.close())
	}
	if err := r.close(); err != nil {
		return 0, err
	}
	all, sha, err := readCallgrind(file.Name())
	return all - sha, err
}

// functionLine names the function whose costs follow (fn) or the one that it calls
// (cfn). A name is spelled out once and then known by its number.
var functionLine = regexp.MustCompile(`^(c?fn)=\((\d+)\)(?: (.*))?`)

// readCallgrind adds up the costs in a file that callgrind wrote, all of them and
// those of SHA-256's compression function.
func readCallgrind(path string) (all, sha float64, _ error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	isSHA := map[string]bool{}
	function, total, ofCallee := "", "", false
	for lines.Scan() {
		line := lines.Text()
		if m := functionLine.FindStringSubmatch(line); m != nil {
			if m[1] == "fn" {
				function = m[2]
			}
			if m[3] != "" {
				isSHA[m[2]] = strings.HasPrefix(m[3], "crypto/internal/fips140/sha256.block")
			}
			continue
		}
		if said, ok := strings.CutPrefix(line, "totals: "); ok {
			if total = said; total != strconv.FormatFloat(all, 'f', 0, 64) {
				return 0, 0, fmt.Errorf("%s: the costs add up to %.0f, not to %s", path, all, total)
			}
		}
		if strings.HasPrefix(line, "calls=") {
			ofCallee = true // the next line is the callee's cost, which is counted there
			continue
		}
		position, cost, isCost := strings.Cut(line, " ")
		if position == "" || !strings.ContainsAny(position[:1], "0123456789+-*") {
			continue
		}
		if ofCallee {
			ofCallee = false
			continue
		}
		v, err := strconv.ParseFloat(cost, 64)
		if !isCost || err != nil {
			return 0, 0, fmt.Errorf("%s: not a cost: %q", path, line)
		}
		all += v
		if isSHA[function] {
			sha += v
		}
	}
	if err := lines.Err(); err != nil {
		return 0, 0, err
	}
	if total == "" {
		return 0, 0, fmt.Errorf("%s ends before its total", path)
	}
	return all, sha, nil
}
