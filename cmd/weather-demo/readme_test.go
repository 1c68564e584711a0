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
	"../../README.md":        {"run", "table"},
	"../../docs/styles.md":   {"quadrant", "table", "lesson", "survive", "cost"},
	"../../docs/boundary.md": {"levels", "batch", "check"},
}

// blocks are the runs whose output the documents show, by the name in the comments
// around each block: <!-- table:begin --> and <!-- table:end -->.
var blocks = map[string]string{
	"run":      "-style native -era modern -location Lisbon",
	"table":    "table",
	"quadrant": "quadrant",
	"lesson":   "lesson",
	"survive":  "survive",
	"cost":     "cost",
	"levels":   "levels",
	"batch":    "batch",
	"check":    "check testdata/lost.json", // a fault is found, so the status is 1
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
			command, ok := blocks[m[1]]
			require.True(t, ok, "%s has a block %q, and no run makes one", document, m[1])
			_, rest, _ := strings.Cut(text, m[0])
			block, _, ended := strings.Cut(rest, "<!-- "+m[1]+":end -->")
			require.True(t, ended, "the block %q of %s has no end", m[1], document)
			printed := weatherDemo(t, "", strings.Fields(command)...)
			require.Empty(t, printed.stderr)
			require.Equal(t, m[1] == "check", printed.status != 0, m[1])
			want := "```text\n" + strings.TrimRight(printed.stdout, "\n") + "\n```\n"
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

// docs/styles.md has a section for each style, which answers the same questions.
func TestStylesAreDescribedAlike(t *testing.T) {
	raw, err := os.ReadFile("../../docs/styles.md")
	require.NoError(t, err)
	_, sections, found := strings.Cut(string(raw), "\n## The styles, one by one\n")
	require.True(t, found)
	sections, _, _ = strings.Cut(sections, "\n## ")
	require.Len(t, options.All, 9)
	described := append(slices.Clone(options.All), options.Option{Letter: "HJ", Name: "resumable"})
	for _, o := range described {
		_, section, found := strings.Cut(sections, "\n### "+o.Letter+", `"+o.Name+"`")
		require.True(t, found, "%s has a section", o.Name)
		section, _, _ = strings.Cut(section, "\n### ")
		require.Contains(t, section, "(../options/"+o.Name+".go)")
		for _, question := range []string{"You write", "The engine", "Hidden re-entry", "Held", "Legacy clients", "Costs", "Fails", "Take it", "Leave it"} {
			require.Contains(t, section, "\n- **"+question+"**", o.Name)
		}
	}
	require.Equal(t, len(described), strings.Count(sections, "\n### "), "no section without a style")
}

// A table that nobody prints would go stale. docs/styles.md has none.
func TestEveryTableOfStylesIsPrinted(t *testing.T) {
	raw, err := os.ReadFile("../../docs/styles.md")
	require.NoError(t, err)
	for _, line := range strings.Split(string(raw), "\n") {
		require.False(t, strings.HasPrefix(line, "|"), "a table that no program prints: %s", line)
	}
}
