package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"
)

const legend = `Figure: the median of all rounds, each compared with the same round's, and the interval in which another run finds it.
Undecided: the target lies within the interval. Where it does, instructions decide if they were counted.`

// report is everything that a run found.
type report struct {
	account string // of the run
	figures []figure
}

func makeReport(account string, rows []row, found *results, short bool) *report {
	r := &report{account: account}
	for _, row := range rows {
		f := row.judge(found)
		f.short = short
		r.figures = append(r.figures, f)
	}
	return r
}

// write writes the figures as Markdown that reads well in a terminal.
func (r *report) write(out io.Writer) {
	fmt.Fprintf(out, "%s\n\n%s\n", r.account, legend)
	for i := 0; i < len(r.figures); {
		section := r.figures[i].section
		cells := [][]string{{"", "ours", "compared with", "figure", "target", "verdict"}}
		for ; i < len(r.figures) && r.figures[i].section == section; i++ {
			cells = append(cells, r.figures[i].cells())
		}
		fmt.Fprintf(out, "\n### %s\n\n", section)
		writeTable(out, cells)
	}
}

func (f *figure) cells() []string {
	if f.missing != "" {
		return []string{f.name, "", "", f.missing, f.targetText(), ""}
	}
	// A difference is of the quantity too.
	q := f.ours.quantity
	theirs := ""
	if f.theirs != nil {
		theirs = q.amount(f.others)
	}
	return []string{
		f.name, q.amount(f.mine), theirs,
		fmt.Sprintf("%s (%s to %s)", f.text(f.estimate.Value), f.text(f.estimate.Low), f.text(f.estimate.High)),
		f.targetText(), f.verdict(),
	}
}

func writeTable(out io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(out, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(out, "|")
		if n == 0 {
			for i := range row {
				fmt.Fprintf(out, "|%s", strings.Repeat("-", width[i]+2))
			}
			fmt.Fprintln(out, "|")
		}
	}
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
	for _, peer := range []string{gosdk, "github.com/mark3labs/mcp-go"} {
		add(strings.TrimPrefix(peer, "github.com/"), "go", "list", "-m", "-f", "{{.Version}}", peer)
	}
	if node, err := nodeCommand("server.mjs"); err == nil {
		add("node", node[0], "--version")
		add("@modelcontextprotocol/server", node[0], "-p",
			`JSON.parse(fs.readFileSync("typescript/node_modules/@modelcontextprotocol/server/package.json")).version`)
	}
	return func() string {
		return fmt.Sprintf("%s, %d cores, %s/%s, %s. %s.\n%d sittings of %d rounds (%d where a target lies close, %d with stores), %s of CPU each; %.0f seconds in all; load average %s before, %s after.",
			processor, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), strings.Join(peers, ", "),
			p.sittings, p.rounds, p.rounds*p.fine, p.stores, p.turn, time.Since(begun).Seconds(), before, loadAverage())
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
