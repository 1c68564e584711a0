//go:build unix

package killed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/internal/wire"
)

// deathTime is how long the connection of a killed process may last.
const deathTime = 10 * time.Second

// process is a server, with a client connected to it.
type process struct {
	Client
	cmd  *exec.Cmd
	reap func()
}

// start runs this binary again.
func start(ctx context.Context, j job) (*process, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stderr = os.Stderr
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
	p := &process{cmd: cmd, reap: sync.OnceFunc(func() { _ = cmd.Wait() })}
	p.conn, err = wire.Dial(ctx, &mcp.IOTransport{Reader: out, Writer: in}, &wire.Options{Unrecorded: true})
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// end kills the process and waits for its end.
func (p *process) end() {
	_ = p.cmd.Process.Kill() // it also ends a stopped one
	if p.conn != nil {
		_ = p.conn.Close()
	}
	p.reap()
}

// died returns nil if a request got this error because the process was killed.
func (p *process) died(err error) error {
	if !errors.As(err, new(Unanswered)) {
		return err
	}
	select {
	case <-p.conn.Gone():
	case <-time.After(deathTime):
		return err
	}
	p.reap()
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("the process ended by itself: %v", p.cmd.ProcessState)
	}
	return nil
}

// stopped waits until the process stands still.
func (p *process) stopped(ctx context.Context) error {
	for {
		var info syscall.WaitStatus
		pid, err := syscall.Wait4(p.cmd.Process.Pid, &info, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case err != nil && err != syscall.EINTR:
			return err
		case pid != 0 && info.Stopped():
			return nil
		case pid != 0:
			return fmt.Errorf("the process ended: %v", info)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func (p *process) thaw() error { return p.cmd.Process.Signal(syscall.SIGCONT) }

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
