package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/options"
)

// documents are those that show the output of runs, each with the blocks that it
// must have.
var documents = map[string][]string{
	"../../docs/styles.md":   {"quadrant", "survive", "cost"},
	"../../docs/boundary.md": {"levels", "batch", "check"},
}

// blocks are the runs whose output the documents show, by the name in the comments
// around each block: <!-- cost:begin --> and <!-- cost:end -->.
var blocks = map[string]struct {
	command string
	head    string // a paragraph of the output, by the beginning of its first line; all of it if empty
}{
	"quadrant": {"quadrant", quadrantHead},
	"survive":  {"survive", surviveHead},
	"cost":     {"cost", costHead},
	"levels":   {"levels", ""},
	"batch":    {"batch", ""},
	"check":    {"check testdata/lost.json", ""}, // a fault is found, so the status is 1
}

func TestDocumentsShowWhatIsPrinted(t *testing.T) {
	require.NotEmpty(t, documents)
	begin := regexp.MustCompile(`<!-- (\w+):begin -->\n`)
	for document, expected := range documents {
		raw, err := os.ReadFile(document)
		require.NoError(t, err)
		text := string(raw)
		var shown []string
		for _, m := range begin.FindAllStringSubmatch(text, -1) {
			shown = append(shown, m[1])
			run, ok := blocks[m[1]]
			require.True(t, ok, "%s has a block %q, and no run makes one", document, m[1])
			_, rest, _ := strings.Cut(text, m[0])
			block, _, ended := strings.Cut(rest, "<!-- "+m[1]+":end -->")
			require.True(t, ended, "the block %q of %s has no end", m[1], document)
			printed := weatherDemo(t, "", strings.Fields(run.command)...)
			require.Empty(t, printed.stderr)
			require.Equal(t, m[1] == "check", printed.status != 0, m[1])
			want := "```text\n" + strings.TrimRight(paragraph(t, printed.stdout, run.head), "\n") + "\n```\n"
			if *update {
				text = strings.Replace(text, m[0]+block, m[0]+want, 1)
				require.NoError(t, os.WriteFile(document, []byte(text), 0o644))
				continue
			}
			require.Equal(t, want, block, "%s; if it should be so: go test ./cmd/weather-demo -run TestDocuments -update", document)
		}
		require.ElementsMatch(t, expected, shown, "the blocks of %s", document)
	}
}

// paragraph is the one paragraph of the output that begins with head, or all of the output.
func paragraph(t *testing.T, output, head string) string {
	if head == "" {
		return output
	}
	require.Equal(t, 1, strings.Count(output, "\n\n"+head+"\n"), head)
	_, rest, _ := strings.Cut(output, "\n\n"+head)
	rest, _, _ = strings.Cut(rest, "\n\n")
	return head + rest
}

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
