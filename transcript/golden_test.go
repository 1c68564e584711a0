package transcript_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// conversations are the inputs in testdata: NAME.json, beside NAME.report with
// the findings and repairs and NAME.fixed.json with the conversation repaired.
func conversations(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	var inputs []string
	for _, path := range all {
		if !strings.HasSuffix(path, ".fixed.json") {
			inputs = append(inputs, path)
		}
	}
	require.NotEmpty(t, inputs, "no conversations in testdata")
	return inputs
}

func TestGolden(t *testing.T) {
	kinds := map[string]bool{}
	for _, path := range conversations(t) {
		name := strings.TrimSuffix(path, ".json")
		t.Run(filepath.Base(name), func(t *testing.T) {
			src, err := os.ReadFile(path)
			require.NoError(t, err)
			read, err := transcript.Read(strings.NewReader(string(src)))
			require.NoError(t, err)
			require.Equal(t, string(src), string(read.Bytes()), "reading and writing changes nothing")
			wantStyle, _, _ := strings.Cut(filepath.Base(name), "-")
			require.EqualValues(t, wantStyle, read.Style())

			var report strings.Builder
			for _, f := range read.Check() {
				kinds[string(f.Kind)] = true
				fmt.Fprintf(&report, "%v\n", f)
			}
			fixed, repairs := read.Repair()
			for _, r := range repairs {
				fmt.Fprintf(&report, "%v\n", r)
			}
			require.Equal(t, string(src), string(read.Bytes()), "repairing leaves the original alone")
			require.Equal(t, strings.Contains(name, "clean") || strings.Contains(name, "server-tools"), report.Len() == 0)

			golden(t, name+".report", report.String())
			golden(t, name+".fixed.json", string(fixed.Bytes()))
		})
	}
	for _, kind := range []transcript.Kind{transcript.Missing, transcript.Orphan, transcript.Duplicate, transcript.Late, transcript.OutOfPlace} {
		require.True(t, kinds[string(kind)], "no conversation in testdata has a %s", kind)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
