package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readmeBlocks are the runs whose output the README shows, by the name in the
// comments around each block: <!-- table:begin --> and <!-- table:end -->.
var readmeBlocks = map[string]string{
	"table": "table",
	"run":   "-style native -era modern -location Lisbon",
}

func TestReadmeShowsWhatIsPrinted(t *testing.T) {
	const readme = "../../README.md"
	raw, err := os.ReadFile(readme)
	require.NoError(t, err)
	text := string(raw)
	require.Contains(t, text, "<!-- table:begin -->\n", "the README lacks the table")
	begin := regexp.MustCompile(`<!-- (\w+):begin -->\n`)
	for _, m := range begin.FindAllStringSubmatch(text, -1) {
		command, ok := readmeBlocks[m[1]]
		require.True(t, ok, "the README has a block %q, and no run makes one", m[1])
		_, rest, _ := strings.Cut(text, m[0])
		block, _, ended := strings.Cut(rest, "<!-- "+m[1]+":end -->")
		require.True(t, ended, "the README's block %q has no end", m[1])
		printed := weatherDemo(t, "", strings.Fields(command)...)
		require.Zero(t, printed.status)
		want := "```text\n" + strings.TrimRight(printed.stdout, "\n") + "\n```\n"
		if *update {
			text = strings.Replace(text, m[0]+block, m[0]+want, 1)
			require.NoError(t, os.WriteFile(readme, []byte(text), 0o644))
			continue
		}
		require.Equal(t, want, block, "if it should be so: go test ./cmd/weather-demo -run TestReadme -update")
	}
}
