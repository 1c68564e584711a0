package page

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rounds are the runs of one call at one place, as the events show them.
type rounds struct {
	lisbon, springfield []passage
}

// The call that is played here is answered at once. A handler is entered, asks
// for units, and is entered again; in Springfield it asks for the place first.
var (
	units = []string{"units"}
	place = []string{"place"}
)

func charged(n int, p passage) passage {
	p.Charges = n
	return p
}

// runsOfModernCalls are the runs that the events of a modern call show, for each style. HeldAt
// counts the questions of the handler here.
var runsOfModernCalls = map[string]rounds{
	"native":         {[]passage{{Asked: units}, {Charges: 1}}, []passage{{Asked: place}, {Asked: units}, {Charges: 1}}},
	"sse_shim":       {[]passage{{Asked: units}, {Charges: 1}}, []passage{{Asked: place}, {Asked: units}, {Charges: 1}}},
	"version_branch": {[]passage{{Asked: units}, {Charges: 1}}, []passage{{Asked: place}, {Asked: units}, {Charges: 1}}},
	"two_handlers":   {[]passage{{Asked: units}, {Charges: 1}}, []passage{{Asked: place}, {Asked: units}, {Charges: 1}}},
	"once":           {[]passage{charged(1, passage{Asked: units}), {}}, []passage{{Asked: place}, charged(1, passage{Asked: units}), {}}},
	"steps": {
		[]passage{{Part: "place"}, {Part: "charge", Charges: 1}, {Part: "units", Asked: units}, {Part: "end"}},
		[]passage{{Part: "place", Asked: place}, {Part: "charge", Charges: 1}, {Part: "units", Asked: units}, {Part: "end"}},
	},
	"given": {
		[]passage{{Part: "place"}, {Part: "units", Asked: units}, {Part: "place"}, {Part: "units"}, {Charges: 1}},
		[]passage{{Part: "place", Asked: place}, {Part: "place"}, {Part: "units", Asked: units}, {Part: "place"}, {Part: "units"}, {Charges: 1}},
	},
	"coroutine": {
		[]passage{charged(1, passage{Asked: units}), {HeldAt: 2}},
		[]passage{{Asked: place}, charged(1, passage{HeldAt: 1, Asked: units}), {HeldAt: 2}},
	},
	"journal": {[]passage{charged(1, passage{Asked: units}), {}}, []passage{{Asked: place}, charged(1, passage{Asked: units}), {}}},
	"await":   {[]passage{charged(1, passage{Asked: units}), {Charges: 1}}, []passage{{Asked: place}, charged(1, passage{Asked: units}), {Charges: 1}}},
	"naive":   {[]passage{charged(1, passage{Asked: units}), {Charges: 1}}, []passage{{Asked: place}, charged(1, passage{Asked: units}), {Charges: 1}}},
}

// TestDerivedLinesAreTheLinesThatRan plays each call with a binary that counts
// its statements, and compares.
func TestDerivedLinesAreTheLinesThatRan(t *testing.T) {
	if os.Getenv("MRTR_CI") != "1" {
		t.Skip("it links the program anew, which takes as long as all other tests of the page: MRTR_CI=1 runs it")
	}
	counting := filepath.Join(t.TempDir(), "weather-demo")
	// The build cache keeps a program that go run has linked; cp takes it from there.
	build := exec.Command("go", "run", "-cover", "-covermode=count", "-coverpkg=github.com/mrtr-go/sdk/options/...,github.com/mrtr-go/sdk/cmd/weather-demo", "-exec", "cp", "../..", counting)
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	covdata, err := exec.Command("go", "tool", "-n", "covdata").Output()
	require.NoError(t, err)
	count := counter{program: counting, covdata: strings.TrimSpace(string(covdata))}
	styles, err := readStyles()
	require.NoError(t, err)
	played := 0
	for _, s := range styles {
		runs, ok := runsOfModernCalls[s.Name]
		if !ok {
			require.Equal(t, "resumable", s.Name, "the terminal plays every style but this one")
		}
		if !ok || s.Late { // the terminal plays no late charge
			continue
		}
		for location, passages := range map[string][]passage{"Lisbon": runs.lisbon, "Springfield": runs.springfield} {
			played++
			counted, blockOf := count.statements(t, s, location)
			lines := s.statementLines()
			require.NotEmpty(t, lines)
			engine := s.handlerFor(false).Engine
			derived := map[int]int{}
			for _, p := range passages {
				if p.HeldAt > 0 {
					p.HeldAt = s.asksAt()[p.HeldAt-1]
				}
				for _, passed := range derive(s.partOf(t, p.Part), engine, p).Trace {
					if passed.Kind != "remembered" {
						derived[passed.Line]++
					}
					if !passed.Stop || engine != "Journal" {
						continue
					}
					// A block is counted when it is entered. The journal unwinds
					// the handler in the middle of one, so the rest of that block
					// is counted and did not run.
					for _, line := range lines {
						if line > passed.Line && blockOf[line] == blockOf[passed.Line] {
							derived[line]++
						}
					}
				}
			}
			for _, line := range lines {
				require.Equal(t, counted[line], derived[line], "%s, %s, line %d: how often it ran", s.Name, location, line)
			}
		}
	}
	require.Equal(t, 2*len(runsOfModernCalls), played)
}

func (s style) partOf(t *testing.T, key string) part {
	for _, p := range s.handlerFor(false).parts {
		if p.key == key {
			return p
		}
	}
	require.Fail(t, "no such part", "%s %q", s.Name, key)
	return part{}
}

// asksAt are the lines on which the handler asks.
func (s style) asksAt() (lines []int) {
	for _, st := range s.handlerFor(false).parts[0].body {
		if st.Kind == "ask" {
			lines = append(lines, st.From)
		}
	}
	return lines
}

// statementLines are the lines on which the handler's statements begin.
func (s style) statementLines() (lines []int) {
	var add func([]statement)
	add = func(body []statement) {
		for _, st := range body {
			lines = append(lines, st.From)
			add(st.body)
		}
	}
	for _, p := range s.handlerFor(false).parts {
		add(p.body)
	}
	return lines
}

// counter plays calls with a program that counts its statements.
type counter struct {
	program string
	covdata string // Go's tool that reads the counts
}

// statements plays a call, and returns how often each line of its handler was
// counted and which block of statements it is in.
func (c counter) statements(t *testing.T, s style, location string) (counts map[int]int, blockOf map[int]string) {
	t.Helper()
	dir := t.TempDir()
	play := exec.Command(c.program, "-style", s.Name, "-era", "modern", "-location", location, "-json")
	play.Env = append(play.Environ(), "GOCOVERDIR="+dir)
	out, err := play.CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := exec.Command(c.covdata, "textfmt", "-i="+dir, "-o=/dev/stdout").Output()
	require.NoError(t, err)
	h := s.handlerFor(false)
	counts, blockOf = map[int]int{}, map[int]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		_, block, ok := strings.Cut(lines.Text(), "/"+h.Path+":")
		if !ok {
			continue
		}
		var from, fromCol, to, toCol, statements, count int
		_, err := fmt.Sscanf(block, "%d.%d,%d.%d %d %d", &from, &fromCol, &to, &toCol, &statements, &count)
		require.NoError(t, err, block)
		for line := max(from, h.From); line <= min(to, h.From+len(h.Lines)-1); line++ {
			code := h.Lines[line-h.From]
			col := len(code) - len(strings.TrimLeft(code, "\t")) + 1
			if (line > from || col >= fromCol) && (line < to || col < toCol) {
				counts[line], blockOf[line] = count, block
			}
		}
	}
	require.NotEmpty(t, counts, "no statement of %s was counted", h.Path)
	return counts, blockOf
}
