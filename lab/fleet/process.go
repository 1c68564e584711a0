//go:build unix

// Package fleet starts instances for the tests of this module: as processes, which are the
// test's own binary, or as goroutines. It has the ledger in which they note their effects,
// the client that calls them, and what goes wrong with their store.
package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
)

const jobVariable = "MRTR_INSTANCE"

// Main runs the tests of a package, or does the job for which a test started this process.
// It returns the code to exit with.
func Main[Job any](m *testing.M, do func(Job) error) int {
	text := os.Getenv(jobVariable)
	if text == "" {
		return m.Run()
	}
	var job Job
	err := json.Unmarshal([]byte(text), &job)
	if err == nil {
		err = do(job)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "an instance:", err)
		return 1
	}
	return 0
}

// Process is this binary, started again for a job.
type Process struct {
	In  io.WriteCloser // its standard input
	Out io.ReadCloser  // its standard output, for those who do not call Line

	cmd   *exec.Cmd
	lines *bufio.Reader
	reap  func() error
}

// Start starts one.
func Start(job any) (*Process, error) { return StartOf(os.Args[0], job) }

// StartOf starts another binary of the same test for a job: that of another release.
func StartOf(program string, job any) (*Process, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	return Run(exec.Command(program), jobVariable+"="+string(text))
}

// Run starts another program as one.
func Run(cmd *exec.Cmd, environment ...string) (*Process, error) {
	cmd.Env = append(cmd.Environ(), environment...)
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	// In a group of its own, a process that is stopped when this one dies is woken and
	// hung up on by the kernel.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Process{In: in, Out: out, cmd: cmd, lines: bufio.NewReader(out), reap: sync.OnceValue(cmd.Wait)}, nil
}

// Line is the next line that it says.
func (p *Process) Line() (string, error) { return p.lines.ReadString('\n') }

// Dial connects a client to its standard input and output.
func (p *Process) Dial(ctx context.Context, opts *wire.Options) (*wire.Client, error) {
	return wire.Dial(ctx, &mcp.IOTransport{Reader: p.Out, Writer: p.In}, opts)
}

// Wait waits for its end. Before, whoever has a client of its own must have closed it.
func (p *Process) Wait() error { return p.reap() }

// Kill ends it, also when it stands still.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.reap()
}

// Finish ends its input, waits for its end, and kills it when that takes too long.
func (p *Process) Finish(within time.Duration) error {
	_ = p.In.Close()
	late := time.AfterFunc(within, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	return p.reap()
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Killed returns nil if it was ended by SIGKILL.
func (p *Process) Killed() error {
	_ = p.reap()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the process ended by itself: %v", p.cmd.ProcessState)
	}
	return nil
}

// Halt stops it, and returns when it stands still.
func (p *Process) Halt(ctx context.Context) error {
	return errors.Join(p.Signal(syscall.SIGSTOP), p.Halted(ctx))
}

// Halted waits until it stands still.
func (p *Process) Halted(ctx context.Context) error {
	for {
		var info syscall.WaitStatus
		pid, err := syscall.Wait4(p.cmd.Process.Pid, &info, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			return err
		case pid > 0 && info.Stopped():
			return nil
		case pid > 0:
			return fmt.Errorf("the process ended: %v", info)
		}
		if err := Pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// Thaw wakes it.
func (p *Process) Thaw() error { return p.Signal(syscall.SIGCONT) }

// FreeAddress is a loopback address at which nobody listens.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Pid is its number.
func (p *Process) Pid() int { return p.cmd.Process.Pid }
