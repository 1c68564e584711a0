package model

import (
	"flag"
	"io/fs"
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
	ci := os.Getenv("MRTR_CI") == "1"
	if _, err := exec.LookPath("git"); err != nil && !ci {
		t.Skip("install git: it applies the patches in mutants/")
	}
	for _, patch := range patches {
		absolute, err := filepath.Abs(patch)
		require.NoError(t, err)
		apply(t, root, "--check", absolute)
	}
	if !*judgeMutants && !ci {
		t.Logf("%d mutants apply; build and judge them with -mutants", len(patches))
		return
	}
	tree := t.TempDir()
	copySources(t, tree)
	for _, patch := range patches {
		t.Run(strings.TrimSuffix(filepath.Base(patch), ".patch"), func(t *testing.T) {
			absolute, err := filepath.Abs(patch)
			require.NoError(t, err)
			apply(t, tree, absolute)
			defer apply(t, tree, "--reverse", absolute)
			text, err := os.ReadFile(patch)
			require.NoError(t, err)
			what, _, _ := strings.Cut(string(text), "\n")
			began := time.Now()
			steps, story := judge(t, filepath.Join(tree, "check", "model"))
			require.NotEmptyf(t, story, "not found: %s", what)
			require.LessOrEqual(t, steps, *budget)
			t.Logf("%s\nFound after %d steps, built and found in %.1fs:%s", what, steps, time.Since(began).Seconds(), story)
		})
	}
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

// judge explores the engine of a tree, and returns the story of the fault that it
// found, "" if there is none, and the number of steps that it took.
func judge(t *testing.T, dir string) (steps int, story string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "model.test")
	build := exec.Command("go", "test", "-c", "-trimpath", "-o", binary, ".")
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoErrorf(t, err, "a mutant that does not compile: %s", out)
	explore := exec.Command(binary, "-test.run=^TestTheEngineAgreesWithTheModel$", "-test.timeout=5m", "-rapid.seed=1", "-rapid.shrinktime=1s")
	explore.Dir = dir
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

// copySources copies the sources that the exploration is built from.
func copySources(t *testing.T, tree string) {
	t.Helper()
	copied := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if inside != "." && skipped(path, inside, d.Name()) {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(tree, inside), 0o755)
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".mod" && ext != ".sum" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		copied++
		return os.WriteFile(filepath.Join(tree, inside), text, 0o644)
	})
	require.NoError(t, err)
	require.NotZero(t, copied)
}

// skipped are folders that hold no part of it: other nested modules, and those
// that are no Go package.
func skipped(path, inside, name string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	nested := err == nil && filepath.ToSlash(inside) != "check/model"
	return nested || strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"
}
