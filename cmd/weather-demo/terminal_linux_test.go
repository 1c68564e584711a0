package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// emulator is a terminal with the binary running in it.
type emulator struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd
	output chan string
	screen string
}

// inTerminal starts the binary as the foreground process of a pseudo terminal.
func inTerminal(t *testing.T, env []string, args ...string) *emulator {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	var number, unlock int32
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	defer slave.Close()
	size := [4]uint16{24, 80}
	control(t, slave, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	// After the signal of ^C the kernel throws away the output that nobody has read yet,
	// and the program may have said already that it was interrupted.
	var settings syscall.Termios
	control(t, slave, syscall.TCGETS, unsafe.Pointer(&settings))
	settings.Lflag |= syscall.NOFLSH
	control(t, slave, syscall.TCSETS, unsafe.Pointer(&settings))

	e := &emulator{t: t, master: master, cmd: exec.Command(binary, args...), output: make(chan string)}
	e.cmd.Stdin, e.cmd.Stdout, e.cmd.Stderr = slave, slave, slave
	e.cmd.Env = append(append(os.Environ(), "TERM=xterm", "NO_COLOR=", "COLUMNS="), env...)
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, e.cmd.Start())
	go e.read()
	t.Cleanup(func() {
		_ = e.cmd.Process.Kill() // unless it has ended
		_ = e.cmd.Wait()
		master.Close()
	})
	return e
}

func control(t *testing.T, f *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(argument))
	require.Zero(t, errno, "ioctl %#x: %v", request, errno)
}

func (e *emulator) read() {
	defer close(e.output)
	buffer := make([]byte, 4096)
	for {
		n, err := e.master.Read(buffer)
		if n > 0 {
			e.output <- string(buffer[:n])
		}
		if err != nil {
			return // the program has ended and closed its side
		}
	}
}

// sees waits until text is on the screen, and returns the output before it.
func (e *emulator) sees(text string) string {
	e.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		if before, after, ok := strings.Cut(e.screen, text); ok {
			e.screen = after
			return before
		}
		select {
		case more, ok := <-e.output:
			require.True(e.t, ok, "the program ended without %q; on the screen is:\n%s", text, e.screen)
			e.screen += more
		case <-timeout:
			require.Fail(e.t, "not seen", "%q; on the screen is:\n%s", text, e.screen)
		}
	}
}

func (e *emulator) types(keys string) {
	e.t.Helper()
	_, err := e.master.WriteString(keys)
	require.NoError(e.t, err)
}

// ends waits for the program, and returns its status and the rest of its output.
func (e *emulator) ends() (status int, rest string) {
	e.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case more, ok := <-e.output:
			if ok {
				e.screen += more
				continue
			}
			_ = e.cmd.Wait() // the status says how it ended
			return e.cmd.ProcessState.ExitCode(), e.screen
		case <-timeout:
			require.Fail(e.t, "the program did not end", e.screen)
		}
	}
}

func TestAskInATerminal(t *testing.T) {
	const ctrlD = "\x04"
	tests := []struct {
		name, args  string
		place       string
		afterPlace  string
		units, ends string
	}{
		{"answers by number", "-style G", "3\n", "+ place = Springfield, Missouri", "2\n", "Weather in Springfield, Missouri: 70°F, sunny."},
		{"answers in words", "-style H", "springfield, illinois\n", "+ place = Springfield, Illinois", "metric\n", "Weather in Springfield, Illinois: 18°C, clear."},
		{"a legacy client", "-style J -era legacy", "1\n", "answer: place = Springfield, Illinois", "2\n", "Weather in Springfield, Illinois: 64°F, clear."},
		{"declines", "-style E", "1\n", "+ place = Springfield, Illinois", "d\n", `Stopped: "units" was declined.`},
		{"cancels", "-style F", "2\n", "+ place = Springfield, Massachusetts", "cancel\n", `Stopped: "units" was cancelled.`},
		{"ends the input", "-style C", "2\n", "+ place = Springfield, Massachusetts", ctrlD, `Stopped: "units" was cancelled.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := inTerminal(t, []string{"NO_COLOR=1"}, append([]string{"-ask"}, strings.Fields(tt.args)...)...)
			e.sees("2  Springfield, Massachusetts")
			e.sees("c  cancel")
			e.sees("your answer: ")
			e.types("4\n")
			e.sees(`"4" is not a choice`)
			e.sees("your answer: ")
			e.types(tt.place)
			e.sees(tt.afterPlace)
			e.sees("1  metric")
			e.sees("your answer: ")
			e.types(tt.units)
			e.sees(tt.ends)
			status, _ := e.ends()
			require.Zero(t, status, "a decline is an outcome as well")
		})
	}
}

func TestAskIsInterrupted(t *testing.T) {
	for _, args := range []string{"-ask", "-ask -era legacy"} {
		e := inTerminal(t, nil, strings.Fields(args)...)
		e.sees("your answer: ")
		e.types("\x03")
		status, rest := e.ends()
		require.Equal(t, statusInterrupted, status, "%s: %s", args, rest)
		require.Contains(t, rest, "interrupted")
		require.NotContains(t, rest, "complete", "nobody answered")
	}
}

func TestColours(t *testing.T) {
	const bold = "\x1b[1m"
	tests := []struct {
		env         string
		coloured    bool
		explanation string
	}{
		{"TERM=xterm", true, "a terminal has colours"},
		{"NO_COLOR=1", false, "NO_COLOR is set"},
		{"TERM=dumb", false, "a dumb terminal has none"},
	}
	for _, tt := range tests {
		e := inTerminal(t, []string{tt.env})
		status, screen := e.ends()
		require.Zero(t, status)
		require.Equal(t, tt.coloured, strings.Contains(screen, bold), "%s: %q", tt.explanation, screen)
	}
}
