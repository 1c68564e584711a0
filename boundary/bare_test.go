package boundary_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/internal/misbehaving"
	"github.com/mrtr-go/sdk/internal/probe"
)

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
			cases := misbehaving.Cases(nil)
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
func bareVerdicts(t *testing.T, era probe.Era, rest []misbehaving.Case, from int) []verdict {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestTheSameTableAgainstBareSDK$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", bareVariable, era, from), "GOTRACEBACK=none")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
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
	first, err := strconv.Atoi(from)
	require.NoError(t, err)
	go endWhenStuck()
	synctest.Test(t, func(t *testing.T) {
		cases := misbehaving.Cases(nil)
		client, _, err := openMemory(t.Context(), probe.Era(era), misbehaving.NewServer(cases))
		require.NoError(t, err)
		out := json.NewEncoder(os.Stdout)
		for _, c := range cases[first:] {
			require.NoError(t, out.Encode(run(t.Context(), client, probe.Era(era), c)))
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
