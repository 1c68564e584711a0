package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transcript"
)

// hostile is a conversation of n turns with one id for everything and every result
// late, which is the worst case for looking an id up.
func hostile(n int) string {
	var uses, results []string
	for range n {
		uses = append(uses, `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}`)
		results = append(results, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":""}]}`)
	}
	return "[" + strings.Join(append(uses, results...), ",") + "]"
}

func TestOneIDForEverything(t *testing.T) {
	const turns = 8_000
	read, err := transcript.Read(strings.NewReader(hostile(turns)))
	require.NoError(t, err)
	require.Len(t, read.Check(), 2*(turns-1), "every use but the first, every result but the one that follows its use")
	fixed, _ := read.Repair()
	require.Empty(t, fixed.Check())
}

func BenchmarkRepair(b *testing.B) {
	for _, turns := range []int{100, 1_000, 10_000} {
		src := hostile(turns)
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				read, err := transcript.Read(strings.NewReader(src))
				if err != nil {
					b.Fatal(err)
				}
				fixed, _ := read.Repair()
				if len(fixed.Bytes()) == 0 {
					b.Fatal("nothing came out")
				}
			}
		})
	}
}
