package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mrtr-go/sdk/check/roundcost"
)

const tableHead = "| load | ours | theirs | median (quartiles) | bar | |\n|---|---|---|---|---|---|"

// line is the row as one of a Markdown table.
func (r *row) line(f finding, short bool) string {
	if f.missing != "" {
		return fmt.Sprintf("| %s | | | %s | | |", r.name, f.missing)
	}
	figure := f.text(f.value)
	if f.low != f.high {
		figure += fmt.Sprintf(" (%s–%s)", f.text(f.low), f.text(f.high))
	}
	bar := ""
	if r.bar > 0 {
		bar = f.text(r.bar)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", r.name, f.ours, f.theirs, figure, bar, r.verdict(f, short))
}

// verdict holds the finding against the bar. Where that lies between the quartiles, another
// run might say otherwise.
func (r *row) verdict(f finding, short bool) string {
	switch {
	case r.bar == 0:
		return ""
	case short:
		return "too short a run"
	case f.high <= r.bar:
		return "met"
	case f.low > r.bar:
		return "missed"
	}
	return "undecided"
}

// amount is a finding that is compared with nothing.
func amount(v float64, text func(float64) string) finding {
	return finding{ours: text(v), low: v, value: v, high: v, text: text}
}

func ratio(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + "×" }

func bytes(v float64) string { return count(v) + " B" }

func medianTime(nanoseconds []float64) string {
	_, median, _ := roundcost.Quartiles(nanoseconds)
	return count(median/1000) + " µs"
}

// count is a whole number with its digits in groups of three.
func count(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// describe returns the account of a run that begins now: on which machine it was, with
// which peers, and how it was measured.
func describe(p pace) (account func() string) {
	begun, before := time.Now(), loadAverage()
	processor := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo") // there is none beyond Linux
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			processor = strings.Trim(name, " \t:\n")
			break
		}
	}
	var peers []string
	add := func(peer, name string, arguments ...string) {
		if version, err := said(name, arguments...); err == nil {
			peers = append(peers, peer+" "+version)
		}
	}
	for _, peer := range []string{"modelcontextprotocol/go-sdk", "mark3labs/mcp-go"} {
		add(peer, "go", "list", "-m", "-f", "{{.Version}}", "github.com/"+peer)
	}
	if node, err := node(); err == nil {
		add("node", node, "--version")
		add("@modelcontextprotocol/server", node, "-p",
			`JSON.parse(fs.readFileSync("typescript/node_modules/@modelcontextprotocol/server/package.json")).version`)
	}
	return func() string {
		return fmt.Sprintf("%s, %d cores, %s/%s, %s. %s.\n%d sittings of %d rounds, %v of a server's CPU in each; %.0f seconds in all; load average %s before, %s after.",
			processor, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), strings.Join(peers, ", "),
			p.sittings, p.rounds, p.block, time.Since(begun).Seconds(), before, loadAverage())
	}
}

// loadAverage is how many processes wanted to run in the last minute.
func loadAverage() string {
	averages, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	last, _, _ := strings.Cut(string(averages), " ")
	return last
}
