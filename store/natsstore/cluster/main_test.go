//go:build unix

package main_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/rpcerror"
	"github.com/mrtr-go/sdk/internal/wire"
)

// build makes the real binary.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func TestACallCompletesOverADeath(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, build(t), "-kill")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, `client      calls weather, at Springfield
instance 1  asks place
client      is asked "Which Springfield?", answers "Springfield, Illinois"
instance 2  claims round 2
instance 2  writes the audit line
            SIGKILL: instance 2 ends before it can remember that it did
client      is told to send the same request again, and does
instance 3  hears nothing of the other for a lease, and takes round 2 over
instance 3  looks for the audit line: it is there, so it writes none
instance 3  asks units
client      is asked "Which units?", answers "metric"
instance 1  claims round 3
instance 1  completes the call
client      gets: Weather in Springfield, Illinois: 18°C, clear.

            One instance died, the call completed, and the audit has 1 line.
`, string(out))
}

// Calls made while instances die one after the other complete, as long as one is left;
// an interrupt stops everything.
func TestAnInterruptStopsAllProcesses(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := serve(ctx, t)
	require.Len(t, c.instances, 3)
	client, err := wire.DialHTTP(ctx, c.url, nil, nil)
	require.NoError(t, err)
	defer client.Close()
	for i, pid := range c.instances[:2] {
		var reply *wire.Outcome
		for again := true; again; { // a router learns of a death from its open connection, and says so
			reply, err = client.Call(ctx, "weather", map[string]any{"location": "Springfield"}, wire.Answers{
				"place": wire.Value("Springfield, Missouri"), "units": wire.Value("imperial"),
			})
			require.NoError(t, err)
			again = reply.Error != nil && reply.Error.Code == rpcerror.CodeRetryable
		}
		require.Nil(t, reply.Error)
		require.Equalf(t, "Weather in Springfield, Missouri: 70°F, sunny.", reply.Text, "call %d", i)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		c.waitFor(t, "instance %d  ended", i+1)
	}
	require.NoError(t, c.cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, c.out)
	require.NoError(t, c.cmd.Wait())
	for _, pid := range c.instances {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
}

// The instances end also if the first process cannot stop them.
func TestInstancesEndWithTheirParent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := serve(ctx, t)
	require.NoError(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait()
	for _, pid := range c.instances {
		require.Eventually(t, func() bool { return gone(pid) }, 20*time.Second, 20*time.Millisecond)
	}
}

// gone is also true of a process that has ended and that nobody has waited for: the
// one that adopted it may take its time.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

type cluster struct {
	cmd       *exec.Cmd
	out       *bufio.Reader
	instances []int
	url       string
}

func serve(ctx context.Context, t *testing.T) *cluster {
	t.Helper()
	c := &cluster{cmd: exec.CommandContext(ctx, build(t), "-http", "127.0.0.1:0")}
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	c.out = bufio.NewReader(out)
	for c.url == "" {
		line, err := c.out.ReadString('\n')
		require.NoError(t, err)
		var number, pid int
		if _, err := fmt.Sscanf(line, "instance %d  is process %d", &number, &pid); err == nil {
			c.instances = append(c.instances, pid)
		}
		_, c.url, _ = strings.Cut(strings.TrimSpace(line), "listens on ")
	}
	return c
}

// waitFor reads until a line.
func (c *cluster) waitFor(t *testing.T, format string, args ...any) {
	t.Helper()
	for want := fmt.Sprintf(format, args...); ; {
		line, err := c.out.ReadString('\n')
		require.NoErrorf(t, err, "no %q", want)
		if strings.HasPrefix(line, want) {
			return
		}
	}
}
