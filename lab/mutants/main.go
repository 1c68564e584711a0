// Command mutants says how many one-line mistakes the tests of a package notice:
//
//	go run ./mutants [-n 40] [-seed 1] [-v] FOLDER [TESTS ...] [-- FLAGS OF THE TEST BINARY]
//
// It negates conditions, moves the bounds of comparisons, and leaves out calls and
// assignments: all mutants of a folder in one build, in which an environment variable
// switches one of them on. A mutant is killed if the tests of one of the folders fail; by
// default those are the tests of the mutated folder itself. Nothing in the tree is written.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	n := flag.Int("n", 40, "mutants drawn at random; 0 tries all")
	seed := flag.Uint64("seed", 1, "of the draw")
	verbose := flag.Bool("v", false, "name the killed ones too")
	flag.Parse()
	folders, flags := flag.Args(), []string(nil)
	if at := slices.Index(folders, "--"); at >= 0 {
		folders, flags = folders[:at], folders[at+1:]
	}
	if len(folders) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(folders[0], folders[min(1, len(folders)-1):], flags, *n, *seed, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(folder string, tests, flags []string, n int, seed uint64, verbose bool) error {
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	mutants, overlay, err := instrument(folder, scratch)
	if err != nil {
		return err
	}
	var binaries []binary
	for i, dir := range tests {
		b := binary{path: filepath.Join(scratch, fmt.Sprintf("%d.test", i)), dir: dir, flags: flags}
		if err := b.build(overlay); err != nil {
			return err
		}
		binaries = append(binaries, b)
	}
	for i := range binaries {
		if err := binaries[i].measure(); err != nil {
			return err
		}
	}
	draw := rand.New(rand.NewPCG(seed, 0)).Perm(len(mutants))
	if n > 0 && n < len(draw) {
		draw = draw[:n]
	}
	slices.Sort(draw)
	killed := 0
	for _, i := range draw {
		dead := slices.ContainsFunc(binaries, func(b binary) bool { return b.run(mutants[i].number, 3*b.took+10*time.Second) != nil })
		if dead {
			killed++
		}
		if verbose || !dead {
			fmt.Printf("%s  %s\n", map[bool]string{true: "killed", false: "ALIVE "}[dead], mutants[i])
		}
	}
	fmt.Printf("%s: %d of %d mutants killed, drawn with seed %d out of %d\n", folder, killed, len(draw), seed, len(mutants))
	return nil
}

// binary is the test binary of one folder, with every mutant in it.
type binary struct {
	path, dir string
	flags     []string
	took      time.Duration // without a mutant
}

func (b *binary) build(overlay string) error {
	c := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path, ".")
	c.Dir = b.dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", b.dir, err, out)
	}
	return nil
}

// measure runs the tests without a mutant, twice: what is slow the first time only must not
// set the limit.
func (b *binary) measure() error {
	for range 2 {
		began := time.Now()
		if err := b.run(0, 10*time.Minute); err != nil {
			return fmt.Errorf("%s: the tests fail without a mutant: %w", b.dir, err)
		}
		b.took = time.Since(began)
	}
	return nil
}

// run switches a mutant on. A run that outlives its limit counts as a failure: many mutants
// turn a loop into an endless one.
func (b *binary) run(mutant int, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, b.path, append([]string{"-test.failfast", "-test.timeout=" + limit.String()}, b.flags...)...)
	c.Dir = b.dir
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, mutant))
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if err != nil && mutant == 0 {
		return errors.Join(err, errors.New(string(out)))
	}
	return err
}

// writeOverlay tells the go command to read the mutated files in place of the others.
func writeOverlay(scratch string, replaced map[string]string) (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// oneLine shows code in a report.
func oneLine(code string) string {
	if code = strings.Join(strings.Fields(code), " "); len(code) > 90 {
		code = code[:90] + "…"
	}
	return code
}
