package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every benchmark that a figure names exists, does its work right once, and
// prints the unit that the figure reads.
func TestEveryFigureIsMeasured(t *testing.T) {
	chosen := choose(regexp.MustCompile(""))
	require.NotEmpty(t, chosen)
	dir := t.TempDir()
	require.NoError(t, build(dir, io.Discard, contendersOf(chosen)))
	var all strings.Builder
	for pkg := range packages {
		printed, err := launch(dir, pkg, ".", "1x")
		require.NoError(t, err)
		fmt.Fprintf(&all, "in: %s\n%s", pkg, strings.Join(linesOf(printed), ""))
	}
	p, err := readPrinted(all.String())
	require.NoError(t, err)
	for _, s := range chosen {
		require.NotEmpty(t, s.figures, s.title)
		for _, f := range s.figures {
			for _, r := range []reading{f.ours, f.theirs, f.idle} {
				if r == (reading{}) {
					continue
				}
				if r.name == "Codec/typescript" && os.Getenv("MRTR_CI") != "1" {
					continue // it needs Node, and skips without
				}
				require.Len(t, p.of(r), 1, "%s: %s, %v", s.title, f.what, r)
			}
		}
	}
}

func TestChoose(t *testing.T) {
	all := choose(regexp.MustCompile(""))
	one := choose(regexp.MustCompile("processors: one: journal, wall"))
	require.Len(t, one, 1)
	require.Len(t, one[0].figures, 1)
	require.Greater(t, len(all), 10)
	require.Empty(t, choose(regexp.MustCompile("no such figure")))
	require.Len(t, contendersOf(one), 1, "one benchmark measures the journal, the bare handler and the idle one")
}

// A missing benchmark is an error, not a gap in the table.
func TestMeasureFailsOnWhatIsNotThere(t *testing.T) {
	err := measure(&strings.Builder{}, &strings.Builder{}, []contender{{"statecodec", "NoSuchThing"}}, 1, "1x")
	require.ErrorContains(t, err, "is no benchmark")
	err = measure(&strings.Builder{}, &strings.Builder{}, []contender{{"statecodec", "Seal/64"}}, 1, "1x")
	require.ErrorContains(t, err, "is several benchmarks")
}
