//go:build !race

package ways_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/lab/fleet"
)

var thorough = flag.Bool("thorough", false, "count the instructions of each row of the work of a byte, and hand in inputs of a megabyte: this takes many minutes")

// mostInstructions is how many instructions may be run for each byte of an input.
const mostInstructions = 2000

var runningMore = []excuse{
	{`: (numbers|a large answer|wrong items|deep|deepest|deep, for another .*|unknown params|unknown arguments)$`, 4000,
		"go-sdk's decoder reads a value again at each level above it and in each of the decoders that a message goes through, and that is more than half of the instructions"},
	{`, HTTP, .*: (numbers|a large answer|wrong items|deep|deepest|deep, for another .*|unknown params|unknown arguments|small objects|empty objects|empty arrays)$`, 6500,
		"go-sdk's HTTP layer decodes a message more often than its connections do"},
}

// countedSizes are sizes of inputs. If the instructions a byte grow by more than mostGrowth
// from one to the other, they are not linear: a square would make them four. go-sdk's
// decoder reads an input anew when its buffer of 32 KiB is full, and each time that it has
// doubled, which is linear but comes to up to twice.
var countedSizes = [2]int{16 << 10, 64 << 10}

const mostGrowth = 2

// countedCalls are the sizes of the calls of a row. The least of those of the small size
// counts, which the rest of the process disturbs more. No two are equal, since a legacy
// session answers a call that comes again without running it.
var countedCalls = [...]int{countedSizes[0], countedSizes[0] + 256, countedSizes[1]}

// The lean front leaves go-sdk arguments that it has not seen lately, by the clock, so that
// one size may go one way and the other size the other.
var growsByTheClock = regexp.MustCompile(`HTTP, lean`)

// countedVariable holds a pattern of rows, in the process that runs under valgrind.
const countedVariable = "MRTR_COUNTED_ROWS"

// Valgrind counts from a call of beginCount to one of endCount.
//
//go:noinline
func beginCount() {}

//go:noinline
func endCount() {}

// makeCountedCalls hands in each row once in each size. The count covers
// the whole process, the client of the row too, but not the collection of garbage, whose
// moment differs from run to run; the bound on allocations covers that.
func makeCountedCalls(t *testing.T, rows []workRow) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			input, process := row.enter(t)
			for range 2 { // what is made once is made here
				process(input(1 << 10))
			}
			for _, size := range countedCalls {
				text := input(size)
				runtime.GC()
				beginCount()
				process(text)
				endCount()
			}
		})
	}
}

// No input, however unlucky, keeps a processor busy out of proportion to its size. The
// count is asked for: valgrind needs half a minute for ten rows.
func TestTheInstructionsOfAByteAreBounded(t *testing.T) {
	pattern := os.Getenv(countedVariable)
	isCounted := pattern != ""
	if !isCounted {
		if !*thorough {
			t.Log("count the instructions of each row with -thorough")
			return
		}
		pattern = "."
	}
	rows := slices.DeleteFunc(workRows(t), func(r workRow) bool { return !regexp.MustCompile(pattern).MatchString(r.name) })
	require.NotEmpty(t, rows)
	if isCounted {
		makeCountedCalls(t, rows)
		return
	}
	_, err := exec.LookPath("valgrind")
	require.NoError(t, err, "install valgrind: lab/bench/install does")
	counts := countUnderValgrind(t, pattern)
	type cost struct {
		row   string
		bytes [len(countedSizes)]float64 // instructions for each byte of the inputs
	}
	var costs []cost
	for i, row := range rows {
		input, _ := row.enter(t)
		c := cost{row: row.name}
		var calls [len(countedCalls)]float64
		for j, size := range countedCalls {
			calls[j] = instructions(t, fmt.Sprint(counts, ".", len(countedCalls)*i+j+1)) / float64(len(input(size)))
		}
		c.bytes = [...]float64{min(calls[0], calls[1]), calls[2]}
		costs = append(costs, c)
	}
	require.NoFileExists(t, fmt.Sprint(counts, ".", len(countedCalls)*len(rows)+1))
	slices.SortFunc(costs, func(a, b cost) int { return int(slices.Max(b.bytes[:]) - slices.Max(a.bytes[:])) })
	t.Logf("%d rows were counted", len(costs))
	for _, c := range costs[:min(20, len(costs))] {
		t.Logf("%6.0f and %6.0f instructions for each byte of %d and %d KiB: %s", c.bytes[0], c.bytes[1], countedSizes[0]>>10, countedSizes[1]>>10, c.row)
	}
	needed := map[excuse]bool{}
	for _, c := range costs {
		requireWithin(t, mostInstructions, slices.Max(c.bytes[:]), c.row, runningMore, needed)
		if !growsByTheClock.MatchString(c.row) && c.bytes[1] > mostInstructions/100 { // else a growth is a disturbance
			require.LessOrEqual(t, c.bytes[1], mostGrowth*c.bytes[0], c.row)
		}
	}
	for _, e := range runningMore {
		require.True(t, needed[e], "no row needs the excuse: %s", e.because)
	}
}

// countUnderValgrind counts the calls of the rows of a pattern. It returns the name of the
// files with the counts, which end with the number of the call.
func countUnderValgrind(t *testing.T, pattern string) (counts string) {
	dir := t.TempDir()
	// The binary that runs has no symbols, as go test makes it, and valgrind needs them.
	binary, counts := filepath.Join(dir, "ways.test"), filepath.Join(dir, "counts")
	out, err := exec.Command("go", "test", "-c", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	const here = "github.com/mrtr-go/sdk/lab/ways_test."
	child := exec.Command("valgrind", "--tool=callgrind", "--quiet", "--dump-line=no", "--callgrind-out-file="+counts,
		"--zero-before="+here+"beginCount", "--dump-before="+here+"endCount",
		binary, "-test.run=^"+t.Name()+"$", "-test.timeout=1h")
	child.Env = append(os.Environ(), countedVariable+"="+pattern, "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "GOGC=off")
	out, err = child.CombinedOutput()
	require.NoError(t, err, string(out))
	return counts
}

var summary = regexp.MustCompile(`(?m)^summary: (\d+)$`)

// instructions reads a count of callgrind's.
func instructions(t *testing.T, file string) float64 {
	found := summary.FindSubmatch(fleet.Must(os.ReadFile(file))(t))
	require.NotNil(t, found, "no count in %s", file)
	return fleet.Must(strconv.ParseFloat(string(found[1]), 64))(t)
}
