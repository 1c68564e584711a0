// Package interop_test drives cmd/weather-demo, behind a wiretap, with released clients of other
// projects: every style, in every era and over every transport that a client speaks. README.md
// says how a client joins.
package interop_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMatrix has every released client call every style: in each era and over
// each transport that it speaks, answering and declining, with the traffic
// counted on the wire. It prints the table.
func TestMatrix(t *testing.T) {
	requirePeers(t)
	program := buildServer(t, "../../cmd/weather-demo")
	url := serveHTTP(t, program)
	drivers := buildDrivers(t)
	var results table

	t.Run("peers", func(t *testing.T) {
		for _, g := range groups() {
			t.Run(g.client+"/"+g.era+"/"+g.transport, func(t *testing.T) {
				t.Parallel()
				client := connect(t, drivers[g.client], g, program, url)
				for _, style := range styles {
					for _, s := range scenarios {
						want, mark := expected(s, style, g.era), s.mark
						asked := s.cell
						asked.Tool = "weather_" + style
						got, seen := client.call(t, asked)
						if !assert.Equal(t, want, observed(got, seen), "%s, %s", style, s.name) {
							mark = "X"
						}
						results.add(g, style, mark)
					}
				}
				client.close(t)
			})
		}
	})

	t.Logf("%s", &results)
	ways := 0
	for _, p := range peers {
		ways += p.ways
	}
	require.NotZero(t, ways)
	require.Equal(t, ways*8*4, results.cells, "cells of the matrix")
}

// TestBareSDK is the matrix's contrast: a two-question tool on go-sdk alone.
// Modern clients complete it; to every legacy one the second question comes as
// an empty success.
func TestBareSDK(t *testing.T) {
	requirePeers(t)
	program := buildServer(t, "bare")
	drivers := buildDrivers(t)
	clients := 0
	for _, g := range groups() {
		if g.transport != "stdio" {
			continue
		}
		clients++
		t.Run(g.client+"/"+g.era, func(t *testing.T) {
			client := connect(t, drivers[g.client], g, program, "")
			got, seen := client.call(t, cell{Tool: "weather_bare", Location: "Springfield", Answers: illinois})
			want := outcome{
				Text:      "Weather in Springfield, Illinois, imperial.",
				Questions: []elicitation{place, units},
				Traffic:   traffic{Calls: 3, ModernCalls: 3, InputRequired: 2},
			}
			if g.era == "legacy" {
				want = outcome{
					Questions: []elicitation{place},
					Traffic:   traffic{Calls: 1, Elicitations: 1, Leaked: 1},
				}
			}
			require.Equal(t, want, observed(got, seen))
			client.close(t)
		})
	}
	require.Equal(t, 3+1+3+3, clients)
}

// connection is a client with a tap between it and the server.
type connection struct {
	*driver
	counter *counter
	stdio   *stdioTap
}

func connect(t *testing.T, client []string, g group, program, url string) *connection {
	t.Helper()
	c := &connection{counter: &counter{}}
	argv := append(client[:len(client):len(client)], "--era", g.era)
	switch g.transport {
	case "http":
		argv = append(argv, "--url", tapHTTP(t, c.counter, url)+"/mcp")
	case "ws":
		argv = append(argv, "--url", tapWebSocket(t, c.counter, strings.Replace(url, "http", "ws", 1))+"/ws")
	case "stdio":
		c.stdio = newStdioTap(t, program, "serve", "-stdio")
		argv = append(append(argv, "--stdio"), c.stdio.argv...)
	}
	c.driver = startDriver(t, argv)
	return c
}

// call makes one call and returns what passed on the wire meanwhile.
func (c *connection) call(t *testing.T, asked cell) (reply, traffic) {
	t.Helper()
	got := c.driver.call(t, asked)
	if c.stdio != nil {
		c.stdio.drain(t, c.counter)
	}
	return got, c.counter.take()
}

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

var styles = []string{
	"native", "sse_shim", "version_branch", "two_handlers", "once", "steps", "coroutine", "journal",
}

// between are the styles whose charge stands between the two questions. A decline of
// the second keeps its text in every style; with these a hint names the effects.
var between = map[string]bool{"once": true, "steps": true, "coroutine": true, "journal": true}

const chargeWasDone = " \"charge\" was done: do not call the tool again without checking."

var (
	place = elicitation{"Which Springfield?", []string{"place"}}
	units = elicitation{"Which units?", []string{"units"}}
)

// outcome is the result of a call, the questions before it, and the traffic of
// both.
type outcome struct {
	Text       string
	Structured any
	IsError    bool
	Questions  []elicitation
	Traffic    traffic
	Error      string // the client's own, if it failed the call
}

// scenario is a call with its outcome, for which the mark stands in the table.
type scenario struct {
	name string
	cell cell
	want outcome
	mark string
}

var (
	metric   = map[string]string{"units": "metric"}
	illinois = map[string]string{"place": "Springfield, Illinois", "units": "imperial"}

	lisbon = outcome{
		Text:       "Weather in Lisbon: 22°C, partly cloudy.",
		Structured: map[string]any{"location": "Lisbon", "temperature": 22.0, "unit": "C", "conditions": "partly cloudy"},
	}
	springfield = outcome{
		Text:       "Weather in Springfield, Illinois: 64°F, clear.",
		Structured: map[string]any{"location": "Springfield, Illinois", "temperature": 64.0, "unit": "F", "conditions": "clear"},
	}
	declined = outcome{Text: `Stopped: "units" was declined.`, IsError: true}
)

func (o outcome) after(questions ...elicitation) outcome {
	o.Questions = questions
	return o
}

var scenarios = []scenario{
	{"Lisbon", cell{Location: "Lisbon", Answers: metric}, lisbon.after(units), "A"},
	{"Springfield", cell{Location: "Springfield", Answers: illinois}, springfield.after(place, units), "A"},
	{"decline in Lisbon", cell{Location: "Lisbon", Answers: metric, Decline: "units"}, declined.after(units), "D"},
	{"decline in Springfield", cell{Location: "Springfield", Answers: illinois, Decline: "units"}, declined.after(place, units), "D"},
}

const legend = "per style Lisbon, Springfield, decline in Lisbon, decline in Springfield:\n" +
	"A answered, D declined, X failed"

// expected is the outcome of a scenario. A legacy client sees one call and is sent an
// elicitation for each question; a modern one calls once more for each.
func expected(s scenario, style, era string) outcome {
	want := s.want
	if want.IsError && between[style] {
		want.Text += chargeWasDone
	}
	asked := len(want.Questions)
	want.Traffic = traffic{Calls: 1 + asked, ModernCalls: 1 + asked, InputRequired: asked}
	if era == "legacy" {
		want.Traffic = traffic{Calls: 1, Elicitations: asked}
	}
	return want
}

// observed is the outcome that a driver reports.
func observed(got reply, seen traffic) outcome {
	o := outcome{Text: got.Text, IsError: got.IsError, Traffic: seen, Error: got.Error}
	if len(got.Elicitations) > 0 {
		o.Questions = got.Elicitations
	}
	if err := json.Unmarshal(got.Structured, &o.Structured); err != nil && len(got.Structured) > 0 {
		o.Structured = string(got.Structured)
	}
	return o
}
