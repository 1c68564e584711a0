package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/cmd/weather-demo/internal/weather"
)

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
