package transcript_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mrtr-go/sdk/boundary/transcript"
)

var refused = []struct{ input, want string }{
	{``, `unexpected end of JSON input`},
	{"[\n  {]", `invalid character ']'`},
	{`"hello"`, `a conversation is an array`},
	{`{"msgs":[]}`, `a conversation is an array`},
	{`{"messages":[],"messages":[]}`, `the field "messages" is given twice`},
	{`[null]`, `messages[0]: not an object`},
	{`[{"role":"tool","content":""}]`, `messages[0]: the role "tool" is neither "user" nor "assistant"`},
	{`[{"role":"user"}]`, `messages[0].content: content is a string, a block or a list of blocks`},
	{`[{"role":"user","content":["x"]}]`, `messages[0].content[0]: not an object`},
	{`[{"role":"user","content":[{}]}]`, `messages[0].content[0]: no string "type"`},
	{`[{"role":"assistant","content":[{"type":"tool_use"}]}]`, `messages[0].content[0]: no string "id"`},
	{`[{"role":"user","content":[{"type":"tool_result","tool_use_id":1}]}]`, `messages[0].content[0]: no string "tool_use_id"`},
	{`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","\u0069d":"b"}]}]`, `the field "id" is given twice`},
	{`{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, `messages[0].content[0]: no string "toolUseId"`},
}

func TestReadRefuses(t *testing.T) {
	for _, c := range refused {
		_, err := transcript.Read(strings.NewReader(c.input))
		require.ErrorContains(t, err, c.want, c.input)
		require.ErrorAs(t, err, new(*transcript.Error))
	}
}

func TestReadIsBounded(t *testing.T) {
	broken := errors.New("the disk is gone")
	read := func(size int) error {
		_, err := transcript.Read(io.MultiReader(strings.NewReader(strings.Repeat(" ", size)), iotest.ErrReader(broken)))
		return err
	}
	require.ErrorIs(t, read(transcript.MaxBytes), broken)
	require.ErrorContains(t, read(transcript.MaxBytes+1), "larger than")
}

var update = flag.Bool("update", false, "write the golden files anew")

// The conversations in testdata, NAME.json, are beside NAME.report with their findings and the
// conversation repaired.
func TestGolden(t *testing.T) {
	all := must(filepath.Glob("testdata/*.json"))(t)
	require.NotEmpty(t, all, "no conversations in testdata")
	for _, path := range all {
		src := must(os.ReadFile(path))(t)
		read := must(transcript.Read(strings.NewReader(string(src))))(t)
		require.Equal(t, string(src), string(read.Bytes()), "reading and writing changes nothing")
		wantStyle, _, _ := strings.Cut(filepath.Base(path), "-")
		require.EqualValues(t, wantStyle, read.Style())
		var report strings.Builder
		for _, f := range read.Check() {
			fmt.Fprintf(&report, "%v (at the end: %t)\n", f, f.AtEnd)
		}
		require.Equal(t, strings.Contains(path, "clean") || strings.Contains(path, "server-tools"), report.Len() == 0, path)
		fixed, _ := read.Repair()
		fmt.Fprintf(&report, "%s\n", fixed.Bytes())
		golden := strings.TrimSuffix(path, ".json") + ".report"
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(report.String()), 0o644))
		}
		require.Equal(t, string(must(os.ReadFile(golden))(t)), report.String())
	}
}

// must is the value of a call that must not fail: must(f())(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
