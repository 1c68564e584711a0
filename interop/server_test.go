package interop_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// buildServer compiles a command of the module and returns the program.
func buildServer(t *testing.T, command string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", "build", "-o", program, command)
	build.Dir = ".."
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
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		cancel()
		ended := server.Wait()
		if t.Failed() || !server.ProcessState.Success() {
			t.Logf("the server's log:\n%s", logs.String())
		}
		// Wait reports the cancelled context even where the program ended well.
		require.True(t, server.ProcessState.Success(), "the server did not stop cleanly: %v", ended)
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the server said nothing")
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	require.True(t, found, "the server's first line: %q", line)
	return url
}
