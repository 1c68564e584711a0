// Package testserver runs a database server for a test, on loopback.
package testserver

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Find returns the path of a program: the first of the names that is in PATH
// or fits a pattern such as /usr/lib/postgresql/*/bin/postgres. Without any it
// skips the test, or fails it where MRTR_CI=1.
func Find(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if found, _ := filepath.Glob(name); strings.Contains(name, "/") && len(found) > 0 {
			return found[len(found)-1]
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	message := fmt.Sprintf("no %s here: run store/install on Debian or Ubuntu, or install it by hand", filepath.Base(names[0]))
	if os.Getenv("MRTR_CI") == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// FreeAddr returns a loopback address on which nobody listens.
func FreeAddr(t testing.TB) (host, port string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	host, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// guard runs the server and ends it when its own input ends. So the server
// stops with the test, also when the test is killed.
const guard = `"$@" </dev/null >"$LOG" 2>&1 &
server=$!
trap : INT
cat >/dev/null
kill -INT $server
(trap 'kill $!; exit' TERM; sleep 15 & wait; kill -KILL $server) &
killer=$!
wait $server
kill $killer`

// Start runs a server until the test ends, and waits until it is ready. What
// the server says is shown if it does not become ready.
func Start(t testing.TB, server *exec.Cmd, ready func() error) {
	t.Helper()
	log := filepath.Join(server.Dir, "server.log")
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "sh", server.Path}, server.Args[1:]...)...)
	cmd.Dir, cmd.SysProcAttr = server.Dir, server.SysProcAttr
	cmd.Env = append(os.Environ(), append(server.Env, "LOG="+log)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", server.Path, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			panic(server.Path + " does not stop")
		}
	})
	deadline := time.Now().Add(60 * time.Second)
	for {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			t.Fatalf("%s is not ready: %v\n%s", server.Path, err, said)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Dir makes a directory for a server, and removes it in Cleanup: t.TempDir would
// remove it before a server that outlasts the test has stopped.
func Dir(t testing.TB, name string) (string, error) {
	dir, err := os.MkdirTemp("", name)
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	return dir, err
}
