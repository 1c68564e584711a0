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

// Behind each NAME.json of an archive is NAME.report: its findings, and it repaired.
func TestGolden(t *testing.T) {
	for file, style := range map[string]transcript.Style{"messages": transcript.Messages, "sampling": transcript.Sampling} {
		file = filepath.Join("testdata", file+".txtar")
		archive := string(must(os.ReadFile(file))(t))
		var anew strings.Builder
		require.NotEmpty(t, archive)
		for section := range strings.SplitSeq("\n"+strings.TrimSuffix(archive, "\n"), "\n-- ") {
			name, src, found := strings.Cut(section+"\n", ".json --\n")
			if !found {
				continue // a report, which is written anew
			}
			read := must(transcript.Read(strings.NewReader(src)))(t)
			require.Equal(t, src, string(read.Bytes()), "reading and writing changes nothing")
			require.Equal(t, style, read.Style())
			fmt.Fprintf(&anew, "-- %s.json --\n%s-- %s.report --\n", name, src, name)
			for _, f := range read.Check() {
				fmt.Fprintf(&anew, "%v (at the end: %t)\n", f, f.AtEnd)
			}
			require.Equal(t, name == "clean" || name == "server-tools", len(read.Check()) == 0, name)
			fixed, _ := read.Repair()
			fmt.Fprintf(&anew, "%s\n", fixed.Bytes())
		}
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(anew.String()), 0o644))
		}
		require.Equal(t, archive, anew.String())
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
