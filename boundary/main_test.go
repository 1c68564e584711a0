package boundary_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
)

// thorough, as in CI, tries more of the same: every front of HTTP, and
// larger attacks.
var thorough = os.Getenv("MRTR_CI") == "1"

// TestMain lets the test binary run as other processes too: a server, and
// one process for each fault that is not caught.
func TestMain(m *testing.M) {
	if over := os.Getenv(serveVariable); over != "" {
		if err := serve(over); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if kind := os.Getenv(deathVariable); kind != "" {
		dieWithBoundary(kind)
		return
	}
	// Most cases wait for a deadline, so that many can run side by side, whatever the
	// number of processors.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// deathVariable makes this test binary die in the way that its value names.
const deathVariable = "BOUNDARY_TEST_DEATH"

// deaths are the ways to end the process that the package text lists as not caught.
var deaths = []struct {
	name  string
	tool  func()
	trace string // in the runtime's last output
}{
	{"panic_in_goroutine", func() {
		go func() { panic("nobody above me") }()
		select {}
	}, "panic: nobody above me"},
	{"concurrent_map_writes", func() {
		m := map[int]int{}
		write := func() {
			for i := 0; ; i++ {
				m[i%8] = i
			}
		}
		go write()
		write()
	}, "fatal error: concurrent map"},
	{"stack_overflow", func() {
		var deeper func(int) int
		deeper = func(n int) int { return deeper(n+1) + 1 }
		deeper(0)
	}, "stack exceeds"},
	{"unlock_of_unlocked", func() {
		var mu sync.Mutex
		mu.Unlock()
	}, "fatal error: sync: unlock of unlocked mutex"},
	{"os_exit", func() { os.Exit(3) }, ""},
	{legacySampling, nil, "invalid memory address"},
}

// legacySampling is a tool that asks a legacy client with a nil message in it. go-sdk
// reads the messages on a goroutine of its own before any middleware sees them.
const legacySampling = "nil_sampling_message"

// Some faults end the process in spite of a boundary. The test holds that the package
// text lists them.
func TestWhatNoLayerCatches(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, deaths)
	for _, d := range deaths {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			self := must(os.Executable())(t)
			cmd := exec.CommandContext(t.Context(), self)
			// Two goroutines meet in the middle of a write only if both run at once.
			cmd.Env = append(os.Environ(), deathVariable+"="+d.name, "GOMAXPROCS=8")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run(), "the process lived: the documentation is too modest")
			require.NotContains(t, stderr.String(), survived)
			require.Contains(t, stderr.String(), d.trace)
		})
	}
}

const survived = "an answer came"

// dieWithBoundary calls a tool that kills this process.
func dieWithBoundary(kind string) {
	debug.SetMaxStack(1 << 20) // a gigabyte, as it is by default, takes seconds to fill
	ctx := context.Background()
	server := mcp.NewServer(&mcp.Implementation{Name: "doomed", Version: "1"}, nil)
	for _, d := range deaths {
		mcp.AddTool(server, &mcp.Tool{Name: d.name}, func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
			if d.tool != nil {
				d.tool()
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{nil}}}}, nil, nil
		})
	}
	version := ""
	if kind == legacySampling {
		version = "2025-11-25"
	}
	if err := boundary.Install(server, &boundary.Options{Logger: quiet}); err != nil {
		panic(err)
	}
	there, here := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		panic(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(ctx, here, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		panic(err)
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: kind})
	time.Sleep(5 * time.Second) // a panic runs deferred calls, which can end the session first
	fmt.Fprintln(os.Stderr, survived, res, err)
}
