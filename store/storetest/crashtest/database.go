//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Database is a server that a store needs, which tests run on loopback.
type Database struct {
	// Programs names the server: the first that is in PATH, or that fits a pattern such
	// as /usr/lib/postgresql/*/bin/postgres, is taken. Without any a test is skipped, or
	// fails if MRTR_CI=1.
	Programs []string
	// Command starts it in an empty folder.
	Command func(t testing.TB, program, dir, host, port string) *exec.Cmd
	// Ready returns nil when it can be used.
	Ready func(ctx context.Context, addr string) error

	mu     sync.Mutex
	shared string // the address of Shared, guarded by mu
}

// Shared returns the address of a server that the tests of the package share. It runs
// until all of them are over.
func (d *Database) Shared(t testing.TB) (addr string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shared == "" {
		d.shared = d.start(t, atEnd.add)
	}
	return d.shared
}

// Start returns the address of a server that runs until the test ends.
func (d *Database) Start(t testing.TB) (addr string) {
	t.Helper()
	return d.start(t, t.Cleanup)
}

const (
	startTime = 60 * time.Second
	stopTime  = 30 * time.Second
)

// guard runs the server and ends it when its own input ends. So the server stops with
// the test, also when the test is killed.
const guard = `"$@" </dev/null >"$LOG" 2>&1 &
server=$!
trap : INT
cat >/dev/null
kill -INT $server
(trap 'kill $!; exit' TERM; sleep 15 & wait; kill -KILL $server) &
killer=$!
wait $server
kill $killer`

func (d *Database) start(t testing.TB, cleanup func(func())) (addr string) {
	t.Helper()
	program := d.find(t)
	// t.TempDir would be removed before a server that outlasts the test.
	dir, err := os.MkdirTemp("", "database")
	require.NoError(t, err)
	cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr = listener.Addr().String()
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	require.NoError(t, listener.Close())

	server := d.Command(t, program, dir, host, port)
	log := filepath.Join(dir, "server.log")
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "sh", server.Path}, server.Args[1:]...)...)
	cmd.Dir, cmd.SysProcAttr = dir, server.SysProcAttr
	cmd.Env = append(os.Environ(), "LOG="+log)
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	cleanup(func() {
		_ = input.Close()
		select {
		case <-ended:
		case <-time.After(stopTime):
			panic(program + " does not stop")
		}
	})
	for deadline := time.Now().Add(startTime); ; time.Sleep(20 * time.Millisecond) {
		err := d.Ready(t.Context(), addr)
		if err == nil {
			return addr
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			t.Fatalf("%s is not ready: %v\n%s", program, err, said)
		}
	}
}

func (d *Database) find(t testing.TB) (path string) {
	t.Helper()
	for _, name := range d.Programs {
		if found, _ := filepath.Glob(name); strings.Contains(name, "/") && len(found) > 0 {
			return found[len(found)-1]
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	message := fmt.Sprintf("no %s here: run store/install on Debian or Ubuntu, or install it by hand", filepath.Base(d.Programs[0]))
	if os.Getenv("MRTR_CI") == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}
