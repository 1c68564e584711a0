//go:build unix

package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/mrtr-go/sdk/internal/fault"
	"github.com/mrtr-go/sdk/internal/wire"
)

// Server is a process that serves a job, with a client connected to it.
type Server struct {
	*Process
	Client
}

// StartServer starts one. Its faults are those of package fault.
func StartServer(ctx context.Context, j Job) *Server {
	p := &Server{fault.Must(Start(j)), Client{Tool: ToolName}}
	var err error
	if p.Conn, err = p.Dial(ctx, &wire.Options{Unrecorded: true, TakesTasks: j.Tasks}); err != nil {
		p.Kill()
		fault.Check(err)
	}
	return p
}

// End kills the process and waits for its end.
func (p *Server) End() {
	p.Kill()
	_ = p.Conn.Close()
}

// Drain hangs up on the process, which lets its rounds come to their end and exits.
func (p *Server) Drain() {
	_ = p.Conn.Close()
	_ = p.Finish(2 * DrainTime)
}

// Died returns nil if a request got this error because the process was killed.
func (p *Server) Died(err error) error {
	if !errors.As(err, new(Unanswered)) {
		return err
	}
	select {
	case <-p.Conn.Gone():
		return p.Killed()
	case <-time.After(30 * time.Second):
		return err
	}
}

// HaltItself lets the process stop itself.
func (p *Server) HaltItself(ctx context.Context) error {
	if _, err := p.Conn.Start(ctx, wire.Request{Name: haltTool, Arguments: Order{}}); err != nil {
		return err
	}
	return p.Halted(ctx)
}
