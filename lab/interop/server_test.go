package interop_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// buildServer compiles the command in a folder, by its own module, and returns the program.
func buildServer(t *testing.T, folder string) string {
	t.Helper()
	return compile(t, folder, "build")
}

// buildTest compiles the tests in a folder, which can serve too.
func buildTest(t *testing.T, folder string) string {
	t.Helper()
	return compile(t, folder, "test", "-c")
}

func compile(t *testing.T, folder string, how ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", append(how, "-o", program, ".")...)
	build.Dir = folder
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// serveHTTP starts the program on a free port and returns its base URL. At the
// end of the test it must stop on SIGTERM, with status 0. MRTR_STOCK_FRONT=1 has go-sdk's
// HTTP layer serve every request.
func serveHTTP(t *testing.T, program string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	args := []string{"serve", "-http", "127.0.0.1:0"}
	if os.Getenv("MRTR_STOCK_FRONT") == "1" {
		args = append(args, "-stock-front")
	}
	server := exec.CommandContext(ctx, program, args...)
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 15 * time.Second
	var logs strings.Builder
	server.Stderr = &logs
	stdout := must(server.StdoutPipe())(t)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		cancel()
		ended := server.Wait()
		if t.Failed() || !server.ProcessState.Success() {
			t.Logf("the server's log:\n%s", logs.String())
		}
		// Wait reports the cancelled context even if the program ended well.
		require.True(t, server.ProcessState.Success(), "the server did not stop cleanly: %v", ended)
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the server said nothing")
	return listeningOn(t, line)
}

// serveWhileOpen starts tests that serve, and returns their base URL. They end with their
// input, and nothing may end them before.
func serveWhileOpen(t *testing.T, server *exec.Cmd) string {
	t.Helper()
	server.WaitDelay = 15 * time.Second
	var logs strings.Builder
	server.Stderr = &logs
	stdin := must(server.StdinPipe())(t)
	stdout := must(server.StdoutPipe())(t)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		stdin.Close()
		require.NoError(t, server.Wait(), "the server did not live to the end: %s", &logs)
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the server said nothing")
	return listeningOn(t, line)
}

// listeningOn reads the first line of a server.
func listeningOn(t *testing.T, line string) string {
	t.Helper()
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, found, "the server's first line: %q", line)
	return url
}

// A stdio client starts its server itself, so the wiretap there is this very
// program, started again by the client.
const tapCommand = "tap"

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == tapCommand {
		if err := relayStdio(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "tap:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
