package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// binary is the program, built once for all tests here.
var binary string

func TestMain(m *testing.M) { os.Exit(withBinary(m)) }

func withBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weather-demo")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "weather-demo")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	// A program built with -race sleeps for a second before it exits.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=20"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// No revision is stamped in: it is part of every state, and its length would show
	// in the figures.
	args := []string{"-buildvcs=false"}
	if raceEnabled {
		args = append(args, "-race")
	}
	// The build cache keeps a program that go run has linked. go build would link it
	// again whenever the tests run.
	if runtime.GOOS == "windows" { // which has no cp
		args = slices.Concat([]string{"build"}, args, []string{"-o", binary, "."})
	} else {
		args = slices.Concat([]string{"run"}, args, []string{"-exec", "cp", ".", binary})
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building weather-demo: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// outcome is a finished run of the binary.
type outcome struct {
	stdout, stderr string
	status         int
}

// outcomes holds the finished runs, since several tests look at the same one.
var outcomes sync.Map

// weatherDemo is the run of the binary with this input.
func weatherDemo(t *testing.T, input string, args ...string) outcome {
	t.Helper()
	finished, _ := outcomes.LoadOrStore(fmt.Sprintf("%q %q", input, args), sync.OnceValue(func() outcome {
		var stdout, stderr strings.Builder
		status := runBinary(t, input, &stdout, &stderr, args...)
		return outcome{stdout.String(), stderr.String(), status}
	}))
	return finished.(func() outcome)()
}

// runBinary runs it to its end. If both streams are one writer, their lines keep
// their order.
func runBinary(t *testing.T, input string, stdout, stderr io.Writer, args ...string) (status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(os.Environ(), "COLUMNS=", keysVariable+"=")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return cmd.ProcessState.ExitCode()
}
