package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where the figures come from.
type machine struct {
	CPU        string    `json:"cpu"`
	Cores      int       `json:"cores"`
	System     string    `json:"system"`
	Go         string    `json:"go"`
	Peers      []string  `json:"peers"`
	Sittings   int       `json:"sittings"`
	Rounds     int       `json:"rounds"`      // of each sitting
	FineRounds int       `json:"fineRounds"`  // of each sitting, where small differences matter
	OfStores   int       `json:"storeRounds"` // of each sitting with a store
	Turn       string    `json:"turn"`
	Load       [2]string `json:"load"` // average of the last minute, before and after
	Seconds    float64   `json:"seconds"`
}

func describeMachine(p pace) machine {
	m := machine{
		CPU: processor(), Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Sittings: p.sittings, Rounds: p.rounds, FineRounds: p.rounds * p.fine, OfStores: p.stores, Turn: p.turn.String(), Load: [2]string{loadAverage()},
	}
	for _, peer := range []string{gosdk, "github.com/mark3labs/mcp-go", "github.com/gorilla/securecookie", "github.com/golang-jwt/jwt/v5"} {
		m.add(strings.TrimPrefix(peer, "github.com/"), "go", "list", "-m", "-f", "{{.Version}}", peer)
	}
	if node, err := nodeCommand("server.mjs"); err == nil {
		m.add("node", node[0], "--version")
		m.add("@modelcontextprotocol/server", node[0], "-p",
			`JSON.parse(fs.readFileSync("typescript/node_modules/@modelcontextprotocol/server/package.json")).version`)
	}
	return m
}

func (m *machine) add(peer, name string, arguments ...string) {
	if version, err := said(name, arguments...); err == nil {
		m.Peers = append(m.Peers, peer+" "+version)
	}
}

func (m *machine) finish(begun time.Time) {
	m.Load[1] = loadAverage()
	m.Seconds = time.Since(begun).Seconds()
}

func (m *machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s. %s.\n%d sittings of %d rounds (%d where a target lies close, %d with stores), %s of CPU each; %.0f seconds in all; load average %s before, %s after.",
		m.CPU, m.Cores, m.System, m.Go, strings.Join(m.Peers, ", "), m.Sittings, m.Rounds, m.FineRounds, m.OfStores, m.Turn, m.Seconds, m.Load[0], m.Load[1])
}

// processor is the processor's own name, where the system tells.
func processor() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, " \t:\n")
		}
	}
	return "unknown processor"
}

// loadAverage is how many processes wanted to run in the last minute, where the
// system tells.
func loadAverage() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(averages), " ")
	return last
}
