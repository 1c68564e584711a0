//go:build unix

package crashtest

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

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/wire"
)

// deathTime is how long the connection of a killed process may last.
const deathTime = 30 * time.Second

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
	p.tool = toolName
	p.conn, err = wire.Dial(ctx, &mcp.IOTransport{Reader: out, Writer: in}, &wire.Options{Unrecorded: true, TakesTasks: j.Tasks})
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

// drain hangs up on the process, which lets its rounds come to their end and exits.
func (p *process) drain() {
	_ = p.conn.Close()
	late := time.AfterFunc(2*drainTime, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
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

// halt lets the process stop itself.
func (p *process) halt(ctx context.Context) error {
	if _, err := p.conn.Start(ctx, wire.Request{Name: haltTool, Arguments: Order{}}); err != nil {
		return err
	}
	return p.stopped(ctx)
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
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

const toolName = "pay"

// Client calls a tool at one server.
type Client struct {
	conn    *wire.Client
	tool    string
	started func(jsonrpc.ID) // with each request, nil for nobody wants to know
}

// Ask begins a call and returns the request that answers its question.
func (c *Client) Ask(ctx context.Context, order string) (wire.Request, error) {
	for {
		reply, err := c.conn.Send(ctx, wire.Request{Name: c.tool, Arguments: Order{order}})
		if err != nil {
			return wire.Request{}, Unanswered{err}
		}
		if reply.State != "" && reply.Incomplete() {
			return wire.Request{
				Name: c.tool, Arguments: Order{order}, State: reply.State,
				Responses: map[string]any{mayPay.Key(): map[string]any{"action": "accept", "content": map[string]any{mayPay.Key(): true}}},
			}, nil
		}
		if reply.Error == nil || !retryable(reply.Error) {
			return wire.Request{}, fmt.Errorf("it did not ask: %s %v", reply.Result, reply.Error)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return wire.Request{}, err
		}
	}
}

// codeRetryable is written out here: a change of it would break clients.
const codeRetryable = -31001

func retryable(err *jsonrpc.Error) bool {
	var data struct {
		Retryable bool `json:"retryable"`
	}
	return err.Code == codeRetryable && json.Unmarshal(err.Data, &data) == nil && data.Retryable
}

// Answer is a reply in the words of the tables.
type Answer struct {
	Class   string // ok, unknown, gone, refused, retryable, or error for one of the tool's
	Code    int64  // of a JSON-RPC error
	Receipt Receipt
	Text    string // of an error of the tool's
}

// String is the answer in a word, with its code.
func (a Answer) String() string {
	if a.Code != 0 {
		return fmt.Sprintf("%s (%d)", a.Class, a.Code)
	}
	return a.Class
}

// Settle sends the request again while it is told that it may be.
func (c *Client) Settle(ctx context.Context, r wire.Request) (Answer, error) {
	for {
		a, err := c.Send(ctx, r)
		if err != nil || a.Class != "retryable" {
			return a, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return a, err
		}
	}
}

// Send sends the request once. An error means that there was no answer, which is
// [Unanswered], or none that a table knows.
func (c *Client) Send(ctx context.Context, r wire.Request) (Answer, error) {
	p, err := c.conn.Start(ctx, r)
	if err != nil {
		return Answer{}, Unanswered{err}
	}
	if c.started != nil {
		c.started(p.ID)
	}
	res, err := p.Wait(ctx)
	if err != nil {
		return Answer{}, Unanswered{err}
	}
	reply, err := wire.ReadReply(res)
	if err != nil {
		return Answer{}, err
	}
	if reply.Error != nil {
		return classOfError(reply.Error)
	}
	if !reply.IsError {
		a := Answer{Class: "ok"}
		return a, json.Unmarshal(reply.Structured, &a.Receipt)
	}
	var result struct {
		Meta map[string]boundary.Report `json:"_meta"`
	}
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		return Answer{}, err
	}
	switch report := result.Meta[boundary.MetaKey]; {
	case report.Type == "frame_gone":
		return Answer{Class: "gone"}, nil
	case report.Type == "outcome_unknown":
		return Answer{Class: "unknown"}, nil
	case report.Effect != "":
		return Answer{Class: report.Effect, Text: reply.Text}, nil
	case report.Type == "execution":
		return Answer{Class: "error", Text: reply.Text}, nil
	default:
		return Answer{}, fmt.Errorf("an error of type %q: %s", report.Type, reply.Text)
	}
}

// Unanswered says that no answer came: the server is gone, or the context ended.
type Unanswered struct{ error }

func (u Unanswered) Unwrap() error { return u.error }

func classOfError(err *jsonrpc.Error) (Answer, error) {
	switch {
	case retryable(err):
		return Answer{Class: "retryable", Code: err.Code}, nil
	case err.Code == jsonrpc.CodeInvalidParams:
		return Answer{Class: "refused", Code: err.Code}, nil
	}
	return Answer{}, err
}
