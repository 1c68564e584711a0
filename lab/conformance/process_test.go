package conformance_test

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func build(t *testing.T, command string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(command))
	output, err := exec.Command("go", "build", "-o", program, command).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// startServer starts the program with args on a free port and returns its URL. At the end
// of the test it must stop on SIGTERM, with status 0.
func startServer(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, program, args...)
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 15 * time.Second
	var log strings.Builder
	server.Stderr = &log
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		cancel()
		ended := server.Wait()
		// Wait reports the cancelled context even if the program ended well.
		require.True(t, server.ProcessState.Success(), "the server did not stop cleanly: %v\n%s", ended, log.String())
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the server said nothing")
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, found, "the server's first line: %q", line)
	return url
}
