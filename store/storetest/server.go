//go:build unix

package storetest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Server is a program that a store needs. Tests run it on loopback.
type Server struct {
	// Programs names it: the first that is in PATH, or that fits a pattern such as
	// /usr/lib/postgresql/*/bin/postgres, is taken. Without any a test is skipped, or fails
	// if MRTR_CI=1.
	Programs []string
	// Command starts it in an empty folder.
	Command func(t testing.TB, program, dir, host, port string) *exec.Cmd
	// Ready returns nil when it can be used.
	Ready func(ctx context.Context, program, addr string) error

	mu     sync.Mutex
	shared string // the address of Shared, guarded by mu
}

// PostgreSQL is a server whose user mrtr needs no password.
var PostgreSQL = &Server{
	Programs: postgresPrograms,
	Command: func(t testing.TB, program, dir, host, port string) *exec.Cmd {
		return postgres(t, program, dir, host, port, "initdb", "-U", "mrtr", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
	},
	Ready: postgresIsReady,
}

// Standby is a PostgreSQL server that follows another one, by the name standby.
func Standby(primary string) *Server {
	of, at, _ := net.SplitHostPort(primary)
	return &Server{
		Programs: postgresPrograms,
		Command: func(t testing.TB, program, dir, host, port string) *exec.Cmd {
			return postgres(t, program, dir, host, port, "pg_basebackup", "-R", "-c", "fast", "-N",
				"-d", fmt.Sprintf("host=%s port=%s user=mrtr application_name=standby", of, at))
		},
		Ready: postgresIsReady,
	}
}

var postgresPrograms = []string{"/usr/lib/postgresql/*/bin/postgres", "postgres"}

func postgresIsReady(ctx context.Context, program, addr string) error {
	host, port, _ := net.SplitHostPort(addr)
	return exec.CommandContext(ctx, filepath.Join(filepath.Dir(program), "pg_isready"), "-q", "-h", host, "-p", port).Run()
}

// RedisDatabases is how many databases [Redis] has.
const RedisDatabases = 1000

// Redis is a server that syncs each write.
var Redis = &Server{
	Programs: []string{"redis-server", "valkey-server"},
	Command: func(_ testing.TB, program, _, host, port string) *exec.Cmd {
		return exec.Command(program, "--bind", host, "--port", port, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
			"--databases", strconv.Itoa(RedisDatabases))
	},
	Ready: func(ctx context.Context, _, addr string) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return err
		}
		if said, err := bufio.NewReader(conn).ReadString('\n'); err != nil || said != "+PONG\r\n" {
			return fmt.Errorf("it said %q, %w", said, err)
		}
		return nil
	},
}

// With is the server with more arguments.
func (s *Server) With(args ...string) *Server {
	return &Server{Programs: s.Programs, Ready: s.Ready, Command: func(t testing.TB, program, dir, host, port string) *exec.Cmd {
		cmd := s.Command(t, program, dir, host, port)
		cmd.Args = append(cmd.Args, args...)
		return cmd
	}}
}

// StopShared stops the servers that the tests of a package have shared, when all of them are
// over: their TestMain calls it.
func StopShared() {
	for _, stop := range slices.Backward(atEnd) {
		stop()
	}
}

// atEnd stops the shared servers. Those that add to it hold the lock of their server, and
// tests start one after the other.
var atEnd []func()

// Shared returns the address of a server that the tests of the package share. It runs
// until all of them are over: their TestMain calls [StopShared].
func (s *Server) Shared(t testing.TB) (addr string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared == "" {
		s.shared = s.start(t, func(stop func()) { atEnd = append(atEnd, stop) })
	}
	return s.shared
}

// Start returns the address of a server that runs until the test ends.
func (s *Server) Start(t testing.TB) (addr string) {
	t.Helper()
	return s.start(t, t.Cleanup)
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

func (s *Server) start(t testing.TB, cleanup func(func())) (addr string) {
	t.Helper()
	program := s.find(t)
	// t.TempDir would be removed before a server that outlasts the test.
	dir := must(os.MkdirTemp("", "server"))(t)
	cleanup(func() { _ = os.RemoveAll(dir) })
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	addr = listener.Addr().String()
	host, port, _ := net.SplitHostPort(addr)
	_ = listener.Close()

	server := s.Command(t, program, dir, host, port)
	log := filepath.Join(dir, "server.log")
	cmd := exec.Command("/bin/sh", append([]string{"-c", guard, "sh", server.Path}, server.Args[1:]...)...)
	cmd.Dir, cmd.SysProcAttr = dir, server.SysProcAttr
	cmd.Env = append(append(os.Environ(), server.Env...), "LOG="+log)
	input := must(cmd.StdinPipe())(t)
	must(0, cmd.Start())(t)
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
		err := s.Ready(t.Context(), program, addr)
		if err == nil {
			return addr
		}
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log)
			t.Fatalf("%s is not ready: %v\n%s", program, err, said)
		}
	}
}

func (s *Server) find(t testing.TB) (path string) {
	t.Helper()
	for _, name := range s.Programs {
		if found, _ := filepath.Glob(name); strings.Contains(name, "/") && len(found) > 0 {
			return found[len(found)-1]
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	message := fmt.Sprintf("no %s here: run store/install on Debian or Ubuntu, or install it by hand", filepath.Base(s.Programs[0]))
	if os.Getenv("MRTR_CI") == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// postgres makes a database cluster with one of its programs, and starts a server on it that
// does not run as root: it would refuse to.
func postgres(t testing.TB, program, dir, host, port, makes string, args ...string) *exec.Cmd {
	t.Helper()
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 {
		who := must(user.Lookup("postgres"))(t)
		uid, gid := must(strconv.Atoi(who.Uid))(t), must(strconv.Atoi(who.Gid))(t)
		must(0, os.Chown(dir, uid, gid))(t)
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	data := filepath.Join(dir, "data")
	first := exec.Command(filepath.Join(filepath.Dir(program), makes), append(args, "-D", data)...)
	first.Dir, first.SysProcAttr = dir, as
	if said, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", makes, err, said)
	}
	cmd := exec.Command(program, "-D", data, "-h", host, "-p", port, "-k", dir, "-c", "max_connections=500")
	cmd.SysProcAttr = as
	return cmd
}

// must is the value of a step without which no server starts.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
