package model

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var judgeMutants = flag.Bool("mutants", false, "build the engine with each fault in mutants/, and require that it is found")

const root = "../.."

// Each fault in mutants/ is one that the exploration finds within its budget. The
// patches are kept alive: one that does not apply any more is a failure, even if
// they are not built.
func TestMutantsAreFound(t *testing.T) {
	patches, err := filepath.Glob("mutants/*.patch")
	require.NoError(t, err)
	require.NotEmpty(t, patches)
	nightly := os.Getenv("MRTR_NIGHTLY") == "1"
	if _, err := exec.LookPath("git"); err != nil && !nightly {
		t.Skip("install git: it applies the patches in mutants/")
	}
	for _, patch := range patches {
		absolute, err := filepath.Abs(patch)
		require.NoError(t, err)
		apply(t, root, "--check", absolute)
	}
	if !*judgeMutants && !nightly {
		t.Logf("%d mutants apply; build and judge them with -mutants", len(patches))
		return
	}
	for _, patch := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(patch)
			require.NoError(t, err)
			what, _, _ := strings.Cut(string(text), "\n")
			began := time.Now()
			steps, story := judge(t, overlay(t, patched(t, patch, string(text))))
			require.NotEmptyf(t, story, "not found: %s", what)
			require.LessOrEqual(t, steps, *budget)
			t.Logf("%s\nFound after %d steps, built and found in %.1fs:%s", what, steps, time.Since(began).Seconds(), story)
		})
	}
}

// patched returns the files that a patch changes, as it changes them, by their path in the
// repository.
func patched(t *testing.T, patch, text string) map[string]string {
	absolute, err := filepath.Abs(patch)
	require.NoError(t, err)
	tree, files := t.TempDir(), map[string]string{}
	for _, match := range changed.FindAllStringSubmatch(text, -1) {
		source, err := os.ReadFile(filepath.Join(root, match[1]))
		require.NoError(t, err)
		files[match[1]] = filepath.Join(tree, match[1])
		require.NoError(t, os.MkdirAll(filepath.Dir(files[match[1]]), 0o755))
		require.NoError(t, os.WriteFile(files[match[1]], source, 0o644))
	}
	require.NotEmpty(t, files)
	apply(t, tree, absolute)
	return files
}

var changed = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// overlay writes the file that makes the go command build these files in place of those
// of the repository.
func overlay(t *testing.T, files map[string]string) string {
	replace := map[string]string{}
	for path, file := range files {
		absolute, err := filepath.Abs(filepath.Join(root, path))
		require.NoError(t, err)
		replace[absolute] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return path
}

// apply applies a patch to a tree, even if the lines around its own have moved or
// changed.
func apply(t *testing.T, tree string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"apply", "-C1"}, args...)...)
	cmd.Dir = tree
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "%s: %s", args[len(args)-1], out)
}

// judge explores the engine with an overlay, and returns the story of the fault that it
// found, "" if there is none, and the number of steps that it took.
func judge(t *testing.T, overlay string) (steps int, story string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "model.test")
	build := exec.Command("go", "test", "-c", "-trimpath", "-ldflags=-s -w", "-overlay", overlay, "-o", binary, ".")
	out, err := build.CombinedOutput()
	require.NoErrorf(t, err, "a mutant that does not compile: %s", out)
	explore := exec.Command(binary, "-test.run=^TestTheEngineAgreesWithTheModel$", "-test.timeout=5m", "-rapid.seed=1", "-rapid.shrinktime=1s")
	out, err = explore.CombinedOutput()
	if err == nil {
		return 0, ""
	}
	found := disagreement.FindSubmatch(out)
	require.NotNilf(t, found, "it failed otherwise than by a disagreement:\n%s", out)
	steps, err = strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	return steps, string(found[2])
}

var disagreement = regexp.MustCompile(`(?s)After (\d+) steps, in short, ` + marker + `(.+?)\n(---|FAIL)`)
