package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The targets were set before anything was measured. They are spelled out here
// again, so that none can be loosened or dropped in passing.
func TestTargets(t *testing.T) {
	want := []string{
		overHTTP + ": native, against go-sdk's front with the same handler ≤ 0.6 ×",
		overHTTP + ": native, against mcp-go unprotected, GOGC=400 ≤ 1 ×",
		overHTTP + ": native with GOGC=400, against the TypeScript SDK under Node ≤ 0.5 ×",
		overSocket + ": calls a second, against go-sdk's HTTP front ≥ 2.2 ×",
		engineOnly + ": allocations ≤ 12 allocs",
		engineOnly + ": bytes allocated ≤ 1,800 B",
		engineOnly + ": instructions, SHA and collector taken off ≤ 26,000",
		stateSize + ": characters, one question ≤ 420",
		inProcess + ": native, against the bare handler, CPU ≤ 1.05 ×",
		inProcess + ": native, allocations ≤ 1.03 ×",
		inProcess + ": once, against the bare handler, CPU ≤ 1.05 ×",
		inProcess + ": once, allocations ≤ 1.03 ×",
		inProcess + ": coroutine, against the bare handler, CPU ≤ 1.07 ×",
		inProcess + ": coroutine, allocations ≤ 1.03 ×",
		inProcess + ": journal, against the bare handler, CPU ≤ 1.07 ×",
		inProcess + ": journal, allocations ≤ 1.03 ×",
		resuming + ": CPU, against a bare goroutine ≤ 2 ×",
		holding + ": bytes of each ≤ 4,500 B",
		holding + ": bytes of each of 1,000,000, each resumed once ≤ 4,500 B",
		bounded + ": text, CPU ≤ 1.03 ×",
		bounded + ": structured, CPU ≤ 1.05 ×",
		storing + ": memory: CPU, against a bare Create and Update ≤ 3 ×",
		storing + ": SQLite: time, against a bare Create and Update ≤ 1.2 ×",
		storing + ": NATS: time, against a bare Create and Update ≤ 1.2 ×",
		storing + ": PostgreSQL: time, against a bare Create and Update ≤ 1.2 ×",
		storing + ": Redis: time, against a bare Create and Update ≤ 1.2 ×",
		refusing + ": body altered, against SHA-256 over the same bytes ≤ 1 ×",
		refusing + ": body altered, allocations ≤ 0 allocs",
	}
	var got []string
	for _, r := range rows() {
		if r.target != nil {
			got = append(got, r.section+": "+r.name+" "+r.targetText())
		}
	}
	require.Equal(t, want, got)
}

// docs/performance.md has every row that has a target. All of its rows are rows of the
// program, with the targets that the program gives them. A section is a row in bold.
func TestDocumentShowsTheTable(t *testing.T) {
	document, err := os.ReadFile("../../docs/performance.md")
	require.NoError(t, err)
	shown := map[string]string{} // target, by section and name
	section := ""
	for line := range strings.Lines(string(document)) {
		cells := strings.Split(line, "|")
		if len(cells) != 8 || strings.HasPrefix(cells[1], "--") || strings.TrimSpace(cells[1]) == "" {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if title, bold := strings.CutPrefix(name, "**"); bold {
			section = strings.TrimSuffix(title, "**")
			continue
		}
		shown[section+": "+name] = strings.TrimSpace(cells[5])
	}
	require.NotEmpty(t, shown)
	for _, r := range rows() {
		target, ok := shown[r.section+": "+r.name]
		require.True(t, ok || r.target == nil, "not in the document: %s: %s", r.section, r.name)
		if ok {
			require.Equal(t, r.targetText(), target, r.name)
		}
		delete(shown, r.section+": "+r.name)
	}
	require.Empty(t, shown, "in the document, and no rows of the program")
}

// Two rows of one name, or two loads measured apart, could not be told apart.
func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		require.False(t, seen[r.section+": "+r.name], r.name)
		seen[r.section+": "+r.name] = true
		require.NotNil(t, r.ours, r.name)
		for _, of := range r.readings() {
			require.Equal(t, r.ours.quantity, of.quantity, r.name)
		}
	}
	require.NotEmpty(t, seen)
}

func TestChoose(t *testing.T) {
	one := choose(regexp.MustCompile("memory, one processor: journal, allocations"), false)
	require.Len(t, one, 1)
	require.Equal(t, []wanted{{section: inProcess, readings: one[0].readings()}}, wantedBy(one, false))
	require.Empty(t, choose(regexp.MustCompile("calls held"), false))

	million := choose(regexp.MustCompile("1,000,000"), false)
	require.Len(t, million, 1)
	require.Empty(t, wantedBy(million, false), "it is measured in a run of its own")
	require.Len(t, wantedBy(choose(regexp.MustCompile(""), true), true), 1)
}
