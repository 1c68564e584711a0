package main

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
	"github.com/mrtr-go/sdk/internal/wire"
	"github.com/mrtr-go/sdk/options"
)

// docs/styles.md has a section for each style. When to take it is there, or in the short answer.
func TestStylesAreDescribedAlike(t *testing.T) {
	raw, err := os.ReadFile("../../docs/styles.md")
	require.NoError(t, err)
	_, sections, found := strings.Cut(string(raw), "\n## The styles, one by one\n")
	require.True(t, found)
	sections, _, _ = strings.Cut(sections, "\n## ")
	_, short, found := strings.Cut(string(raw), "\n## Short answer\n")
	require.True(t, found)
	short, _, _ = strings.Cut(short, "\n## ")
	require.Len(t, options.All, 9)
	described := append(slices.Clone(options.All), options.Option{Letter: "HJ", Name: "resumable"})
	for _, o := range described {
		_, section, found := strings.Cut(sections, "\n### "+o.Letter+", `"+o.Name+"`")
		require.True(t, found, "%s has a section", o.Name)
		section, _, _ = strings.Cut(section, "\n### ")
		require.Contains(t, section, "(../options/"+o.Name+".go)")
		for _, question := range []string{"Costs", "Leave it"} { // how it fails is in the table
			require.Contains(t, section, "\n- **"+question+"**", o.Name)
		}
		if !strings.Contains(section, "\n- **Take it**") {
			require.Contains(t, short, "("+o.Letter+")", o.Name)
		}
	}
	require.Equal(t, len(described), strings.Count(sections, "\n### "), "no section without a style")
}

// The table of docs/styles.md has each style with a section, and agrees with the counts of
// the demo. A table that nobody checks would go stale: there is no other.
func TestTheScreenOfStyles(t *testing.T) {
	raw, err := os.ReadFile("../../docs/styles.md")
	require.NoError(t, err)
	page := string(raw)
	_, screen, found := strings.Cut(page, "\n## On one screen\n\n")
	require.True(t, found)
	screen = screen[strings.Index(screen, "|"):]
	lines := strings.Split(screen[:strings.Index(screen, "\n\n")], "\n")
	cells := func(line string) []string { return strings.Split(strings.Trim(line, "| "), " | ") }
	require.Equal(t, []string{"style", "you write", "the engine", "hidden re-entry", "held", "asks a legacy client", "it breaks"}, cells(lines[0]))
	described, counted := map[string]bool{}, 0
	for _, line := range lines[2:] {
		row := cells(line)
		require.Len(t, row, 7, line)
		if row[0] == "B, `await`" { // it is there to be compared with A, and has no section
			continue
		}
		described[row[0]] = true
		require.Contains(t, page, "\n### "+row[0]+"\n")
		for _, o := range weather.Styles() {
			if row[0] != o.Letter+", `"+o.Name+"`" {
				continue
			}
			_, held := heldBetween(t, plannedCall{option: o, era: modern, location: "Lisbon"})
			require.Equal(t, held, row[4], row[0])
			// One more question is one more entry, of a handler that is entered again.
			lisbon, _ := heldBetween(t, plannedCall{option: o, era: legacy, location: "Lisbon"})
			springfield, _ := heldBetween(t, plannedCall{option: o, era: legacy, location: "Springfield"})
			require.Equal(t, lisbon.HandlerEntries != springfield.HandlerEntries, row[3] != "no", row[0])
			counted++
		}
	}
	require.Equal(t, len(options.All), counted)
	for _, o := range append(slices.Clone(options.All), options.Option{Letter: "HJ", Name: "resumable"}) {
		require.True(t, described[o.Letter+", `"+o.Name+"`"], o.Name)
	}
	require.Len(t, described, len(options.All)+1)
}

// heldBetween plays a call, and counts the requests and the handlers that the server held while
// its user was asked.
func heldBetween(t *testing.T, call plannedCall) (*run, string) {
	t.Helper()
	open, handlers, requests := map[any]bool{}, 0, 0
	call.watch = func(m moment) {
		var sent message
		switch {
		case m.toServer != nil && json.Unmarshal(m.toServer, &sent) == nil && sent.Method == "tools/call":
			open[sent.ID] = true
		case m.toClient != nil && json.Unmarshal(m.toClient, &sent) == nil && sent.Method == "":
			delete(open, sent.ID)
		}
	}
	call.answers = wire.Answers{}
	for key, answer := range weather.FirstChoices {
		call.answers[key] = func(q wire.Question) any {
			handlers, requests = max(handlers, handlersRunning()), max(requests, len(open))
			return answer(q)
		}
	}
	r, err := call.play(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, r.Questions)
	held := map[[2]bool]string{{false, false}: "nothing", {true, false}: "the handler", {false, true}: "the open request", {true, true}: "the open request, and the handler"}
	return r, held[[2]bool{handlers > 0, requests > 0}]
}

// handlersRunning counts the goroutines that stand in a function of a style, but for
// those that the engine has ended: one may still be on its way out.
func handlersRunning() (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, goroutine := range strings.Split(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "\ngithub.com/mrtr-go/sdk/options") && !strings.Contains(goroutine, "\nruntime.Goexit(") {
			n++
		}
	}
	return n
}
