package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mrtr-go/sdk/bench/internal/wire"
	"github.com/mrtr-go/sdk/internal/meter"
)

// runner runs a load n times and returns the cost.
type runner interface {
	run(n int) (meter.Reading, error)
	close() error
}

// start starts the processes that a load needs. prefix is a command line that runs another one,
// nil for none.
func (w *workshop) start(l load, prefix []string) (runner, error) {
	command, err := w.command(l.program)
	if err != nil {
		return nil, err
	}
	command = append(append([]string(nil), prefix...), command...)
	if l.program == mrtrBench {
		return &benchmark{command, l.environment(), l.subject}, nil
	}
	if l.subject != "" {
		command = append(command, l.subject)
	}
	env := l.environment()
	if prefix != nil {
		env = append(env, "GODEBUG=asyncpreemptoff=1")
	}
	c, err := startChild(command, env)
	if err != nil || l.clients == 0 {
		return &worker{c}, err
	}
	s := &server{child: c, call: l.call()}
	dial := wire.DialHTTP
	if strings.HasPrefix(l.subject, "websocket/") {
		dial = wire.DialWebSocket
	}
	for range l.clients {
		conn, err := dial(c.word)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.clients = append(s.clients, conn)
	}
	return s, nil
}

// worker does its work by itself.
type worker struct{ *child }

func (w *worker) run(n int) (meter.Reading, error) { return w.order(fmt.Sprintf("run %d", n)) }

// server is called by clients, all at once. The time is that of the clients' clock
// over all calls, everything else is the server's.
type server struct {
	*child
	clients []wire.Conn
	call    *wire.Call
}

func (s *server) run(n int) (spent meter.Reading, _ error) {
	before, err := s.order("meter")
	if err != nil {
		return spent, err
	}
	begun := time.Now()
	var begunCalls atomic.Int64
	var done sync.WaitGroup
	failures := make([]error, len(s.clients))
	for i, conn := range s.clients {
		done.Go(func() {
			for failures[i] == nil && begunCalls.Add(1) <= int64(n) {
				failures[i] = s.call.Make(conn)
			}
		})
	}
	done.Wait()
	took := time.Since(begun)
	after, err := s.order("meter")
	if err := errors.Join(append(failures, err)...); err != nil {
		return spent, err
	}
	spent = after.Since(before)
	spent.Wall = took
	return spent, nil
}

func (s *server) close() error {
	for _, conn := range s.clients {
		conn.Close()
	}
	return s.child.close()
}

// benchmark is a Go benchmark of a test binary, run n times in a process of its
// own on one processor. Its cost includes the process's start.
type benchmark struct {
	command     []string
	environment []string
	name        string
}

func (b *benchmark) run(n int) (spent meter.Reading, _ error) {
	levels := strings.Split("Benchmark"+b.name, "/")
	for i := range levels {
		levels[i] = "^" + levels[i] + "$"
	}
	command := exec.Command(b.command[0], append(b.command[1:], "-test.run=^$", "-test.cpu=1",
		"-test.bench="+strings.Join(levels, "/"), fmt.Sprintf("-test.benchtime=%dx", n))...)
	command.Env = append(os.Environ(), append(b.environment, "GODEBUG=asyncpreemptoff=1")...)
	output, err := command.CombinedOutput()
	if err != nil {
		return spent, fmt.Errorf("%s: %w\n%s", b.name, err, output)
	}
	if !strings.Contains(string(output), "ns/op") {
		return spent, fmt.Errorf("no benchmark %s: %s", b.name, output)
	}
	spent.CPU = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	return spent, nil
}

func (b *benchmark) close() error { return nil }
