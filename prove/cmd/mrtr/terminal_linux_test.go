package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// onTerminal runs the command with its stderr on a pseudo terminal, and returns its
// output, all that came to the screen, and its status.
func onTerminal(t *testing.T, args ...string) (stdout, screen string, status int) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer master.Close()
	var number, unlock int32
	for request, argument := range map[uintptr]unsafe.Pointer{syscall.TIOCGPTN: unsafe.Pointer(&number), syscall.TIOCSPTLCK: unsafe.Pointer(&unlock)} {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(argument))
		require.Zero(t, errno, "ioctl %#x: %v", request, errno)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)

	command, err := exec.LookPath("mrtr") // testscript.Main has put it there
	require.NoError(t, err)
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, slave, 20*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	slave.Close() // the command has its own
	require.NoError(t, err)
	shown, _ := io.ReadAll(master) // it ends with EIO when the command has
	_ = cmd.Wait()                 // the status says how it ended
	return out.String(), string(shown), cmd.ProcessState.ExitCode()
}

// The progress is drawn over and over in one line, which is gone when the proof is
// over; the report goes to stdout and has none of it.
func TestProgressOnATerminal(t *testing.T) {
	binary := weatherDemo(t)
	for explanation, args := range map[string][]string{
		"a proof": append(append([]string{"prove", "-tool", "weather_naive", "-effects", "stderr:card charged", "-only", "state/altered,once/honest"}, scenario...), "--", binary, "serve", "-landmine"),
		"a sweep": {"prove", "-client", "modern", "--", binary, "serve", "-stdio"},
	} {
		out, screen, status := onTerminal(t, args...)
		const again = "\r\x1b[K"
		plan, screen, drawn := strings.Cut(screen, again)
		require.True(t, drawn, explanation)
		require.Contains(t, plan, " calls", "%s: the plan comes first", explanation)
		require.True(t, strings.HasPrefix(screen, "1 rules, 0 failed: "), "%s: %q", explanation, screen)
		require.True(t, strings.HasSuffix(screen, again), "%s: %q", explanation, screen)
		require.NotContains(t, screen, "\n", explanation)
		require.GreaterOrEqual(t, strings.Count(screen, again), 2, explanation)
		require.NotContains(t, out, "\x1b", explanation)
		require.Contains(t, out, " rules tried, ", explanation)
		if explanation == "a proof" {
			require.Equal(t, 1, status)
			require.Contains(t, screen, again+"2 rules, 1 failed: once/honest")
		} else {
			require.Zero(t, status, out)
		}
	}
}
