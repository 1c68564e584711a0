package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/mrtr-go/sdk/internal/meter"
)

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
func (c *child) order(order string) (r meter.Reading, _ error) {
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
