package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		for _, question := range []string{"Costs", "Fails", "Leave it"} {
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
	require.Equal(t, strings.Count(page, "\n|"), len(lines), "every table is this one")
	cells := func(line string) []string { return strings.Split(strings.Trim(line, "| "), " | ") }
	require.Equal(t, []string{"style", "you write", "the engine", "hidden re-entry", "held", "asks a legacy client", "it breaks"}, cells(lines[0]))
	rows, err := tabulate(t.Context(), []string{"Lisbon", "Springfield"})
	require.NoError(t, err)
	described := map[string]bool{}
	for _, line := range lines[2:] {
		row := cells(line)
		require.Len(t, row, 7, line)
		described[row[0]] = true
		require.Contains(t, page, "\n### "+row[0]+"\n")
		for _, r := range rows {
			if row[0] != r.option.Letter+", `"+r.option.Name+"`" {
				continue
			}
			require.Equal(t, held(r.modern), row[4], row[0])
			// One more question is one more entry, of a handler that is entered again.
			again := r.legacy[0].HandlerEntries != r.legacy[1].HandlerEntries
			require.Equal(t, again, row[3] != "no", row[0])
		}
	}
	for _, o := range append(slices.Clone(options.All), options.Option{Letter: "HJ", Name: "resumable"}) {
		require.True(t, described[o.Letter+", `"+o.Name+"`"], o.Name)
	}
	require.Len(t, described, len(options.All)+1)
}
