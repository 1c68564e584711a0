package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// describeMachine writes the machine and the versions as configuration lines of
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

// said is the output of a command, or a note that it failed.
func said(name string, arguments ...string) string {
	out, err := exec.Command(name, arguments...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// cpu is the name of the processor, on systems that report it.
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

// load is the load average of the last minute, on systems that report it.
func load() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(averages), " ")
	return last
}
