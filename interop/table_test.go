package interop_test

import (
	"fmt"
	"strings"
	"sync"
)

// group is one driver process, which runs all styles and scenarios.
type group struct{ client, era, transport string }

func groups() []group {
	var all []group
	for _, p := range peers {
		for _, transport := range []string{"http", "stdio", "ws"} {
			for _, era := range p.eras[transport] {
				all = append(all, group{p.name, era, transport})
			}
		}
	}
	return all
}

// table collects the marks of cells that run at the same time.
type table struct {
	mu    sync.Mutex
	cells int
	marks map[group]map[string]string
}

func (tb *table) add(g group, style, mark string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.marks == nil {
		tb.marks = map[group]map[string]string{}
	}
	if tb.marks[g] == nil {
		tb.marks[g] = map[string]string{}
	}
	tb.marks[g][style] += mark
	tb.cells++
}

// String lists the groups in the order of the peers, not in that of their runs.
func (tb *table) String() string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n%-13s %-7s %-5s", legend, "client", "era", "over")
	for _, style := range styles {
		fmt.Fprintf(&out, " %-*s", len(style), style)
	}
	for _, g := range groups() {
		fmt.Fprintf(&out, "\n%-13s %-7s %-5s", g.client, g.era, g.transport)
		for _, style := range styles {
			fmt.Fprintf(&out, " %-*s", len(style), tb.marks[g][style])
		}
	}
	out.WriteString("\n")
	for _, p := range peers {
		fmt.Fprintf(&out, "\n%-13s is %s %s", p.name, p.module, p.version)
	}
	return out.String()
}
