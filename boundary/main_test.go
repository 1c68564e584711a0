package boundary_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary"
	"github.com/mrtr-go/sdk/internal/judge"
)

// thorough, as in CI, tries more of the same: both eras if one shows the point, and
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

// bareVariable turns the test below into the process that it starts. The value is the
// era and the first misbehaviour to try.
const bareVariable = "BOUNDARY_TEST_BARE"

// The same table against a bare go-sdk server in a process of its own, which is
// started again whenever it dies. The counts depend on go-sdk, so the test requires
// only that some cases end badly. Each death costs a process, so one era is tried unless
// the tests are thorough.
func TestTheSameTableAgainstBareSDK(t *testing.T) {
	if begin := os.Getenv(bareVariable); begin != "" {
		tryBare(t, begin)
		return
	}
	t.Parallel()
	tried := eras
	if !thorough {
		tried = eras[:1]
	}
	for _, era := range tried {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			cases := badCases(nil)
			var verdicts []verdict
			for len(verdicts) < len(cases) {
				verdicts = append(verdicts, bareVerdicts(t, era, cases[len(verdicts):], len(verdicts))...)
			}
			var dead, lost, malformed int
			var report strings.Builder
			for _, v := range verdicts {
				switch {
				case v.Dead:
					dead++
				case v.Lost:
					lost++
				case v.Fault != "":
					malformed++
				}
				if v.Fault != "" {
					fmt.Fprintf(&report, "  %s\n", v)
				}
			}
			t.Logf("bare go-sdk, %s: %d of %d misbehaviours end badly: %d kill the process, %d get no answer, %d a malformed one. With the boundary none does.\n%s",
				era, dead+lost+malformed, len(cases), dead, lost, malformed, report.String())
			require.Positive(t, dead+lost+malformed, "a bare server on which nothing ends badly: the table tests nothing")
		})
	}
}

// silence is how long a process may write nothing before it is killed. Processes that
// hang end themselves much sooner; this is for one that runs in a circle.
const silence = 10 * time.Second

// bareVerdicts starts a process and returns its verdicts up to the case that it
// dies of, at least one.
func bareVerdicts(t *testing.T, era judge.Era, rest []badCase, from int) []verdict {
	self := must(os.Executable())(t)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTheSameTableAgainstBareSDK$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", bareVariable, era, from), "GOTRACEBACK=none")
	stdin := must(cmd.StdinPipe())(t)
	stdout := must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	var verdicts []verdict
	stuck := time.AfterFunc(silence, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	for lines := bufio.NewScanner(stdout); len(verdicts) < len(rest) && lines.Scan(); {
		stuck.Reset(silence)
		var v verdict
		if json.Unmarshal(lines.Bytes(), &v) != nil {
			break // the test framework's own lines at the end
		}
		require.Equal(t, rest[len(verdicts)].Name, v.Case)
		if verdicts = append(verdicts, v); v.Dead {
			break
		}
	}
	stdin.Close()
	cmd.Process.Kill()
	_ = cmd.Wait() // killed, if it did not die
	if n := len(verdicts); n < len(rest) && (n == 0 || !verdicts[n-1].Dead) {
		verdicts = append(verdicts, verdict{Case: rest[n].Name, Fault: "no answer: the process died or hangs", Dead: true})
	}
	return verdicts
}

// tryBare writes one verdict per line until it dies or has tried all cases. In the
// bubble no time passes while a goroutine can still run, so an answer that is missing
// when patience ends never comes, and the test has not waited for it.
func tryBare(t *testing.T, begin string) {
	era, from, _ := strings.Cut(begin, " ")
	first := must(strconv.Atoi(from))(t)
	go endWhenStuck()
	synctest.Test(t, func(t *testing.T) {
		cases := badCases(nil)
		client, _, err := openMemory(t.Context(), judge.Era(era), bareServer(cases))
		require.NoError(t, err)
		out := json.NewEncoder(os.Stdout)
		for _, c := range cases[first:] {
			require.NoError(t, out.Encode(run(t.Context(), client, judge.Era(era), c)))
		}
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed: a handler that hangs would keep the bubble from ending
	})
}

// endWhenStuck ends the process once no goroutine can run any more. go-sdk may wait
// for the author's code with a lock held, and then no time passes in the bubble. A slow
// machine is not mistaken for it: a goroutine that waits for a processor is runnable.
func endWhenStuck() {
	var before string
	for alike := 0; alike < 3; time.Sleep(20 * time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		_, others, _ := strings.Cut(string(stacks), "\n\n") // the first is this goroutine
		if others != before || moving.MatchString(others) {
			before, alike = others, 0
			continue
		}
		alike++
	}
	os.Exit(1)
}

// moving matches a goroutine that runs, may run, or waits for the operating system.
var moving = regexp.MustCompile(`(?m)^goroutine \d+ .*\[(running|runnable|syscall|IO wait)`)
