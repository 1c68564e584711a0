package main

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
)

var update = flag.Bool("update", false, "write testdata/runs.golden anew")

// invocation is one run of the binary with its input.
type invocation struct{ args, input string }

// goldens are the sections of testdata/runs.golden, each with the runs that it records.
var goldens = map[string][]invocation{
	"default":  {{"", ""}},
	"smallest": {{"-style basic", ""}, {"-style multiround", ""}},
	"compare":  {{"compare", ""}, {"compare F G", ""}},
	"styles":   {{"-style steps", ""}, {"-style coroutine -era legacy -location Springfield", ""}, {"-style N -era modern", ""}},
	"trace":    {{"-trace", ""}, {"-trace -style journal -era legacy", ""}},
	"unknown":  {{"-location Lisbonn -style native -era modern", ""}, {"-location Atlantis -style steps", ""}},
	"ask": {
		{"-ask", "2\nIMPERIAL\n"},
		{"-ask -location Lisbon -style steps", "7\ncelsius\n1\n"},
		{"-ask -era legacy -style J -location Lisbon", "d\n"},
		{"-ask -style E", ""},
	},
	"help": {{"help", ""}, {"help show", ""}, {"compare -h", ""}, {"help page", ""}, {"help serve", ""}, {"help help", ""}},
	"mistakes": {
		{"compar E G", ""}, {"sevre", ""}, {"help sevre", ""}, {"xyzzy", ""}, {"-sytle E", ""}, {"-style nativ", ""}, {"-style multi_round", ""},
		{"-style basic -era legacy", ""}, {"-era modren", ""}, {"-json -ask", ""}, {"help twice now", ""}, {"compare E", ""}, {"compare E basic", ""},
		{"compare E Q", ""}, {"page -v", ""}, {"serve -stock-front", ""}, {"serve -stdio -http 127.0.0.1:0", ""}, {"serve -store redis", ""},
		{"serve -token ann=a", ""}, {"serve -ttl -1s", ""}, {"serve -token ann -http 127.0.0.1:0", ""}, {"survive", ""},
	},
}

// widest is how wide a line may be: one of code is not folded.
var widest = map[bool]int{false: lineWidth, true: 145}

// masks hide the parts that differ from run to run. The sizes of states do not
// differ, since the binary is built without a revision.
var masks = []struct{ part, pattern, mask string }{
	{"a call's id", `"call": "[0-9a-f]{32}"`, `"call": "(an id)"`},
	{"the beginning of a token", `"[\w-]{12}… `, `"(a token)… `},
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
	const file = "testdata/runs.golden"
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	got := make([]string, len(goldens))
	t.Run("all", func(t *testing.T) {
		for i, name := range slices.Sorted(maps.Keys(goldens)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				got[i] = "-- " + name + " --\n"
				for _, run := range goldens[name] {
					got[i] += run.transcript(t) + "\n"
				}
				for line := range strings.SplitSeq(got[i], "\n") {
					require.LessOrEqual(t, utf8.RuneCountInString(line), widest[name == "compare"], "too wide: %s", line)
				}
				require.True(t, *update || strings.Contains(string(want)+"-- ", got[i]+"-- "), "%s\nif this change is intended: go test ./cmd/weather-demo -run TestGolden -update", got[i])
			})
		}
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(got, "")), 0o644))
		return
	}
	require.Equal(t, string(want), strings.Join(got, ""))
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

func TestEveryStyleHasASource(t *testing.T) {
	require.NotEmpty(t, weather.Styles())
	for _, o := range weather.Styles() {
		src, err := sourceOf(o)
		require.NoError(t, err)
		require.Equal(t, "func New(rt *mrtr.Runtime, card *Card) Handler {", src.code[0], src.title)
		require.NotContains(t, strings.Join(src.code, "\n"), "options.", src.title)
	}
}

// Plain diff of two files is as short as compare: it adds the doc comment, the name, and at
// most a line of the file's head.
func TestPlainDiffIsAsShortAsCompare(t *testing.T) {
	if _, err := exec.LookPath("diff"); err != nil {
		if os.Getenv("MRTR_CI") == "1" {
			t.Fatal("diff is missing")
		}
		t.Skip("install diff, of Debian's package diffutils")
	}
	require.Len(t, pairs, 6)
	for _, pair := range pairs {
		d, err := diffOf(pair.left, pair.right)
		require.NoError(t, err)
		compared := [2]int{}
		for _, line := range d.lines {
			if line.Same {
				continue
			}
			if line.Left != nil {
				compared[0]++
			}
			if line.Right != nil {
				compared[1]++
			}
		}
		path := func(src source) string { return "../../" + strings.Fields(src.title)[1] }
		for _, side := range []string{path(d.left), path(d.right)} {
			_, err := os.Stat(side)
			require.NoError(t, err)
		}
		out, err := exec.Command("diff", path(d.left), path(d.right)).Output()
		require.Equal(t, 1, err.(*exec.ExitError).ExitCode(), "they differ")
		plain := [2]int{}
		for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
			switch lines.Text()[:1] {
			case "<":
				plain[0]++
			case ">":
				plain[1]++
			}
		}
		for side := range plain {
			require.LessOrEqual(t, plain[side], compared[side]+3, "%s %s, side %d", pair.left, pair.right, side)
		}
	}
}
