package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/check/bench/internal/wire"
	"github.com/mrtr-go/sdk/check/roundcost"
)

// runner runs a load n times and returns the cost.
type runner interface {
	run(n int) (roundcost.Reading, error)
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
	if err != nil || !l.served {
		return &worker{c}, err
	}
	s := &server{child: c, call: weather()}
	dial := wire.DialHTTP
	if strings.HasPrefix(l.subject, "websocket/") {
		dial = wire.DialWebSocket
	}
	if s.client, err = dial(c.word); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return s, nil
}

// worker does its work by itself.
type worker struct{ *child }

func (w *worker) run(n int) (roundcost.Reading, error) { return w.order(fmt.Sprintf("run %d", n)) }

// server is called by a client. The time is that of the client's clock, everything else
// is the server's.
type server struct {
	*child
	client wire.Conn
	call   *wire.Call
}

func (s *server) run(n int) (spent roundcost.Reading, _ error) {
	before, err := s.order("meter")
	if err != nil {
		return spent, err
	}
	begun := time.Now()
	for range n {
		if err := s.call.Make(s.client); err != nil {
			return spent, err
		}
	}
	took := time.Since(begun)
	after, err := s.order("meter")
	if err != nil {
		return spent, err
	}
	spent = after.Since(before)
	spent.Wall = took
	return spent, nil
}

func (s *server) close() error {
	s.client.Close()
	return s.child.close()
}

// benchmark is a Go benchmark of a test binary, run n times in a process of its
// own on one processor. Its cost includes the process's start.
type benchmark struct {
	command     []string
	environment []string
	name        string
}

func (b *benchmark) run(n int) (spent roundcost.Reading, _ error) {
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

// child is a process that is measured. Package internal/subject describes the
// conversation with it.
type child struct {
	process *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Scanner
	word    string
	failure strings.Builder // its standard error
	closed  bool
}

func startChild(command, environment []string) (*child, error) {
	c := &child{process: exec.Command(command[0], command[1:]...)}
	c.process.Env = append(os.Environ(), environment...)
	c.process.Stderr = &c.failure
	var err error
	if c.orders, err = c.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.answers = bufio.NewScanner(out)
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	line, err := c.read()
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	var ready bool
	if c.word, ready = strings.CutPrefix(line, "ready "); !ready {
		return nil, errors.Join(fmt.Errorf("%s said %q first", c.process, line), c.close())
	}
	return c, nil
}

func (c *child) read() (string, error) {
	if !c.answers.Scan() {
		return "", fmt.Errorf("%s ended", c.process)
	}
	return c.answers.Text(), nil
}

// order gives an order and returns the reading that answers it.
func (c *child) order(order string) (r roundcost.Reading, _ error) {
	if _, err := fmt.Fprintln(c.orders, order); err != nil {
		return r, errors.Join(err, c.close())
	}
	line, err := c.read()
	if err != nil {
		return r, errors.Join(err, c.close())
	}
	return r, json.Unmarshal([]byte(line), &r)
}

// close ends the process and waits until it has. The first close says how it ended.
func (c *child) close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	c.orders.Close()
	if err := c.process.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c.process, err, &c.failure)
	}
	return nil
}

// count is how many instructions one call of a load takes, SHA-256's compression
// function taken off: valgrind has no instructions for SHA, and runs in its place
// code that no machine runs that has them. The process is run for n calls and for
// five times as many, and the difference is what 4n calls take; how a process
// starts and ends falls out.
func (w *workshop) count(l load, n int) (float64, error) {
	few, err := w.total(l, n)
	if err != nil {
		return 0, err
	}
	many, err := w.total(l, 5*n)
	return (many - few) / float64(4*n), err
}

// total is how many instructions a process takes that makes n calls.
func (w *workshop) total(l load, n int) (_ float64, err error) {
	file, err := os.CreateTemp(w.dir, "callgrind-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	prefix, err := valgrind(filepath.Join(w.dir, filepath.Base(file.Name())))
	if err != nil {
		return 0, err
	}
	r, err := w.start(l, prefix)
	if err != nil {
		return 0, err
	}
	if _, err := r.run(n); err != nil {
		return 0, errors.Join(err, r.close())
	}
	if err := r.close(); err != nil {
		return 0, err
	}
	text, err := said("callgrind_annotate", "--threshold=100", "--auto=no", "--tree=none", "--show-percs=no", file.Name())
	if err != nil {
		return 0, err
	}
	return withoutSHA(text)
}

// costLine is the line of the total, or that of SHA-256's compression function.
var costLine = regexp.MustCompile(`(?m)^ *([\d,]+)  (?:(PROGRAM TOTALS)|[^= ].*:crypto/internal/fips140/sha256\.block)`)

// withoutSHA reads the costs in an account by callgrind_annotate.
func withoutSHA(account string) (cost float64, _ error) {
	totals := 0
	for _, m := range costLine.FindAllStringSubmatch(account, -1) {
		v, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			return 0, err
		}
		if m[2] != "" {
			cost += v
			totals++
		} else {
			cost -= v
		}
	}
	if totals != 1 {
		return 0, fmt.Errorf("%d totals in the account of callgrind_annotate:\n%s", totals, account)
	}
	return cost, nil
}
