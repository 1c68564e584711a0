package model

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var judgeMutants = flag.Bool("mutants", false, "build the engine with the faults of faults_test.go, and require that each is found")

const root = "../.."

// A fault is a mistake in a source file, made by a text in place of one that is there once. In
// the new text ON says whether the fault is on, and PICK(wrong, right) is wrong then. All faults
// are in one build, in which a variable of the environment switches one of them on.
type fault struct {
	what, file, old, new string
	by                   string // a package and the tests that find it, all of them if none is named
	explored             bool   // the exploration finds it too
}

// exploration finds every fault that names no tests.
const exploration = "lab/model ^TestTheEngineAgreesWithTheModel$"

// judges are the packages with the tests of which each is to find the fault.
func (f fault) judges() []string {
	switch {
	case f.by == "":
		return []string{exploration}
	case f.explored:
		return []string{f.by, exploration}
	}
	return []string{f.by}
}

const switches = `package %s

import (
	"os"
	"strconv"
)

var faultOn, _ = strconv.Atoi(os.Getenv("FAULT"))

func faultPick[T any](on bool, wrong, right T) T {
	if on {
		return wrong
	}
	return right
}
`

func faults() []fault { return slices.Concat(explored, tested) }

// Each fault is found: by the exploration within its budget, or by the tests that it names. The
// faults are kept alive: one whose place has changed, or that does not compile, is a failure even
// where nobody is to find them.
func TestMutantsAreFound(t *testing.T) {
	overlay := overlayOfFaults(t)
	build := exec.Command("go", "build", "-overlay", overlay, "./...")
	build.Dir = root
	out, err := build.CombinedOutput()
	require.NoErrorf(t, err, "a fault that does not compile: %s", out)
	if !*judgeMutants && os.Getenv("MRTR_NIGHTLY") != "1" {
		t.Logf("%d faults have their place; judge them with -mutants", len(faults()))
		return
	}
	scratch, binaries := t.TempDir(), map[string]string{}
	for i, f := range faults() {
		for _, judge := range f.judges() {
			dir, tests, _ := strings.Cut(judge, " ")
			if binaries[dir] == "" {
				binaries[dir] = filepath.Join(scratch, strconv.Itoa(i)+".test")
				build := exec.Command("go", "test", "-c", "-trimpath", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", binaries[dir], ".")
				build.Dir = filepath.Join(root, dir)
				out, err := build.CombinedOutput()
				require.NoErrorf(t, err, "%s", out)
			}
			args := []string{"-test.run=" + tests, "-test.timeout=5m", "-test.failfast"}
			if judge == exploration {
				args = append(args, "-rapid.seed=1", "-rapid.shrinktime=1s")
			}
			run := exec.Command(binaries[dir], args...)
			run.Dir = filepath.Join(root, dir)
			run.Env = append(os.Environ(), fmt.Sprintf("FAULT=%d", i+1))
			t.Run(f.what+" "+dir, func(t *testing.T) {
				t.Parallel()
				isFound(t, run, judge == exploration)
			})
		}
	}
}

func isFound(t *testing.T, run *exec.Cmd, explores bool) {
	began := time.Now()
	out, err := run.CombinedOutput()
	require.Error(t, err, "not found")
	if !explores {
		require.Containsf(t, string(out), "--- FAIL", "it failed otherwise than in a test:\n%s", out)
		t.Logf("found in %.1fs", time.Since(began).Seconds())
		return
	}
	found := disagreement.FindSubmatch(out)
	require.NotNilf(t, found, "it failed otherwise than by a disagreement:\n%s", out)
	steps, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	require.LessOrEqual(t, steps, *budget)
	t.Logf("Found after %d steps, in %.1fs:%s", steps, time.Since(began).Seconds(), found[2])
}

var disagreement = regexp.MustCompile(`(?s)After (\d+) steps, in short, ` + marker + `(.+?)\n(---|FAIL)`)

// overlayOfFaults makes every fault in copies of the sources, and writes the file that makes the
// go command build those.
func overlayOfFaults(t *testing.T) string {
	scratch, replace := t.TempDir(), map[string]string{}
	put := func(path, text string) {
		absolute, err := filepath.Abs(filepath.Join(root, path))
		require.NoError(t, err)
		replace[absolute] = filepath.Join(scratch, strconv.Itoa(len(replace))+".go")
		require.NoError(t, os.WriteFile(replace[absolute], []byte(text), 0o644))
	}
	texts, packages := map[string]string{}, map[string]string{}
	for i, f := range faults() {
		text, known := texts[f.file]
		if !known {
			source, err := os.ReadFile(filepath.Join(root, f.file))
			require.NoError(t, err)
			text = string(source)
			packages[filepath.Dir(f.file)] = packageClause.FindStringSubmatch(text)[1]
		}
		require.Equalf(t, 1, strings.Count(text, f.old), "%s has no one place in %s: %s", f.old, f.file, f.what)
		on := fmt.Sprintf("faultOn == %d", i+1)
		fresh := strings.NewReplacer("PICK(", "faultPick("+on+", ", "ON", "("+on+")").Replace(f.new)
		texts[f.file] = strings.Replace(text, f.old, fresh, 1)
	}
	for path, text := range texts {
		put(path, text)
	}
	for dir, name := range packages {
		put(filepath.Join(dir, "fault_switch.go"), fmt.Sprintf(switches, name))
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(scratch, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o644))
	return overlay
}

var packageClause = regexp.MustCompile(`(?m)^package (\w+)`)
