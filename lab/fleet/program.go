//go:build unix

package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Build compiles the package in a folder, by its own module and go build, or as how says, and
// returns the program. No revision is stamped in: it would be part of every state.
func Build(t testing.TB, folder string, how ...string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	if how == nil {
		how = []string{"build"}
	}
	build := exec.Command("go", append(how, "-buildvcs=false", "-o", program, ".")...)
	build.Dir = folder
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return program
}

// stopTime is how long a program may take to stop.
const stopTime = 15 * time.Second

// Listen runs a program until the test ends, and returns the URL at which it says that it is
// listening. It must stop on SIGTERM and when its input ends, with status 0.
func Listen(t testing.TB, cmd *exec.Cmd) (url string) {
	t.Helper()
	p, err := Run(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Signal(syscall.SIGTERM)
		if err := p.Finish(stopTime); err != nil {
			t.Errorf("%s did not stop cleanly: %v", cmd, err)
		}
	})
	return listening(t, p)
}

// ListenWhileOpen is Listen for a program that nothing may end before its input does.
func ListenWhileOpen(t testing.TB, cmd *exec.Cmd) (url string) {
	t.Helper()
	p, err := Run(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Finish(stopTime); err != nil {
			t.Errorf("%s did not live to the end: %v", cmd, err)
		}
	})
	return listening(t, p)
}

func listening(t testing.TB, p *Process) string {
	t.Helper()
	line, err := p.Line()
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		t.Fatalf("its first line is %q, %v", line, err)
	}
	return url
}

// Driver is somebody else's client, a program that reads a line of JSON for each call and
// writes one for its result. The README of lab/interop has its contract.
type Driver struct{ *Process }

// driverTime bounds the life of a driver: one that hangs is killed, and whoever waits for it
// fails.
const driverTime = 5 * time.Minute

// Drive starts one, and waits until it is connected.
func Drive(argv []string) (*Driver, error) {
	p, err := Run(exec.Command(argv[0], argv[1:]...))
	if err != nil {
		return nil, err
	}
	time.AfterFunc(driverTime, func() { _ = p.Signal(os.Kill) })
	d := &Driver{p}
	var hello struct {
		Ready bool
		Error string
	}
	if err := d.read(&hello); err != nil || !hello.Ready {
		return nil, errors.Join(fmt.Errorf("it is not ready: %s", hello.Error), err, d.Close())
	}
	return d, nil
}

// Call lets it make a call, and reads the reply.
func (d *Driver) Call(cell, reply any) error {
	line, err := json.Marshal(cell)
	if err != nil {
		return err
	}
	if _, err := d.In.Write(append(line, '\n')); err != nil {
		return err
	}
	return d.read(reply)
}

func (d *Driver) read(v any) error {
	line, err := d.Line()
	if err != nil {
		return fmt.Errorf("the driver ended: %w", err)
	}
	return json.Unmarshal([]byte(line), v)
}

// Close ends it, as its contract says: no more cells, status 0.
func (d *Driver) Close() error { return d.Finish(stopTime) }
