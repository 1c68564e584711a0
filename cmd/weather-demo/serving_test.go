package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
)

// serving is a running weather-demo serve.
type serving struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // over HTTP
	stdin  io.WriteCloser
	stdout io.ReadCloser
	log    lockedBuffer
}

// startServing runs serve with these flags.
func startServing(t *testing.T, env []string, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, cmd: exec.Command(binary, append([]string{"serve"}, args...)...)}
	s.cmd.Env = append(append(os.Environ(), keysVariable+"="), env...)
	s.cmd.Stderr = &s.log
	var err error
	s.stdin, err = s.cmd.StdinPipe()
	require.NoError(t, err)
	s.stdout, err = s.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill() // the test failed before it stopped the server
			_ = s.cmd.Wait()
		}
	})
	return s
}

// serveHTTPOnAnyPort serves on a free port.
func serveHTTPOnAnyPort(t *testing.T, env []string, args ...string) *serving {
	t.Helper()
	s := startServing(t, env, append([]string{"-http", "127.0.0.1:0"}, args...)...)
	line, err := bufio.NewReader(s.stdout).ReadString('\n')
	require.NoError(t, err, "the log: %s", s.log.String())
	require.Regexp(t, `^listening on http://127\.0\.0\.1:\d+\n$`, line, "the first line")
	s.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return s
}

// stops signals the server and requires that it ends in time, with status 0. On
// Windows, which sends no such signals, the server is killed.
func (s *serving) stops(signal os.Signal) {
	s.t.Helper()
	if runtime.GOOS == "windows" {
		require.NoError(s.t, s.cmd.Process.Kill())
		_ = s.cmd.Wait() // the status is that of a killed process
		return
	}
	require.NoError(s.t, s.cmd.Process.Signal(signal))
	s.ends()
}

func (s *serving) ends() {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		require.NoError(s.t, err, "the log: %s", s.log.String())
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT) // prints its goroutines into the log
		<-ended
		require.Fail(s.t, "the server did not stop", s.log.String())
	}
}

// client connects to the server: over HTTP if it serves that, and otherwise over its input
// and output.
func (s *serving) client(opts *wire.Options) *wire.Client {
	s.t.Helper()
	var client *wire.Client
	var err error
	if s.url != "" {
		client, err = wire.DialHTTP(within(s.t), s.url+"/mcp", http.DefaultClient, opts)
	} else {
		client, err = wire.Dial(within(s.t), &mcp.IOTransport{Reader: s.stdout, Writer: s.stdin}, opts)
	}
	require.NoError(s.t, err)
	return client
}

// hangUp ends the server's input, and requires that the server ends.
func (s *serving) hangUp() {
	s.t.Helper()
	require.NoError(s.t, s.stdin.Close())
	s.ends()
}

// logs waits until the log contains this.
func (s *serving) logs(text string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return strings.Contains(s.log.String(), text) },
		10*time.Second, 5*time.Millisecond, "%q", text)
}

// within is a context that fails a test which hangs.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// lockedBuffer is written by a process and read by a test.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

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
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
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
