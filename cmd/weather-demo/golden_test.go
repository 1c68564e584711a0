package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/*.golden and the blocks of the README anew")

// invocation is one run of the binary with its input.
type invocation struct{ args, input string }

// goldens are the files in testdata, each with the runs that it records.
var goldens = map[string][]invocation{
	"default":    {{"", ""}},
	"table":      {{"table", ""}},
	"basic":      {{"basic", ""}},
	"multiround": {{"multiround", ""}},
	"lesson":     {{"lesson", ""}},
	"survive":    {{"survive", ""}},
	"cost":       {{"cost", ""}},
	"quadrant":   {{"quadrant", ""}},
	"ways":       {{"ways", ""}},
	"version":    {{"version", ""}, {"--version", ""}},
	"errors":     {{"errors", ""}},
	"levels":     {{"levels", ""}},
	"batch":      {{"batch", ""}},
	"compare":    {{"compare E A", ""}, {"compare E F", ""}, {"compare F G", ""}, {"compare H J", ""}},
	"narrow":     {{"compare once N -width 80", ""}},
	"styles":     {{"-style steps", ""}, {"-style coroutine -era legacy -location Springfield", ""}, {"-style N -era modern", ""}},
	"trace":      {{"-trace", ""}, {"-trace -style journal -era legacy", ""}},
	"unknown":    {{"-location Lisbonn -style native -era modern", ""}, {"-location Atlantis", ""}},
	"ask": {
		{"-ask", "2\nIMPERIAL\n"},
		{"-ask -location Lisbon -style steps", "7\ncelsius\n1\n"},
		{"-ask -era legacy -style J -location Lisbon", "d\n"},
		{"-ask -style E", ""},
	},
	"check": {
		{"check testdata/lost.json", ""},
		{"check testdata/lost.json -repair", ""},
		{"check -", `[{"role":"user","content":"hello"}]`},
		{"check -", "hello"},
		{"check testdata/none.json", ""},
	},
	"help": {
		{"help", ""}, {"help show", ""}, {"table -h", ""}, {"help basic", ""}, {"help multiround", ""},
		{"help lesson", ""}, {"help survive", ""}, {"help cost", ""}, {"help quadrant", ""}, {"help ways", ""}, {"help compare", ""}, {"help errors", ""}, {"help levels", ""}, {"help batch", ""}, {"help check", ""},
		{"help page", ""}, {"help serve", ""}, {"help version", ""}, {"help help", ""},
	},
	"mistakes": {
		{"compar E G", ""}, {"sevre", ""}, {"help sevre", ""}, {"xyzzy", ""}, {"-sytle E", ""}, {"-style nativ", ""}, {"-style message", ""},
		{"-era modren", ""}, {"-json -ask", ""}, {"basic -v", ""}, {"basic twice", ""}, {"compare E", ""},
		{"compare E Q", ""}, {"check -style message -", ""}, {"serve -stateless", ""}, {"serve -stock-front", ""}, {"serve -deny writ", ""}, {"version now", ""},
		{"serve -stdio -http 127.0.0.1:0", ""},
		{"serve -store redis", ""},
	},
}

// wide are the goldens with wider lines: two columns of code, and a conversation
// that is printed as it was written.
var wide = map[string]int{"compare": 120, "check": 210}

// masks hide the parts that differ from run to run. The sizes of states do not
// differ, since the binary is built without a revision.
var masks = []struct{ part, pattern, mask string }{
	{"a call's id", `"call": "[0-9a-f]{32}"`, `"call": "(an id)"`},
	{"the beginning of a token", `"[\w-]{12}… `, `"(a token)… `},
	{"the version of Go", `\ngo            go\S+`, "\ngo            (the version of Go)"},
	{"a key's id and the time", `sealed with key [0-9a-f]{8}, valid until [0-9:]{8}`, "sealed with key (its id), valid until (a time)"},
}

func (i invocation) transcript(t *testing.T) string {
	t.Helper()
	run := weatherDemo(t, i.input, strings.Fields(i.args)...)
	text, status := run.stdout, run.status
	if run.stderr != "" { // once more, with the lines of both streams in their order
		var printed strings.Builder
		status = runBinary(t, i.input, &printed, &printed, strings.Fields(i.args)...)
		text = printed.String()
	}
	require.NotContains(t, text, "\x1b", "colours where there is no terminal")
	for _, m := range masks {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.mask)
	}
	command := strings.TrimSpace("weather-demo " + i.args)
	if i.input != "" {
		command = fmt.Sprintf("printf %q | %s", i.input, command)
	}
	if status != 0 {
		text += fmt.Sprintf("[status %d]\n", status)
	}
	return "$ " + command + "\n" + text
}

func TestGolden(t *testing.T) {
	require.NotEmpty(t, goldens)
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, goldens, strings.TrimSuffix(filepath.Base(file), ".golden"), "no run writes %s", file)
	}
	for name, invocations := range goldens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var transcripts []string
			for _, i := range invocations {
				transcripts = append(transcripts, i.transcript(t))
			}
			got := strings.Join(transcripts, "\n")
			for _, line := range strings.Split(got, "\n") {
				require.LessOrEqual(t, utf8.RuneCountInString(line), max(wide[name], lineWidth), "too wide: %s", line)
			}
			file := filepath.Join("testdata", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "if this change is intended: go test ./cmd/weather-demo -run TestGolden -update")
		})
	}
}

func TestEveryCommandHasAGoldenRun(t *testing.T) {
	runs := map[string]bool{"show": true, "page": true, "serve": true} // show is run by default; servers have no goldens
	for _, invocations := range goldens {
		for _, i := range invocations {
			runs[strings.Split(i.args, " ")[0]] = true
		}
	}
	for _, c := range commands() {
		require.True(t, runs[c.name], "%s is run by no golden", c.name)
		require.Contains(t, fmt.Sprint(goldens["help"]), c.name, "its help is in no golden")
	}
}
