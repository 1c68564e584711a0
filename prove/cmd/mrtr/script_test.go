package main

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected output anew")

// TestMain makes the test binary the command too, when it is called mrtr. So go
// test knows that the scripts depend on the command, and does not give a cached
// result for one that has changed.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"mrtr": main}) }

// The scripts run the built command as a person or a CI would. Each works in a
// module of its own that may import go-sdk and mrtr.
func TestScripts(t *testing.T) {
	const scripts = "testdata/script"
	found, err := filepath.Glob(scripts + "/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, found)

	goEnv, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	require.NoError(t, err)
	caches := strings.Fields(string(goEnv))
	require.Len(t, caches, 2)

	testscript.Run(t, testscript.Params{
		Dir:                 scripts,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			command, err := exec.LookPath("mrtr") // testscript.Main has put it there
			if err != nil {
				return err
			}
			env.Setenv("MRTR", command)
			env.Setenv("GOMODCACHE", caches[0])
			env.Setenv("GOCACHE", caches[1])
			env.Setenv("GOTOOLCHAIN", "local")
			env.Setenv("GOWORK", "off")
			return module(env.WorkDir)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": exitsWith},
	})
}

// exitsWith runs a command that must end with a status: status 1 mrtr vet ./...
func exitsWith(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [arguments]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch got := 0; {
	case errors.As(err, &exit):
		if got = exit.ExitCode(); got != want {
			ts.Fatalf("ended with %d, not with %d", got, want)
		}
	case err != nil:
		ts.Fatalf("%v", err)
	case want != 0:
		ts.Fatalf("ended with 0, not with %d", want)
	}
}

// module makes dir the root of a module with the requirements of the analyzers'
// cases.
func module(dir string) error {
	const cases = "internal/vet/testdata"
	root, err := filepath.Abs("../../..")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(cases + "/go.mod")
	if err != nil {
		return err
	}
	text = bytes.Replace(text, []byte("../../../../../.."), []byte(root), 1)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o600); err != nil {
		return err
	}
	sums, err := os.ReadFile(cases + "/go.sum")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)
}
