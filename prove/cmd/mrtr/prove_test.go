package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/prove"
)

// weatherDemo builds the demo, a server of the root module.
func weatherDemo(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "weather-demo")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "./cmd/weather-demo")
	build.Dir = "../../.." // the root module
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// serve starts a server over HTTP, and returns its URL.
func serve(t *testing.T, binary, keys string, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "-http", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), "MRTR_KEYS="+keys)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

// mrtr runs the command, and returns its output and status.
func mrtr(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	command, err := exec.LookPath("mrtr") // testscript.Main has put it there
	require.NoError(t, err)
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

var scenario = []string{
	"-arguments", `{"location":"Springfield"}`, "-other-arguments", `{"location":"Tokyo"}`,
	"-answers", `{"place":"Springfield, Illinois","units":"imperial"}`, "-expiry", "1300ms", "-late", "300ms", "-traces", "3", "-repeatable",
}

// The same tool is proved over HTTP and over stdio, by the program that users run.
func TestProveOverHTTPAndStdio(t *testing.T) {
	binary := weatherDemo(t)
	keys, others := newSecret(), newSecret()
	tokens := []string{"-token", "ann=a", "-token", "bob=b", "-landmine"}
	url := serve(t, binary, keys, tokens...)
	brief := serve(t, binary, keys, append(tokens, "-ttl", "1s")...)
	stranger := serve(t, binary, others, tokens...)

	overHTTP := func(tool string, more ...string) []string {
		args := append([]string{
			"prove", "-json", "-tool", tool, "-token", "a", "-other-token", "b", "-fresh", brief + "/mcp", "-brief", brief + "/mcp",
			"-stranger", stranger + "/mcp", "-effects", url + "/charges", "-other-tool", "weather_sse_shim",
		}, scenario...)
		return append(append(args, more...), url+"/mcp")
	}
	overStdio := func(tool string, more ...string) []string {
		args := append([]string{
			"prove", "-json", "-tool", tool, "-secret", "MRTR_KEYS", "-brief", "-ttl 1s",
			"-effects", "stderr:card (charge)d", "-other-tool", "weather_sse_shim",
		}, scenario...)
		return append(append(args, more...), "--", binary, "serve", "-stdio", "-landmine")
	}
	outcomes := func(args []string) (map[string]prove.Outcome, int) {
		out, errOut, status := mrtr(t, args...)
		var report report
		require.NoError(t, json.Unmarshal([]byte(out), &report), errOut)
		require.Len(t, report.Reports, 1)
		require.Len(t, report.Reports[0].Findings, len(prove.Rules()))
		all := map[string]prove.Outcome{}
		for _, f := range report.Reports[0].Findings {
			all[f.Rule.Name] = f.Outcome
			require.NotEmpty(t, f.Rule.Says)
			if f.Outcome == prove.Fail {
				t.Log(f)
			}
		}
		return all, status
	}
	statuses := map[string]int{"weather_steps": 0}
	if os.Getenv("MRTR_NIGHTLY") == "1" {
		statuses["weather_coroutine"], statuses["weather_naive"] = 0, 1
	}
	for tool, want := range statuses {
		http, status := outcomes(overHTTP(tool))
		require.Equal(t, want, status, tool)
		stdio, status := outcomes(overStdio(tool))
		require.Equal(t, want, status, tool)
		// Over stdio there are no callers. The count of a second process's effects is
		// another server's over HTTP.
		for _, rule := range []string{"state/other-principal", "once/elsewhere"} {
			delete(http, rule)
			delete(stdio, rule)
		}
		require.Equal(t, http, stdio, tool)
		require.Equal(t, prove.Pass, http["state/expired"])
		require.Equal(t, prove.Pass, http["state/other-deployment"])
	}
	out, _, status := mrtr(t, overStdio("weather_naive", "-only", "once/honest")...)
	require.Equal(t, 1, status)
	require.Contains(t, out, `\"charge\" happened twice instead of once`)
}

func TestProveWritesJUnit(t *testing.T) {
	binary := weatherDemo(t)
	file := filepath.Join(t.TempDir(), "report.xml")
	args := append([]string{"prove", "-tool", "weather_naive", "-effects", "stderr:card charged", "-only", "once/honest,state/altered", "-junit", file}, scenario...)
	out, _, status := mrtr(t, append(args, "--", binary, "serve", "-landmine")...)
	require.Equal(t, 1, status, out)
	require.Contains(t, out, "FAIL  once/honest")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var suites struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Skipped  int    `xml:"skipped,attr"`
			Cases    []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(text, &suites))
	require.Len(t, suites.Suites, 2)
	require.Equal(t, "weather_naive/state", suites.Suites[0].Name)
	require.Equal(t, "weather_naive/once", suites.Suites[1].Name)
	require.Equal(t, 1, suites.Suites[1].Tests)
	require.Equal(t, 1, suites.Suites[1].Failures)
	require.Equal(t, "once/honest", suites.Suites[1].Cases[0].Name)
	require.Contains(t, *suites.Suites[1].Cases[0].Failure, "happened twice")
}

func TestProgressIsOneLineThatGoesAway(t *testing.T) {
	var screen strings.Builder
	p := &progress{to: &screen, redraw: true}
	stop := p.start()
	p.next(prove.Finding{Rule: prove.Rule{Name: "state/cut"}, Outcome: prove.Pass})
	p.next(prove.Finding{Rule: prove.Rule{Name: "state/forged"}, Outcome: prove.Fail})
	stop()
	require.Equal(t, "\r\x1b[K1 rules, 0 failed: state/cut\r\x1b[K2 rules, 1 failed: state/forged\r\x1b[K", screen.String())
}

// Where no line can be drawn anew, one is written now and then.
func TestProgressInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := &progress{to: &log}
		stop := p.start()
		time.Sleep(often + time.Second)
		p.next(prove.Finding{Rule: prove.Rule{Name: "state/cut"}, Outcome: prove.Pass})
		time.Sleep(often)
		stop()
		require.Equal(t, "mrtr prove: no rule yet after 10s\nmrtr prove: 1 rules, 0 failed: state/cut after 20s\n", log.String())
	})
}

func TestALongRunSaysWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		at, finish := whereabouts(&said)
		at("listing the packages")
		time.Sleep(9 * time.Second)
		at("package 1 of 2, a")
		time.Sleep(2 * time.Second)
		at("package 2 of 2, b")
		time.Sleep(8 * time.Second)
		finish()
		require.Equal(t, "mrtr vet: package 1 of 2, a\n", said.String())
	})
}

// A rule of ours decides the exit status where it was asked for.
func TestWhatDecidesTheExitStatus(t *testing.T) {
	for args, want := range map[string]prove.Level{
		"":                                prove.Should,
		"-level must":                     prove.Must,
		"-level should":                   prove.Should,
		"-level ours":                     prove.Ours,
		"-only once":                      prove.Ours,
		"-only once -level must":          prove.Must,
		"-repeatable":                     prove.Should,
		"-only state/altered -level ours": prove.Ours,
	} {
		p := newProof()
		require.NoError(t, p.flags().Parse(strings.Fields(args)))
		require.Equal(t, want, p.decisive(), args)
	}
}
