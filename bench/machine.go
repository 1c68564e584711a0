package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// describeMachine writes where the figures come from, as configuration lines of
// the benchmark format.
func describeMachine(out io.Writer, rounds int, moment string) {
	fmt.Fprintf(out, "cpu: %s\n", cpu())
	fmt.Fprintf(out, "cores: %d\n", runtime.NumCPU())
	fmt.Fprintf(out, "os: %s/%s\n", runtime.GOOS, runtime.GOARCH)
	fmt.Fprintf(out, "go: %s\n", runtime.Version())
	for _, peer := range []string{
		"github.com/modelcontextprotocol/go-sdk", "github.com/mark3labs/mcp-go",
		"github.com/gorilla/securecookie", "github.com/golang-jwt/jwt/v5",
	} {
		version := said("go", "list", "-m", "-f", "{{.Version}}", peer)
		fmt.Fprintf(out, "peer: %s %s\n", strings.TrimPrefix(peer, "github.com/"), version)
	}
	fmt.Fprintf(out, "peer: node %s\n", said("node", "--version"))
	fmt.Fprintf(out, "rounds: %d\nbenchtime: %s\nload-before: %s\n", rounds, moment, load())
}

// said is the output of a command, or that there is none.
func said(name string, arguments ...string) string {
	out, err := exec.Command(name, arguments...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// cpu is the processor's own name, where the system tells.
func cpu() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, " \t:\n")
		}
	}
	return "unknown"
}

// load is how many processes wanted to run in the last minute, where the system
// tells.
func load() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(averages), " ")
	return last
}
